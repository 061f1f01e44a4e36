"""Merging a base file's rows with the changes of its log files, one version per record.

As in Apache Hudi, there are two steps: changes are merged with each other, then the rest with the
base file's rows. So an unconditional delete hides earlier changes in the logs, but a record after
it is compared with the base file's row as if the delete had not happened.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final, Self

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from framework.errors import CorruptFileError, UnsupportedTableError, Where
from framework.hudi.codecs.log_records import DeletedRecord
from framework.hudi.filegroup.log_changes import LogChange
from framework.hudi.table.layout import PROPERTIES, MetaField
from framework.hudi.table.properties import TableProperties

__all__ = ["IS_DELETED", "MergeRule", "merged", "ranks", "remaining", "replaced"]

_MODEL: Final = "org.apache.hudi.common.model."
_LATER_WINS: Final = frozenset({f"{_MODEL}OverwriteWithLatestAvroPayload"})
_GREATER_WINS: Final = frozenset(
    {f"{_MODEL}DefaultHoodieRecordPayload", f"{_MODEL}EventTimeAvroPayload"}
)


@dataclass(frozen=True, slots=True, kw_only=True)
class MergeRule:
    """The rule by which versions of one record are compared.

    Attributes:
        ordering: the column whose greater value wins, or the later write if equal; null is less
            than any value. None if the later write always wins.
    """

    ordering: str | None = None

    @classmethod
    def of(cls, properties: TableProperties) -> Self:
        """Return the rule of a table.

        Without a payload class an ordering field decides, as in Apache Hudi 1.x.

        Raises:
            UnsupportedTableError: `merge/payload-class`, `merge/ordering-fields`.
        """
        payload = properties.payload_class
        if payload in _LATER_WINS:
            return cls()
        if payload is not None and payload not in _GREATER_WINS:
            raise _unsupported(
                "payload-class", f"records are merged by {payload}, whose rule is unknown here"
            )
        if len(properties.ordering_fields) > 1:
            names = ", ".join(properties.ordering_fields)
            raise _unsupported(
                "ordering-fields", f"versions are ordered by several fields: {names}"
            )
        return cls(ordering=properties.ordering_field)


def _unsupported(condition: str, message: str) -> UnsupportedTableError:
    """Return the error for a table with an unsupported merge rule."""
    return UnsupportedTableError(
        f"merge/{condition}",
        message,
        where=Where(file=PROPERTIES),
        remedy="Read and write the table with Apache Hudi.",
    )


_KEY: Final = MetaField.RECORD_KEY.value
IS_DELETED: Final = "_hoodie_is_deleted"
"""A column of log file rows that marks their record as deleted."""

_NO_ROW: Final = -1
_RANK_OF_ALWAYS, _RANK_OF_NULL = -1, 0  # ranks of values start at 1


def merged(base: pa.Table, changes: Iterable[LogChange], rule: MergeRule) -> pa.Table:
    """Return the records of a slice.

    Records of the base file come first, in its order, each as its latest version; then those only
    in the logs, by their keys' first appearance. Holds all of them in memory.

    Args:
        base: rows with their meta columns; no rows if the slice has no base file.
        changes: oldest first; their rows have the columns of `base`.
        rule: decides which version wins.

    Raises:
        CorruptFileError: `merge/ordering-value`.
    """
    events = _Events.of(base.schema, list(changes), rule)
    if not events.count:
        return base
    wins, rows, fresh = _decided(base, events)
    moved = np.where(rows == _NO_ROW, _NO_ROW, rows + base.num_rows)
    places = np.where(wins, moved, np.arange(base.num_rows))
    taken = np.concatenate([places[places != _NO_ROW], fresh + base.num_rows])
    return pa.concat_tables([base, events.rows]).combine_chunks().take(pa.array(taken))


def remaining(
    base: pa.Table, changes: Iterable[LogChange], rule: MergeRule
) -> tuple[np.ndarray, pa.ChunkedArray]:
    """Return the positions of deleted base rows, ascending, and the keys that only logs hold.

    The other base rows, then those keys, are the records of `merged` in its order; no text of the
    base file is copied.

    Args:
        base: as in `replaced`, with the column that marks deleted rows, if the table has it.
        changes: as in `merged`.
        rule: as in `merged`.

    Raises:
        CorruptFileError: `merge/ordering-value`.
    """
    events = _Events.of(base.schema, list(changes), rule)
    if not events.count:
        return np.empty(0, np.int64), pa.chunked_array([], pa.string())
    wins, rows, fresh = _decided(base, events)
    return np.flatnonzero(wins & (rows == _NO_ROW)), events.rows[_KEY].take(pa.array(fresh))


def replaced(
    base: pa.Table, schema: pa.Schema, changes: Iterable[LogChange], rule: MergeRule
) -> tuple[np.ndarray, pa.Table]:
    """Return the positions of replaced base rows, ascending, and the new rows.

    Without those base rows and with the new rows, the records are those of `merged` in another
    order; only two columns of the base file are needed.

    Args:
        base: key and, if the schema has it, the rule's ordering column of each row.
        schema: columns of the changes' rows.
        changes: as in `merged`.
        rule: as in `merged`.

    Raises:
        CorruptFileError: `merge/ordering-value`.
    """
    events = _Events.of(schema, list(changes), rule)
    if not events.count:
        return np.empty(0, np.int64), schema.empty_table()
    wins, rows, fresh = _decided(base, events)
    taken = rows[wins]
    taken = np.concatenate([taken[taken != _NO_ROW], fresh])
    return np.flatnonzero(wins), events.rows.combine_chunks().take(pa.array(taken))


def _decided(base: pa.Table, events: _Events) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return, for each base row, whether a change wins against it, and the change's row.

    The third array has the rows of records that the base file lacks.
    """
    winners = events.winners()
    keys = events.keys.take(pa.array(winners))
    found = pc.index_in(base[_KEY], value_set=keys).combine_chunks()
    hit = pc.is_valid(found).to_numpy(zero_copy_only=False)
    chosen = winners[found.fill_null(0).to_numpy()]
    wins = hit & events.beat(base, chosen)
    met = np.zeros(len(winners), dtype=bool)
    met[found.drop_null().to_numpy()] = True
    fresh = events.row[winners[~met]]
    return wins, events.row[chosen], fresh[fresh != _NO_ROW]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Events:
    """All changes of a slice, oldest first, as parallel arrays.

    Attributes:
        keys: record key of each change.
        row: its position in `rows`, `_NO_ROW` for a delete.
        always: whether it is a delete that wins regardless of the ordering value.
        value: ordering values, all null if the later write wins.
        codes: a number for each key.
        rows: all rows that were written.
        ordering: the column that is compared, None if the later write wins.
    """

    keys: pa.Array
    row: np.ndarray
    always: np.ndarray
    value: pa.Array
    codes: np.ndarray
    rows: pa.Table
    ordering: str | None

    @property
    def count(self) -> int:
        """The number of changes."""
        return len(self.row)

    @classmethod
    def of(cls, schema: pa.Schema, changes: Sequence[LogChange], rule: MergeRule) -> _Events:
        """Combine changes.

        An ordering column that rows do not store is absent or a partition column. All its values
        are equal within a file group, so the later write wins.
        """
        kind = schema.field(rule.ordering).type if rule.ordering in schema.names else pa.null()
        parts = [_part(change, kind, rule.ordering) for change in changes]
        tables = [change.rows for change in changes if change.rows is not None]
        rows = pa.concat_tables([schema.empty_table(), *tables])
        keys = pa.concat_arrays([pa.array([], pa.string()), *(part.keys for part in parts)])
        lengths = [len(part.keys) if part.has_rows else 0 for part in parts]
        starts = np.cumsum([0, *lengths])
        row = [
            np.where(part.gone, _NO_ROW, start + np.arange(len(part.keys)))
            for part, start in zip(parts, starts[: len(parts)], strict=True)
        ]
        return cls(
            keys=keys,
            row=np.concatenate([np.empty(0, np.int64), *row]),
            always=np.concatenate([np.empty(0, bool), *(part.always for part in parts)]),
            value=pa.concat_arrays([pa.array([], kind), *(part.value for part in parts)]),
            codes=pc.dictionary_encode(keys).indices.to_numpy(zero_copy_only=False),
            rows=rows,
            ordering=None if pa.types.is_null(kind) else rule.ordering,
        )

    def winners(self) -> np.ndarray:
        """Return the position of each key's winning change, in order of first appearance."""
        order = np.arange(self.count)
        hidden_by = np.full(self.count, -1)
        np.maximum.at(hidden_by, self.codes[self.always], order[self.always])
        alive = order >= hidden_by[self.codes]
        rank = np.where(self.always, _RANK_OF_ALWAYS, ranks(self.value))
        by_key = np.lexsort((order, rank, self.codes))
        by_key = by_key[alive[by_key]]
        codes = self.codes[by_key]
        is_last: np.ndarray = np.append(codes[1:] != codes[:-1], np.ones(1, dtype=bool))
        found: np.ndarray = by_key[is_last]
        return found

    def beat(self, base: pa.Table, chosen: np.ndarray) -> np.ndarray:
        """Return whether each of the `chosen` changes wins against the base row at its position."""
        if self.ordering is None:
            return np.ones(len(chosen), dtype=bool)
        old = base[self.ordering].combine_chunks()
        rank = ranks(pa.concat_arrays([self.value, old]))
        later: np.ndarray = rank[: self.count][chosen] >= rank[self.count :]
        found: np.ndarray = later | self.always[chosen]
        return found


@dataclass(frozen=True, slots=True, kw_only=True)
class _Part:
    """The changes of one block."""

    keys: pa.Array
    gone: np.ndarray
    always: np.ndarray
    value: pa.Array
    has_rows: bool


def _part(change: LogChange, kind: pa.DataType, ordering: str | None) -> _Part:
    if change.rows is None:
        return _deletes(change.deleted, kind)
    count = change.rows.num_rows
    by_value = not pa.types.is_null(kind)
    return _Part(
        keys=change.rows[_KEY].combine_chunks(),
        gone=_marked_deleted(change.rows),
        always=np.zeros(count, dtype=bool),
        value=change.rows[ordering].combine_chunks() if by_value else pa.nulls(count, kind),
        has_rows=True,
    )


def _deletes(deleted: Sequence[DeletedRecord], kind: pa.DataType) -> _Part:
    later_wins = pa.types.is_null(kind)
    always = [later_wins or each.is_unconditional for each in deleted]
    values = [None if no else each.ordering for each, no in zip(deleted, always, strict=True)]
    try:
        value = pa.array(values, kind)
    except (pa.ArrowException, TypeError, OverflowError) as error:
        raise CorruptFileError(
            "merge/ordering-value",
            f"a delete's ordering value does not fit the ordering column ({kind}): {error}",
            remedy="Let Apache Hudi compact the table, or read it with Apache Hudi.",
        ) from error
    return _Part(
        keys=pa.array([each.record_key for each in deleted], pa.string()),
        gone=np.ones(len(deleted), dtype=bool),
        always=np.array(always, dtype=bool),
        value=value,
        has_rows=False,
    )


def _marked_deleted(rows: pa.Table) -> np.ndarray:
    """Return which rows are marked as deleted."""
    if IS_DELETED not in rows.schema.names:
        return np.zeros(rows.num_rows, dtype=bool)
    marked: Any = pc.fill_null(rows[IS_DELETED].combine_chunks(), fill_value=False)
    found: np.ndarray = marked.to_numpy(zero_copy_only=False).astype(bool)
    return found


def ranks(values: pa.Array) -> np.ndarray:
    """Return the dense rank of each value; null ranks lowest."""
    if pa.types.is_null(values.type):
        return np.zeros(len(values), np.int64)
    ranks = pc.rank(values, sort_keys="ascending", tiebreaker="dense").to_numpy().astype(np.int64)
    is_null = pc.is_null(values).to_numpy(zero_copy_only=False)
    return np.where(is_null, _RANK_OF_NULL, ranks)
