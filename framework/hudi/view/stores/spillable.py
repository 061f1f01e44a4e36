"""A store in one SQLite file, with the most recently used partitions also in memory (RFC-03).

The file has every record, so an eviction writes nothing, and a single record of a partition that is
not in memory is one lookup by key. It is a cache: nothing is synced to disk, and a leftover file is
discarded.
"""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

from framework.hudi.view.stores.port import MemoryStore, StoreUsage

__all__ = ["SpillableStore"]

_FILE: Final = "view.sqlite"
_IN_MEMORY: Final = 0.5
"""Share of the bound for partitions in memory; the process and its answers use the rest."""
_PAGES: Final = 0.0625
"""Share of the bound for SQLite's pages."""
_LEAST_PAGES_KIB: Final = 512

_SCHEMA: Final = """
CREATE TABLE partitions (id INTEGER PRIMARY KEY, path TEXT NOT NULL UNIQUE);
CREATE TABLE groups (
    partition INTEGER NOT NULL, file_id TEXT NOT NULL, record BLOB NOT NULL,
    PRIMARY KEY (partition, file_id)
) WITHOUT ROWID;
"""
_SETTINGS: Final = ("journal_mode = OFF", "synchronous = OFF", "locking_mode = EXCLUSIVE")


class SpillableStore:
    """A store in a file, partly cached in memory.

    Args:
        memory_bytes: memory bound, including pages of the file.
        folder: for the file only; removed with it.
    """

    def __init__(self, memory_bytes: int, folder: str) -> None:
        self._hot = MemoryStore(int(memory_bytes * _IN_MEMORY))
        self._path = Path(folder) / _FILE
        self._path.unlink(missing_ok=True)
        self._db: sqlite3.Connection | None = sqlite3.connect(
            self._path, isolation_level=None, check_same_thread=False
        )
        pages = max(_LEAST_PAGES_KIB, int(memory_bytes * _PAGES) >> 10)
        for setting in (*_SETTINGS, f"cache_size = -{pages}"):
            self._db.execute(f"PRAGMA {setting}")
        self._db.executescript(_SCHEMA)
        self._ids: dict[str, int] = {}
        self._groups = 0

    def records(self, partition_path: str) -> Mapping[str, bytes] | None:
        """Return a partition's records and cache them in memory."""
        found = self._hot.records(partition_path)
        if found is not None:
            return found
        id_ = self._ids.get(partition_path)
        if id_ is None:
            return None
        rows = self._open.execute("SELECT file_id, record FROM groups WHERE partition = ?", (id_,))
        read = dict(rows.fetchall())
        self._hot.put(partition_path, read)
        return read

    def record(self, partition_path: str, file_id: str) -> bytes | None:
        """Return one record; read from the file if its partition is not in memory."""
        if self._hot.is_loaded(partition_path):
            return self._hot.record(partition_path, file_id)
        id_ = self._ids.get(partition_path)
        if id_ is None:
            return None
        found: tuple[bytes] | None = self._open.execute(
            "SELECT record FROM groups WHERE partition = ? AND file_id = ?", (id_, file_id)
        ).fetchone()
        return None if found is None else found[0]

    def is_loaded(self, partition_path: str) -> bool:
        """Return whether a partition is in the file."""
        return partition_path in self._ids

    def loaded(self) -> Iterator[str]:
        """Yield the loaded partitions."""
        yield from self._ids

    def put(self, partition_path: str, records: Mapping[str, bytes]) -> None:
        """Load a partition."""
        self.drop(partition_path)
        db = self._open
        db.execute("BEGIN")
        id_ = db.execute("INSERT INTO partitions (path) VALUES (?)", (partition_path,)).lastrowid
        rows = ((id_, file_id, record) for file_id, record in sorted(records.items()))
        db.executemany("INSERT INTO groups VALUES (?, ?, ?)", rows)
        db.execute("COMMIT")
        self._ids[partition_path] = int(id_ or 0)
        self._groups += len(records)
        self._hot.put(partition_path, records)

    def change(self, partition_path: str, changed: Mapping[str, bytes | None]) -> None:
        """Update records of a loaded partition, in the file and in memory."""
        id_ = self._ids.get(partition_path)
        if id_ is None:
            return
        db = self._open
        before = db.total_changes
        db.execute("BEGIN")
        ids = [(id_, file_id) for file_id in changed]
        db.executemany("DELETE FROM groups WHERE partition = ? AND file_id = ?", ids)
        gone = db.total_changes - before
        kept = [(id_, file_id, each) for file_id, each in changed.items() if each is not None]
        db.executemany("INSERT INTO groups VALUES (?, ?, ?)", kept)
        db.execute("COMMIT")
        self._groups += len(kept) - gone
        self._hot.change(partition_path, changed)

    def drop(self, partition_path: str) -> None:
        """Drop a partition."""
        id_ = self._ids.pop(partition_path, None)
        if id_ is None:
            return
        gone = self._open.execute("DELETE FROM groups WHERE partition = ?", (id_,)).rowcount
        self._open.execute("DELETE FROM partitions WHERE id = ?", (id_,))
        self._groups -= gone
        self._hot.drop(partition_path)

    def clear(self) -> None:
        """Drop all partitions."""
        self._open.execute("DELETE FROM groups")
        self._open.execute("DELETE FROM partitions")
        self._ids.clear()
        self._groups = 0
        self._hot.clear()

    def usage(self) -> StoreUsage:
        """Return the size of the store."""
        hot = self._hot.usage()
        return StoreUsage(
            partitions=len(self._ids),
            groups=self._groups,
            memory_bytes=hot.memory_bytes,
            disk_bytes=self._path.stat().st_size if self._path.exists() else 0,
            evicted=hot.evicted,
        )

    def close(self) -> None:
        """Close the file, and remove it with its folder."""
        if self._db is not None:
            self._db.close()
            self._db = None
            shutil.rmtree(self._path.parent, ignore_errors=True)

    @property
    def _open(self) -> sqlite3.Connection:
        """The open file; raises if it is closed."""
        if self._db is None:
            raise ValueError("the store is closed")
        return self._db
