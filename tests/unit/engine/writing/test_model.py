"""Random sequences of loads against a table and against a dictionary."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import count
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from framework.errors import AuditFailedError
from framework.hudi.storage.opening import open_storage
from framework.vocabulary import KeyScope, PartitionType, TableType, WriteOperation
from tests.support.writing import Lake, load, rows_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_SCHEMA = pa.schema(
    [("id", pa.int64()), ("day", pa.string()), ("ts", pa.int64()), ("v", pa.string())]
)
_TABLES: Iterator[int] = count()

Row = dict[str, Any]

_ROWS = st.lists(
    st.builds(
        lambda number, day, ts: {"id": number, "day": day, "ts": ts},
        st.integers(0, 8),
        st.sampled_from(["a", "b", None]),
        st.integers(0, 3),
    ),
    max_size=6,
)
_OPERATIONS = st.sampled_from([each for each in WriteOperation if each != "delete_partition"])
_LOADS = st.lists(st.tuples(_OPERATIONS, _ROWS), min_size=1, max_size=6)


@dataclass
class Model:
    """What a table is to hold: rows by key in its scope."""

    scope: KeyScope
    rows: dict[Any, Row] = field(default_factory=dict)

    def key(self, row: Row) -> Any:
        """Return what no two rows may have."""
        return row["id"] if self.scope is KeyScope.TABLE else (row["id"], row["day"])

    def refuses(self, operation: WriteOperation, rows: Sequence[Row]) -> bool:
        """Return whether the gate has to refuse these rows."""
        if operation in {WriteOperation.UPSERT, WriteOperation.DELETE}:
            return False
        keys = [self.key(row) for row in rows]
        kept = dict(self.rows)
        if operation is WriteOperation.INSERT_OVERWRITE:
            days = {row["day"] for row in rows}
            kept = {key: row for key, row in kept.items() if row["day"] not in days}
        return len(set(keys)) < len(keys) or bool(kept.keys() & set(keys))

    def apply(self, operation: WriteOperation, rows: Sequence[Row]) -> None:
        """Load rows."""
        if operation is WriteOperation.INSERT_OVERWRITE:
            days = {row["day"] for row in rows}
            self.rows = {key: row for key, row in self.rows.items() if row["day"] not in days}
        for row in rows:
            key = self.key(row)
            if operation is WriteOperation.DELETE:
                self.rows.pop(key, None)
            elif key not in self.rows or row["ts"] >= self.rows[key]["ts"]:
                self.rows[key] = row


@pytest.mark.parametrize("kind", TableType)
@pytest.mark.parametrize("scope", KeyScope)
@pytest.mark.parametrize("partitioned", [True, False])
def test_loads_in_any_order_leave_what_a_dictionary_holds(
    tmp_path_factory: pytest.TempPathFactory, kind: TableType, scope: KeyScope, *, partitioned: bool
) -> None:
    """The table holds the model's rows after each load; a refused one leaves it as it was."""

    @settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.too_slow])
    @given(loads=_LOADS)
    def check(loads: Sequence[tuple[WriteOperation, Sequence[Row]]]) -> None:
        partition = {"day": PartitionType.STRING} if partitioned else {}
        model = Model(scope=scope if partitioned else KeyScope.TABLE)
        lake = Lake(
            folder=tmp_path_factory.mktemp("model"),
            at=f"memory://model-{next(_TABLES)}",
            partition=partition,
            scope=scope,
            type=kind,
            ordering="ts",
        )
        if not partitioned:
            loads = [(op, [{**row, "day": None} for row in rows]) for op, rows in loads]
        for number, (operation, rows) in enumerate(loads):
            _load(lake, model, operation, [{**row, "v": f"{number}"} for row in rows])

    check()


def _load(lake: Lake, model: Model, operation: WriteOperation, rows: Sequence[Row]) -> None:
    """Load rows into both, in two files, and compare."""
    half = len(rows) // 2
    parts = [pa.Table.from_pylist(part, _SCHEMA) for part in (rows[:half], rows[half:])]
    if model.refuses(operation, rows):
        before = _files(lake)
        with pytest.raises(AuditFailedError):
            load(lake, operation, *parts)
        assert _files(lake) == before
    else:
        result = load(lake, operation, *parts)
        account: Any = result.proof["account"]
        assert account["input"] == len(rows)
        model.apply(operation, rows)
    if not (model.rows or _files(lake)):
        return
    found = sorted(map(_plain, rows_of(lake.location)), key=repr)
    assert found == sorted(map(_plain, model.rows.values()), key=repr)


def _plain(row: Row) -> tuple[Any, ...]:
    """Return a row's own columns."""
    return tuple(row[name] for name in _SCHEMA.names)


def _files(lake: Lake) -> list[str]:
    """Return every file of the table."""
    return sorted(_walk(lake.location, ""))


def _walk(location: str, folder: str) -> Iterator[str]:
    """Yield the paths of the files below a folder."""
    for entry in open_storage(location).list(folder):
        if entry.is_folder:
            yield from _walk(location, entry.path)
        else:
            yield entry.path
