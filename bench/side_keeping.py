"""Lakestrap without Spark: small loads, long timelines, and plans of cleans."""

from __future__ import annotations

import json
import shutil
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from framework.engine.load import commit
from framework.engine.prepare import PlanningContext, Request, prepare
from framework.engine.reading.table_memory import TableMemory
from framework.engine.runner import run
from framework.engine.services.archival import observe_archival, run_archival
from framework.engine.services.clean import observe_clean
from framework.engine.tasks import InProcessTasks
from framework.hudi.storage.local import LocalStorage
from framework.hudi.storage.port import Entry
from framework.hudi.timeline.clock import instant_at
from framework.hudi.timeline.timeline import load_timeline
from framework.plan.services.clean import CleanPolicy

__all__ = ["start"]

_OPENINGS = 20
_FIRST_MS = 1_600_000_000_000
_SECOND_MS = 1000
_ARCHIVED_AT_ONCE = 100


class CountingStorage(LocalStorage):
    """Counts the listings of folders other than those of the timeline."""

    listings = 0

    def list(self, folder: str) -> Iterator[Entry]:
        """List a folder."""
        self.listings += not folder.startswith(".hoodie")
        return super().list(folder)


def start(settings: Mapping[str, str]) -> Mapping[str, Callable[..., object]]:
    """Return the actions `run`, `history`, `open_timeline` and `plan_clean`."""
    tasks = InProcessTasks(int(settings["cores"]))

    def execute_spec(document: dict[str, Any]) -> dict[str, float]:
        """Run a spec, given as a document; return the seconds of the run."""
        with tempfile.TemporaryDirectory() as folder:
            spec = Path(folder) / "bench.pipeline.yml"
            spec.write_text(json.dumps(document))
            context = PlanningContext(tasks=tasks, scratch=Path(folder))
            result = run(prepare(Request(path=spec), context).plan, tasks)
        return {"run_s": result.seconds}

    def history(document: dict[str, Any], commits: int, files: int) -> int:
        """Give a table a longer past; return the instants on its whole timeline.

        The past has copies of its first commit, archived by Lakestrap, and the memory of as many
        run ids and `files` loaded files, added by one more load.
        """
        location = document["table"]["location"]
        for first in range(0, commits, _ARCHIVED_AT_ONCE):
            _add_commits(Path(location), range(first, min(first + _ARCHIVED_AT_ONCE, commits)))
            _archive(location)
        original = commit._remembered  # noqa: SLF001 - only a load can add to the memory

        def remembered(*args: Any) -> TableMemory:
            return _grown(original(*args), args, commits, files)

        commit._remembered = remembered  # noqa: SLF001
        try:
            execute_spec(document)
        finally:
            commit._remembered = original  # noqa: SLF001
        _archive(location)
        timeline = load_timeline(LocalStorage(location))
        return commits + len(timeline.completed)

    return {
        "run": execute_spec,
        "history": history,
        "open_timeline": open_timeline,
        "plan_clean": plan_clean,
    }


def open_timeline(target: str) -> float:
    """Return the median milliseconds to load a table's timeline."""
    spent = []
    for _ in range(_OPENINGS):
        began = time.perf_counter()
        load_timeline(LocalStorage(target))
        spent.append(time.perf_counter() - began)
    return statistics.median(spent) * 1e3


def plan_clean(target: str) -> dict[str, int]:
    """Plan a clean that keeps one commit; return files to delete and listings of partitions."""
    storage = CountingStorage(target)
    policy = CleanPolicy(keep_commits=1, keep_hours=None, keep_versions=None)
    plan = observe_clean(target, policy, storage=storage)
    return {"files": len(plan.files), "listings": storage.listings}


def _archive(location: str) -> None:
    """Archive what the default limits let go."""
    while run_archival(observe_archival(location)):
        pass


def _add_commits(location: Path, places: range) -> None:
    """Copy the last commit to earlier instants, a second apart.

    A folder of ext4 stays as large as it ever was, so a caller adds and archives some at a time.
    """
    hoodie = location / ".hoodie"
    last = max(path for path in hoodie.iterdir() if path.suffix.endswith("commit"))
    pending = [path for path in hoodie.iterdir() if path.name.startswith(f"{last.stem}.")]
    for place in places:
        instant = instant_at(_FIRST_MS + place * _SECOND_MS)
        for path in pending:
            shutil.copyfile(path, hoodie / path.name.replace(last.stem, instant))


def _grown(memory: TableMemory, args: tuple[Any, ...], runs: int, files: int) -> TableMemory:
    """Return a memory with more loaded files and run ids."""
    context, opened = args[0], args[1]
    numbers = np.random.default_rng(files)

    def some(count: int) -> Iterator[int]:
        return iter(numbers.integers(0, 1 << 63, count).tolist())

    ((source, loaded),) = memory.loaded.items()
    loaded = loaded.with_added(context.storage, opened.intent, "files", some(files))
    ids = memory.run_ids.with_added(context.storage, opened.intent, "runs", some(runs))
    return replace(memory, loaded={source: loaded}, run_ids=ids)
