"""A table on HDFS whose runs are killed at random times: what it may hold afterwards."""

from __future__ import annotations

import json
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
from framework.hudi.table.layout import PROPERTIES
from tests.crash.one_run import run_once
from tests.support.writing import rows_of

__all__ = ["Killed"]

_DAYS = ("a", "b c", "d")
_FILES = 2
_ROWS = 20

Rows = dict[str, str]


@dataclass(kw_only=True)
class Killed:
    """A source, its table, and a process that prepared everything but the client of HDFS.

    Attributes:
        root: folder of source, batches and table.
        folder: for specs and scratch files.
        rng: chooses when to kill.
        kind: the table's type.
        mode: the mode of its bootstrap.
        kills: how many runs were killed.
    """

    root: str
    folder: Path
    rng: Random
    kind: str
    mode: str
    kills: int = 0

    @property
    def table(self) -> str:
        """The table's location."""
        return f"{self.root}/table"

    def live(self) -> None:
        """Bootstrap the table and load two batches, each killed until it is done."""
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
        """Run again and again until no run was killed; the table is never in between."""
        seconds: float = 3.0
        code: int | None = -9
        while code == -9:
            code = self._run(self.rng.uniform(0, seconds))
            self.kills += code == -9
            assert code in {-9, 0}
            assert self._rows() in (before, after)
            seconds *= 1.2  # also a slow machine gets done
        assert self._rows() == after
        report = check_table(self.table, InProcessTasks(1), deep=True)
        assert not report.findings, report.findings

    def _run(self, seconds: float) -> int | None:
        """Run the spec in a fork, killed after some seconds; return its exit code."""
        spec = self.folder / "killed.pipeline.yml"
        spec.write_text(json.dumps(self._document()))
        context = get_context("forkserver")
        context.set_forkserver_preload([__name__])
        process = context.Process(target=_run_and_exit, args=(str(spec), mkdtemp(dir=self.folder)))
        process.start()
        process.join(seconds)
        if process.is_alive():
            process.kill()
        process.join()
        return process.exitcode

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


def _run_and_exit(spec: str, scratch: str) -> None:
    raise SystemExit(run_once(spec, scratch))


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
