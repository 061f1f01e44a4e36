"""A table in a store, runs of which are killed at random times, or the store is, and its rows."""

from __future__ import annotations

import json
import os
import re
import time
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from random import Random
from tempfile import mkdtemp
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from framework.engine.fsck.table_check import check_table
from framework.engine.tasks import InProcessTasks
from framework.hudi.storage.locations import open_storage
from framework.hudi.storage.port import Storage
from framework.hudi.storage.store_settings import STORAGE_VARIABLE
from framework.hudi.table.layout import PROPERTIES
from tests.crash.one_run import run_once
from tests.support.versity import Versity
from tests.support.writing import rows_of

__all__ = ["KILLS", "live_until_killed"]

KILLS: Counter[str] = Counter()
"""The number of kills in this process, and of those amid changes."""

_DAYS = ("a", "b c", "d")
_FILES = 2
_ROWS = 20
_PATIENCE_S = 3.0
_FROM_CHANGE = 0.5
_POLL_S = 0.01
_DOWN_S = (0.0, 0.5, 60.0)  # the store is up at once, soon, or after the run has given up
_PUBLISHED = re.compile(r"\.hoodie/[0-9]+\.(delta)?commit")

Rows = dict[str, str]


@dataclass(kw_only=True)
class Killed:
    """A source, its table, and runs that are hit by a kill.

    Attributes:
        root: folder of source, batches and table.
        folder: for specs and scratch files.
        rng: chooses when to kill.
        kind: the table's type.
        mode: the mode of its bootstrap.
        store: what is killed instead of the runs, if it is not None.
        kills: how many runs were alive when they, or their store, were killed.
        amid: how many of them had changed the table's folder, and had not published.
    """

    root: str
    folder: Path
    rng: Random
    kind: str
    mode: str
    store: Versity | None = None
    kills: int = 0
    amid: int = 0

    @property
    def table(self) -> str:
        """The table's location."""
        return f"{self.root}/table"

    def live(self) -> None:
        """Bootstrap the table and load two batches, each hit until a run is not."""
        source = open_storage(f"{self.root}/source")
        rows: Rows = {}
        for day in _DAYS:
            for file in range(_FILES):
                ids = [f"{day}{file}{number}" for number in range(_ROWS)]
                path = f"day={day}/f{file}.parquet"
                _put(source, path, {"id": ids, "ts": [1] * _ROWS, "v": ["old"] * _ROWS})
                rows |= dict.fromkeys(ids, "old")
        with open_storage(f"{self.root}/new").create(".hidden"):
            before = _bytes_below(source, "")
        self._until_done({}, rows)
        assert _bytes_below(source, "") == before
        for batch in range(2):
            changed = [*self.rng.sample(sorted(rows), 10), f"new{batch}"]
            values = {"id": changed, "ts": [2 + batch] * 11, "v": [f"v{batch}"] * 11}
            days = [next((d for d in _DAYS if each.startswith(d)), "a") for each in changed]
            _put(open_storage(f"{self.root}/new"), f"b{batch}.parquet", {**values, "day": days})
            after = {**rows, **dict.fromkeys(changed, f"v{batch}")}
            self._until_done(rows, after)
            rows = after
        assert _bytes_below(source, "") == before

    def _until_done(self, before: Rows, after: Rows) -> None:
        """Run again and again until a run was not hit; the table is never in between."""
        seconds, hit = _PATIENCE_S, True
        while hit:
            known = self._files()
            code, hit, found = self._run(self.rng.uniform(0, seconds), known)
            rows = self._rows()
            assert code in ({0, -9} if self.store is None else {0, 5}), code
            assert rows in (before, after)
            assert rows == after or (code and hit), code
            amid = hit and found != known and _published(found) == _published(known)
            self.kills += hit
            self.amid += amid
            KILLS.update(kills=int(hit), amid=int(amid))
            seconds *= 1.2  # also a slow machine gets done
        assert self._rows() == after
        report = check_table(self.table, InProcessTasks(1), deep=True)
        assert not report.findings, report.findings

    def _run(self, seconds: float, known: set[str]) -> tuple[int | None, bool, set[str]]:
        """Run the spec in a fork, hit after some seconds if it is alive then.

        The seconds are those since its start, or else since its first change of the table.

        Returns:
            Its exit code, whether it was hit, and the table's files at that moment.
        """
        spec = self.folder / "killed.pipeline.yml"
        spec.write_text(json.dumps(self._document()))
        context = get_context("forkserver")
        context.set_forkserver_preload([__name__])
        words = (str(spec), mkdtemp(dir=self.folder), os.environ.get(STORAGE_VARIABLE, ""))
        process = context.Process(target=_run_and_exit, args=words)
        process.start()
        if self.rng.random() < _FROM_CHANGE:
            while process.is_alive() and self._files() == known:
                time.sleep(_POLL_S)
            seconds /= 3  # planning takes most of a small run
        process.join(seconds)
        hit, store = process.is_alive(), self.store
        if hit and store is None:
            process.kill()
            process.join()
        elif hit and store is not None:
            store.kill()
            hit = process.is_alive()
        found = self._files()
        if hit and store is not None:
            process.join(self.rng.choice(_DOWN_S))
            store.start()
        process.join()
        return process.exitcode, hit, found

    def _files(self) -> set[str]:
        """Return the paths of the table's files, also while the store is dead."""
        if self.store is not None:
            return self.store.files(self.table)
        return set(_files_below(open_storage(self.table), ""))

    def _rows(self) -> Rows:
        """Return the values by id; each id is there once."""
        if open_storage(self.table).stat(PROPERTIES) is None:
            return {}
        found = rows_of(self.table)
        rows = {row["id"]: row["v"] for row in found}
        assert len(rows) == len(found)
        return rows

    def _document(self) -> dict[str, Any]:
        modes = {"rules": [{"partition": "day=a", "mode": "full_record"}]}
        return {
            "version": 1,
            "table": {
                "name": "lake.killed",
                "location": self.table,
                "type": self.kind,
                "partition_by": {"day": "string"},
                "record_key": {"columns": ["id"], "unique_within": "partition"},
                "ordering": {"columns": ["ts"]},
            },
            "bootstrap": {
                "path": f"{self.root}/source",
                "layout": "hive",
                "mode": "metadata_only" if self.mode == "mixed" else self.mode,
                **(modes if self.mode == "mixed" else {}),
            },
            "source": {"path": f"{self.root}/new", "format": "parquet"},
            "write": {"operation": "upsert"},
            "maintenance": {"enabled": False},
        }


def _run_and_exit(spec: str, scratch: str, stores: str) -> None:
    os.environ[STORAGE_VARIABLE] = stores  # the parent of forks may be older than the settings
    raise SystemExit(run_once(spec, scratch))


def live_until_killed(
    least: int, *, root: str, folder: Path, kind: str, mode: str, store: Versity | None = None
) -> Killed:
    """Live until at least `least` runs were hit, times the number in `LAKE_KILLS`.

    Returns:
        The last life, with the kills of all.
    """
    least *= int(os.environ.get("LAKE_KILLS", "1"))
    rng, kills, amid = Random(f"{kind} {mode}"), 0, 0
    for life in range(least):
        scene = Killed(
            root=f"{root}/{life}", folder=folder, rng=rng, kind=kind, mode=mode, store=store
        )
        scene.kills, scene.amid = kills, amid
        scene.live()
        kills, amid = scene.kills, scene.amid
        if kills >= least:
            return scene
    raise AssertionError(f"only {kills} runs were hit")


def _published(files: set[str]) -> set[str]:
    return {each for each in files if _PUBLISHED.fullmatch(each)}


def _put(storage: Storage, path: str, columns: dict[str, Any]) -> None:
    with storage.create(path) as out:
        pq.write_table(pa.table(columns), out)


def _bytes_below(storage: Storage, folder: str) -> dict[str, bytes]:
    found: dict[str, bytes] = {}
    for path in _files_below(storage, folder):
        with storage.open_input(path) as source:
            found[path] = source.read()
    return found


def _files_below(storage: Storage, folder: str) -> Iterable[str]:
    for each in storage.list(folder):
        if each.is_folder:
            yield from _files_below(storage, each.path)
        else:
            yield each.path
