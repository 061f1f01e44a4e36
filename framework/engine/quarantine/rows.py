"""Quarantined rows, one after the other, as text and as JSON, without Spark."""

from __future__ import annotations

import base64
import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from framework.engine.quarantine.quarantined_batch import QuarantinedBatch
from framework.engine.results import REDACTED
from framework.errors import CorruptFileError, Where
from framework.hudi.codecs.parquet_seal import UNREADABLE
from framework.hudi.storage.locations import open_storage
from framework.hudi.table.layout import name_of, parent_of
from framework.plan.release import FILE, PLACE_COLUMNS, ROW, RULES

__all__ = ["QuarantinedRow", "rows_of"]

_BATCH_ROWS: Final = 256
_BUFFER_BYTES: Final = 1 << 20
_NOT_SHOWN: Final = "(cannot be shown)"


@dataclass(frozen=True, slots=True, kw_only=True)
class QuarantinedRow:
    """One quarantined row.

    Attributes:
        instant: of the run that quarantined it.
        rules: names of the checks that it failed.
        file: its first file.
        row: its place there, from 0.
        values: columns to values, JSON-ready; redacted ones are `***`, or null.
    """

    instant: str
    rules: tuple[str, ...]
    file: str
    row: int
    values: Mapping[str, object]


def rows_of(
    batches: Sequence[QuarantinedBatch], *, rule: str | None = None, redacted: Collection[str] = ()
) -> Iterator[QuarantinedRow]:
    """Yield the rows of data sets, in order; only those that failed `rule`, if it is given.

    Reads only as far as the iteration goes, a few hundred rows at a time. Hidden are the columns
    in `redacted`, and those that were redacted when the rows were quarantined.

    Raises:
        CorruptFileError: `quarantine/not-readable`.
    """
    for found in batches:
        hidden = frozenset(name.lower() for name in (*found.redacted, *redacted))
        for path in found.files:
            for batch in _batches(path, rule):
                yield from _rows(found.instant, batch, hidden)


def _batches(path: str, rule: str | None) -> Iterator[pa.RecordBatch]:
    """Yield the rows of a file that failed a rule, or all."""
    try:
        with open_storage(parent_of(path)).open_input(name_of(path)) as stream:
            parquet = pq.ParquetFile(
                stream,
                buffer_size=_BUFFER_BYTES,
                pre_buffer=False,
                coerce_int96_timestamp_unit="us",
                page_checksum_verification=True,
            )
            for batch in parquet.iter_batches(_BATCH_ROWS, use_threads=False):
                yield batch if rule is None else batch.filter(_fails(batch, rule))
    except UNREADABLE as error:
        raise CorruptFileError(
            "quarantine/not-readable",
            f"quarantined rows cannot be read: {error}",
            where=Where(file=path),
            remedy="The folder was changed by hand; restore it, or delete it.",
        ) from error


def _fails(batch: pa.RecordBatch, rule: str) -> pa.Array:
    """Return which rows have failed a rule."""
    rules = batch.column(RULES)
    named = pc.equal(pc.list_flatten(rules), rule)
    places = pc.list_parent_indices(rules).filter(named)
    return pc.is_in(pa.array(range(batch.num_rows), places.type), places)


def _rows(instant: str, batch: pa.RecordBatch, hidden: Collection[str]) -> Iterator[QuarantinedRow]:
    """Yield the rows of a batch."""
    names = [name for name in batch.schema.names if name not in PLACE_COLUMNS]
    columns = [_shown(batch.column(name), hides=name.lower() in hidden) for name in names]
    places = zip(*(batch.column(name).to_pylist() for name in (RULES, FILE, ROW)), strict=True)
    for at, (rules, file, row) in enumerate(places):
        values = {name: column[at] for name, column in zip(names, columns, strict=True)}
        yield QuarantinedRow(
            instant=instant, rules=tuple(rules), file=file or "", row=row, values=values
        )


def _shown(column: pa.Array, *, hides: bool) -> list[Any]:
    """Return the values of a column, JSON-ready."""
    if hides:
        return [REDACTED if valid else None for valid in column.is_valid().to_pylist()]
    if pa.types.is_temporal(column.type):  # Python's own types end in the year 9999
        column = column.cast(pa.string())
    try:
        return [_plain(value) for value in column.to_pylist()]
    except (ValueError, OverflowError):
        return [_NOT_SHOWN if valid else None for valid in column.is_valid().to_pylist()]


def _plain(value: Any) -> Any:
    """Return a value in JSON's types."""
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]
    if isinstance(value, dict):
        return {str(name): _plain(each) for name, each in value.items()}
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    return value if value is None or isinstance(value, int | str) else _text(value)


def _text(value: object) -> str:
    """Return the text of a value that JSON cannot represent."""
    if isinstance(value, Decimal):
        return format(value, "f")
    return base64.b64encode(value).decode() if isinstance(value, bytes) else str(value)
