"""A small table of orders, a folder that files land in, and services that die on copies of it."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from framework.engine.events import Events, silent
from framework.engine.services.service_run import service_run
from framework.errors import AfterCommitError
from framework.hudi.storage.local import LocalStorage
from framework.hudi.storage.port import Storage
from framework.hudi.timeline.clock import ManualClock, SystemClock
from tests.support.fault_storage import FaultStorage, Killed
from tests.support.storage_suite import tree
from tests.support.writing import rows_of, run_spec

__all__ = ["Shop"]

LATER_MS = 10 * 365 * 24 * 3_600_000


class Shop:
    """A table of orders with a folder that files land in."""

    def __init__(self, folder: Path, kind: str, *, adopts: bool = False) -> None:
        self.folder = folder
        self.location = folder / "table"
        self.recoveries = 0
        self.document: dict[str, Any] = {
            "version": 1,
            "table": {
                "name": "shop.orders",
                "location": str(self.location),
                "type": kind,
                "partition_by": {"day": "string"},
                "record_key": {"columns": ["id"], "unique_within": "table"},
                "ordering": "commit_time",
            },
            "source": {"path": str(folder / "landing")},
            "write": {"operation": "upsert"},
            "maintenance": {"enabled": False},
        }
        if adopts:
            self.document["bootstrap"] = {
                "path": str(folder / "source"),
                "layout": "hive",
                "mode": "metadata_only",
            }
            for day in ("d1", "d2"):
                self._write(f"source/day={day}/a.parquet", [(f"{day}-1", day, 0)])

    def lands(self, name: str, *rows: tuple[str, str, int]) -> str:
        """Load one more file of (id, day, value) and return the instant."""
        self.comes(name, *rows)
        return self.run()

    def comes(self, name: str, *rows: tuple[str, str, int]) -> None:
        """Add a file of (id, day, value) to the folder that is loaded."""
        self._write(f"landing/{name}.parquet", list(rows))

    def comes_to_source(self, name: str, *rows: tuple[str, str, int]) -> None:
        """Add a file of (id, day, value) to the source that is adopted."""
        self._write(f"source/{name}", list(rows))

    def run(self, events: Events = silent) -> str:
        """Run the spec, which has something to do, and return the instant."""
        instant = run_spec(self.document, self.folder, events=events).instant
        assert instant is not None
        return instant

    def rows(self) -> list[tuple[str, str, int]]:
        """Return all rows of the table, sorted."""
        found = rows_of(str(self.location))
        return sorted((each["id"], each["day"], each["v"]) for each in found)

    def tree(self) -> dict[str, bytes]:
        """Return every file of the table."""
        return tree(LocalStorage(str(self.location)))

    def _write(self, name: str, rows: list[tuple[str, str, int]]) -> None:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        ids, days, values = zip(*rows, strict=True)
        pq.write_table(pa.table({"id": ids, "day": days, "v": pa.array(values, pa.int64())}), path)

    def copied(self, location: Path) -> Shop:
        """Return the same shop over a copy of its table."""
        shutil.copytree(self.location, location, symlinks=True)
        other = Shop(self.folder, self.document["table"]["type"])
        other.location = location
        return other

    def dies_at(self, step: int, attempt: Callable[[Storage], object]) -> bool:
        """Return whether an attempt died at a step of the table's storage."""
        storage = FaultStorage(LocalStorage(str(self.location)), kill_at=step)
        try:
            attempt(storage)
        except (Killed, AfterCommitError):
            return True
        return storage.dead

    def recover(self, storage: Storage | None = None) -> None:
        """Do what the next run does first, long after; `storage` is the table's."""
        self.recoveries += 1
        later = ManualClock(SystemClock().now_ms() + self.recoveries * LATER_MS)
        with service_run(storage or LocalStorage(str(self.location)), later):
            pass
