"""A dictionary beside a table: what any sequence of loads is to leave, now and at each instant."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import strategies as st

from framework.engine.runner import RunResult
from framework.engine.tasks import Tasks
from framework.errors import AuditFailedError
from framework.hudi.commit.staging import DEAD
from framework.hudi.storage.locations import open_storage
from framework.hudi.table.layout import PARTITION_METADATA, TEMP
from framework.hudi.timeline.clock import Clock
from framework.vocabulary import KeyScope, PartitionType, TableType, WriteOperation
from tests.support.writing import Lake, load, rows_of

__all__ = ["KEY", "LOADS", "Loads", "Player", "Row", "Setting", "Version", "every_setting"]

Row = dict[str, Any]
Loads = list[tuple[WriteOperation, list[Row]]]

KEY = "_hoodie_record_key"
_COLUMNS = ("id", "day", "ts", "v")
_SCHEMA = pa.schema(
    [("id", pa.int64()), ("day", pa.string()), ("ts", pa.int64()), ("v", pa.string())]
)
_BY_KEY = {WriteOperation.UPSERT, WriteOperation.DELETE}
_ROWS = st.lists(
    st.builds(
        lambda number, day, ts: {"id": number, "day": day, "ts": ts},
        st.integers(0, 8),
        st.sampled_from(["a", "b", None]),
        st.integers(0, 3),
    ),
    max_size=6,
)
LOADS: st.SearchStrategy[Loads] = st.lists(
    st.tuples(st.sampled_from(list(WriteOperation)), _ROWS), min_size=1, max_size=6
)
"""Sequences of loads; a row's `id` says by which key it goes, `day` its partition."""


@dataclass(frozen=True, kw_only=True)
class Setting:
    """What kind of table is played on."""

    kind: TableType
    scope: KeyScope
    partitioned: bool
    automatic: bool

    def __str__(self) -> str:
        """Name the setting, for the names of tests."""
        keys = "automatic" if self.automatic else "column"
        return f"{self.kind}-{keys}-{self.scope if self.partitioned else 'unpartitioned'}"

    def lake(self, folder: Path, at: str = "") -> Lake:
        """Return the table, which is not there yet."""
        return Lake(
            folder=folder,
            at=at,
            record_key=() if self.automatic else ("id",),
            partition={"day": PartitionType.STRING} if self.partitioned else {},
            scope=self.scope,
            type=self.kind,
            ordering="ts",
        )


def every_setting() -> list[Setting]:
    """Return both table types with each kind of key in each scope."""
    return [
        Setting(kind=kind, scope=scope, partitioned=partitioned, automatic=automatic)
        for kind in TableType
        for automatic in (False, True)
        for scope, partitioned in (
            (KeyScope.PARTITION, True),
            (KeyScope.TABLE, True),
            (KeyScope.TABLE, False),
        )
    ]


@dataclass(frozen=True)
class Version:
    """A record as it is at some instant: its columns, and the instant that wrote it."""

    values: tuple[Any, ...]
    written: str


@dataclass
class Player:
    """Plays loads on a table and on a dictionary, and compares them after each.

    Attributes:
        setting: the kind of table.
        lake: the table.
        tasks: the backend of the table's tasks, None for this process.
        rows: what the table is to hold, by key in its scope.
        history: what it was to hold at each instant, oldest first.
        known: keys that rows of automatic keys were given, oldest first.
        clock: the time of the loads; None means the system's.
        run_id: the id of the next loads, None for none.
    """

    setting: Setting
    lake: Lake
    tasks: Tasks | None = None
    rows: dict[Any, tuple[Row, str]] = field(default_factory=dict)
    history: list[tuple[str, frozenset[Version]]] = field(default_factory=list)
    known: list[str] = field(default_factory=list)
    clock: Clock | None = None
    run_id: str | None = None

    def play(self, loads: Loads, first: int = 0) -> None:
        """Load one after the other; `first` is the number of the first one."""
        for number, (operation, rows) in enumerate(loads, first):
            if operation is WriteOperation.DELETE_PARTITION:
                self._drop({row["day"] for row in rows})
            else:
                self._load(operation, [{**row, "v": f"{number}"} for row in rows])

    def check_history(self, read_as_of: Callable[[str], frozenset[Version]]) -> None:
        """Compare what `read_as_of` finds at each instant with what was there."""
        for instant, versions in self.history:
            assert read_as_of(instant) == versions, f"as of {instant}"

    def changed(self, begin: str, end: str) -> frozenset[Version]:
        """Return what an incremental query from `begin` to `end` is to give."""
        at_end = dict(self.history)[end]
        return frozenset(each for each in at_end if begin < each.written <= end)

    def compare(self) -> None:
        """Compare what the table holds now."""
        assert self.in_process(None) == self.versions()

    def versions(self) -> frozenset[Version]:
        """Return what the table is to hold now."""
        versions = frozenset(self._version(*held) for held in self.rows.values())
        assert len(versions) == len(self.rows)
        return versions

    def in_process(self, instant: str | None) -> frozenset[Version]:
        """Return what the table holds at an instant, None for now, without Spark."""
        return versions_of(rows_of(self.lake.location, as_of=instant))

    def _load(self, operation: WriteOperation, rows: list[Row]) -> None:
        """Load rows into both, in two files, and compare."""
        rows = [self._for_setting(operation, row) for row in rows]
        if self.setting.automatic and operation is WriteOperation.DELETE:
            rows = [row for row in rows if row[KEY] is not None]
        half = len(rows) // 2
        parts = rows[:half], rows[half:]
        tables = [pa.Table.from_pylist(part, self._schema(operation)) for part in parts]
        if self._refuses(operation, rows):
            before = _files(self.lake)
            with pytest.raises(AuditFailedError):
                self._run(operation, *tables)
            assert _files(self.lake) == before
            return
        result = self._run(operation, *tables)
        account: Any = result.proof["account"]
        assert account["input"] == len(rows)
        assert result.instant is not None
        self._apply(operation, parts, result.instant)
        self._compare(result.instant)

    def _run(self, operation: WriteOperation, *tables: pa.Table, **changes: Any) -> RunResult:
        """Load tables."""
        changes["run_id"] = self.run_id
        tasks, clock = self.tasks, self.clock
        return load(self.lake, operation, *tables, tasks=tasks, clock=clock, **changes)

    def _drop(self, days: set[str | None]) -> None:
        """Delete those partitions of some days that have rows."""
        held = {row["day"] for row, _ in self.rows.values()}
        if not (self.setting.partitioned and days & held):
            return
        paths = tuple(sorted(map(_path, days & held)))
        operation = WriteOperation.DELETE_PARTITION
        result = self._run(operation, partitions=paths)
        self.rows = {key: held for key, held in self.rows.items() if held[0]["day"] not in days}
        assert result.instant is not None
        self._compare(result.instant)

    def _for_setting(self, operation: WriteOperation, row: Row) -> Row:
        """Return a row as the input has it: unpartitioned tables have no day, keys are picked."""
        if not self.setting.partitioned:
            row = {**row, "day": None}
        if self.setting.automatic and operation in _BY_KEY:
            at = row["id"]
            row = {**row, KEY: self.known[at] if at < len(self.known) else None}
        return row

    def _schema(self, operation: WriteOperation) -> pa.Schema:
        """Return the columns of the input."""
        brings = self.setting.automatic and operation in _BY_KEY
        return _SCHEMA.append(pa.field(KEY, pa.string())) if brings else _SCHEMA

    def key(self, row: Row, given: str) -> Any:
        """Return what no two rows of the table may have; `given` is the key of a new row."""
        key = row["id"]
        if self.setting.automatic:
            key = row.get(KEY) or given
        in_partition = self.setting.scope is KeyScope.PARTITION and self.setting.partitioned
        return (key, row["day"]) if in_partition else key

    def _refuses(self, operation: WriteOperation, rows: Sequence[Row]) -> bool:
        """Return whether the gate has to refuse these rows."""
        if operation in _BY_KEY or self.setting.automatic:
            return False
        keys = [self.key(row, "") for row in rows]
        kept = self.rows.keys()
        if operation is WriteOperation.INSERT_OVERWRITE:
            kept = self._without_days(rows).keys()
        return len(set(keys)) < len(keys) or bool(kept & set(keys))

    def _without_days(self, rows: Sequence[Row]) -> dict[Any, tuple[Row, str]]:
        """Return what the table holds outside the partitions that rows fall into."""
        days = {row["day"] for row in rows}
        return {key: held for key, held in self.rows.items() if held[0]["day"] not in days}

    def _apply(
        self, operation: WriteOperation, parts: tuple[list[Row], list[Row]], instant: str
    ) -> None:
        """Load rows into the dictionary."""
        if operation is WriteOperation.INSERT_OVERWRITE:
            self.rows = self._without_days([*parts[0], *parts[1]])
        for file, part in enumerate(parts):
            for at, row in enumerate(part):
                given = f"{instant}_{file}_{at}"
                key = self.key(row, given)
                if operation is WriteOperation.DELETE:
                    self.rows.pop(key, None)
                    continue
                if key not in self.rows or row["ts"] >= self.rows[key][0]["ts"]:
                    self.rows[key] = {**row, KEY: row.get(KEY) or given}, instant
                if row.get(KEY) is None:
                    self.known.append(given)

    def _compare(self, instant: str) -> None:
        """Compare both, and remember what was there at this instant."""
        self.history.append((instant, self.versions()))
        self.compare()

    def _version(self, row: Row, written: str) -> Version:
        """Return a row of the dictionary as the table is to hold it."""
        key = row[KEY] if self.setting.automatic else str(row["id"])
        return Version((key, *(row[name] for name in _COLUMNS)), written)


def versions_of(rows: Sequence[Mapping[str, Any]]) -> frozenset[Version]:
    """Return rows with their meta columns as versions; no two may be equal."""
    names = (KEY, *_COLUMNS)
    found = [Version(tuple(row[n] for n in names), row["_hoodie_commit_time"]) for row in rows]
    assert len(set(found)) == len(found)
    return frozenset(found)


def _path(day: str | None) -> str:
    """Return the partition path of a day."""
    return f"day={'__HIVE_DEFAULT_PARTITION__' if day is None else day}"


def _files(lake: Lake) -> list[str]:
    """Return every file of the table.

    Without what a run that failed on an object store leaves for a quarter of an hour: the markers
    of its instant, a tombstone, and the metadata of a new partition.
    """
    left = (f"{TEMP}/", f"{DEAD}/")
    found = _walk(lake.location, "")
    return sorted(
        path
        for path in found
        if not path.startswith(left) and not path.endswith(PARTITION_METADATA)
    )


def _walk(location: str, folder: str) -> Iterator[str]:
    """Yield the paths of the files below a folder."""
    for entry in open_storage(location).list(folder):
        if entry.is_folder:
            yield from _walk(location, entry.path)
        else:
            yield entry.path
