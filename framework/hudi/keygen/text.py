"""Record keys as text, byte for byte what Apache Hudi's key generators write.

For speed, a part with few distinct values (a small range of numbers, days, dictionary-coded or
repeating strings) becomes a short array of labels and one code per row, and adjacent coded parts
are multiplied into one. Arrow's cast prints the other parts. The pieces are joined once.
Golden vectors of Apache Hudi pin the text (`tests/golden`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from framework.errors import CorruptFileError
from framework.hudi.keygen.paths import Columns, KeyPart, key_parts
from framework.hudi.keygen.rule import KeyRule
from framework.hudi.table.partition_path import PartitionValue, value_text

__all__ = ["EMPTY_PART", "NULL_PART", "day_text", "null_rows", "record_keys", "texts_of"]


# Days since 1970-01-01 of 0000-01-01 and 9999-12-31; years between them have four digits.
_FIRST_PLAIN_DAY: Final = -719528
_LAST_PLAIN_DAY: Final = 2932896
_DAYS_OF_400_YEARS: Final = 146097

NULL_PART: Final = "__null__"
EMPTY_PART: Final = "__empty__"
_CHUNK_ROWS: Final = 1 << 17
_CHUNK_BYTES: Final = 1 << 29
_MAX_LABELS: Final = 1 << 17
_ROWS_PER_LABEL: Final = 8
_SAMPLE_ROWS: Final = 1024
_SAMPLE_DISTINCT: Final = 256


def texts_of(values: pa.Array) -> pa.Array:
    """Return the Java text of each value as a string array; nulls stay null.

    Arrow prints integers, booleans, decimals (with an exponent below 0.000001, as `BigDecimal`)
    and four-digit years as Java does.

    Raises:
        CorruptFileError: `key/value-out-of-range` if the text exceeds one array.
    """
    kind = values.type
    if pa.types.is_dictionary(kind):
        return texts_of(values.dictionary_decode())
    if pa.types.is_date32(kind):
        return _day_texts(values)
    try:
        return values if pa.types.is_string(kind) else pc.cast(values, pa.string())
    except pa.ArrowInvalid as error:
        raise CorruptFileError(
            "key/value-out-of-range",
            f"key column of type {kind} cannot be printed as text: {error}",
            remedy="Pass fewer rows at a time.",
        ) from error


def day_text(day: int) -> str:
    """Return `LocalDate.toString` of a day since 1970-01-01: `-0001-12-31`, `+10000-01-01`."""
    cycle, rest = divmod(day - _FIRST_PLAIN_DAY, _DAYS_OF_400_YEARS)
    plain = str(np.datetime64(rest + _FIRST_PLAIN_DAY, "D"))
    year = int(plain[:4]) + 400 * cycle
    sign = "-" if year < 0 else "+" if year > 9999 else ""  # noqa: PLR2004 - four digits
    return f"{sign}{abs(year):04d}{plain[4:]}"


def _day_texts(days: pa.Array) -> pa.Array:
    """Return the texts of days; years beyond four digits are printed one by one."""
    numbers = days.view(pa.int32())
    if not len(days) or days.null_count == len(days):
        return pa.nulls(len(days), pa.string())
    range_ = pc.min_max(numbers).as_py()
    if range_["min"] >= _FIRST_PLAIN_DAY and range_["max"] <= _LAST_PLAIN_DAY:
        return pc.cast(days, pa.string())
    encoded = numbers.dictionary_encode()
    labels = pa.array([day_text(day) for day in encoded.dictionary.to_pylist()], pa.string())
    return pc.take(labels, encoded.indices)


def record_keys(
    rule: KeyRule, columns: Columns, partition_values: Mapping[str, PartitionValue]
) -> pa.StringArray | pa.ChunkedArray:
    """Return the record key of each row: a string array for a batch, a chunked one for a table.

    A key of one column is null if the value is null or empty, since Hudi has no key for it.
    In a composite key such parts are `__null__` and `__empty__`. `null_rows` finds both.

    Args:
        rule: names the key columns.
        columns: holds at least the key columns that the files have, in the table's types.
        partition_values: typed values of the folder, for columns that the files lack.

    Raises:
        PlanError: `key/column-missing`.
        CorruptFileError: `key/value-out-of-range`.
    """
    parts = key_parts(rule, columns, partition_values)
    rows = columns.num_rows
    step = _chunk_rows(parts, rows)
    chunks = [
        _texts(rule, _sliced(parts, start, step), min(step, rows - start))
        for start in range(0, rows, step)
    ]
    found = pa.chunked_array(chunks, pa.string())
    return found if isinstance(columns, pa.Table) else found.combine_chunks()


def null_rows(
    rule: KeyRule, columns: Columns, partition_values: Mapping[str, PartitionValue]
) -> npt.NDArray[np.int64]:
    """Return the positions, ascending, of rows without a complete key.

    These are rows with a null part, with an empty value in a key of one column, or with only
    empty parts. Hudi refuses all of them except a null part of a composite key; lakestrap refuses
    that too.
    """
    rows = columns.num_rows
    parts = key_parts(rule, columns, partition_values)
    if _all_present(parts):
        return np.empty(0, np.int64)
    bad = np.zeros(rows, np.bool_)
    empty = np.ones(rows, np.bool_)
    for part in parts:
        bad |= _null_mask(part, rows)
        if empty.any():
            empty &= _empty_mask(part, rows)
    return np.flatnonzero(bad | empty)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Coded:
    """The text of each row as a code into `labels`; neither holds nulls."""

    labels: pa.Array
    codes: npt.NDArray[np.integer]

    def texts(self) -> pa.Array:
        return pc.take(self.labels, pa.array(self.codes), boundscheck=False)

    def prefixed(self, prefix: str) -> _Coded:
        """Return a copy with `prefix` before each text."""
        return replace(self, labels=_prefixed(self.labels, prefix))

    def times(self, other: _Coded) -> _Coded:
        """Return the texts of both, joined row by row, as one."""
        mine, theirs = len(self.labels), len(other.labels)
        left = pc.take(self.labels, pa.array(np.repeat(np.arange(mine), theirs)))
        right = pc.take(other.labels, pa.array(np.tile(np.arange(theirs), mine)))
        codes = self.codes.astype(np.int64, copy=False) * theirs + other.codes
        return _Coded(labels=pc.binary_join_element_wise(left, right, ""), codes=codes)


_Piece: TypeAlias = _Coded | pa.Array


def _chunk_rows(parts: Sequence[KeyPart], rows: int) -> int:
    """Return a number of rows whose keys are sure to fit one string array."""
    size = sum(part.nbytes for part in parts if isinstance(part, pa.Array))
    fitting: int = _CHUNK_BYTES * rows // max(size, 1)
    return max(1, min(_CHUNK_ROWS, fitting))


def _sliced(parts: Sequence[KeyPart], start: int, step: int) -> list[KeyPart]:
    return [p.slice(start, step) if isinstance(p, pa.Array) else p for p in parts]


def _texts(rule: KeyRule, parts: Sequence[KeyPart], rows: int) -> pa.Array:
    if rule.is_composite:
        return _composite(rule.record_key, parts, rows)
    return _single(parts[0], rows)


def _single(part: KeyPart, rows: int) -> pa.Array:
    """Return the bare text of one column, null if it is null or empty."""
    if not isinstance(part, pa.Array):
        return pa.repeat(pa.scalar(value_text(part) or None, pa.string()), rows)
    coded = _coded(part)
    texts = coded.texts() if coded else texts_of(part)
    if _has_empty(texts):
        texts = pc.if_else(pc.equal(texts, ""), pa.scalar(None, pa.string()), texts)
    return texts


def _composite(names: Sequence[str], parts: Sequence[KeyPart], rows: int) -> pa.Array:
    """Return `name:value,name:value` for each row."""
    pieces: list[_Piece] = []
    pending = ""
    for name, part in zip(names, parts, strict=True):
        pending += f",{name}:" if pieces or pending else f"{name}:"
        if isinstance(part, pa.Array):
            _append(pieces, _piece(part, pending), rows)
            pending = ""
        else:
            pending += _placed(value_text(part))
    if not pieces:
        return pa.repeat(pa.scalar(pending, pa.string()), rows)
    arrays = [piece.texts() if isinstance(piece, _Coded) else piece for piece in pieces]
    if pending:
        arrays.append(pa.scalar(pending, pa.string()))
    return arrays[0] if len(arrays) == 1 else pc.binary_join_element_wise(*arrays, "")


def _placed(text: str | None) -> str:
    """Return the text of a constant part in a composite key."""
    return NULL_PART if text is None else text or EMPTY_PART


def _piece(part: pa.Array, prefix: str) -> _Piece:
    """Return one column of a composite key with `prefix` before each value."""
    coded = _coded(part)
    if coded:
        return replace(coded, labels=_filled(coded.labels)).prefixed(prefix)
    return _prefixed(_filled(texts_of(part)), prefix)


def _append(pieces: list[_Piece], piece: _Piece, rows: int) -> None:
    """Add a piece; multiply it into the last one if both are coded and the product is small."""
    last = pieces[-1] if pieces else None
    if (
        isinstance(last, _Coded)
        and isinstance(piece, _Coded)
        and len(last.labels) * len(piece.labels) <= _label_limit(rows)
    ):
        pieces[-1] = last.times(piece)
    else:
        pieces.append(piece)


def _prefixed(texts: pa.Array, prefix: str) -> pa.Array:
    return pc.binary_replace_slice(texts, 0, 0, prefix) if prefix else texts


def _filled(texts: pa.Array) -> pa.Array:
    """Return the texts with placeholders for null and empty ones."""
    if texts.null_count:
        texts = pc.fill_null(texts, NULL_PART)
    if _has_empty(texts):
        texts = pc.if_else(pc.equal(texts, ""), EMPTY_PART, texts)
    return texts


def _has_empty(texts: pa.Array) -> bool:
    """Whether any text is empty; nulls do not count."""
    return bool(len(texts)) and pc.min(pc.binary_length(texts)).as_py() == 0


def _label_limit(rows: int) -> int:
    """Return the number of labels up to which making them is cheap compared with the rows."""
    return min(_MAX_LABELS, rows // _ROWS_PER_LABEL)


def _coded(part: pa.Array) -> _Coded | None:
    """Return the column as labels and codes; None if that does not pay or it has nulls."""
    if part.null_count or not len(part):
        return None
    kind = part.type
    if pa.types.is_dictionary(kind):
        codes = part.indices.to_numpy(zero_copy_only=False)
        return (
            None
            if part.dictionary.null_count
            else _Coded(labels=texts_of(part.dictionary), codes=codes)
        )
    if pa.types.is_boolean(kind):
        codes = pc.cast(part, pa.uint8()).to_numpy()
        return _Coded(labels=pa.array(["false", "true"]), codes=codes)
    if pa.types.is_integer(kind) or pa.types.is_date32(kind):
        return _coded_range(part)
    return _coded_strings(part) if pa.types.is_string(kind) else None


def _coded_range(part: pa.Array) -> _Coded | None:
    """Return numbers or days as codes into labels of their range; None if the range is wide."""
    storage = part.view(pa.int32()) if pa.types.is_date32(part.type) else part
    numbers = storage.to_numpy()
    low, high = int(numbers.min()), int(numbers.max())
    if high - low >= _label_limit(len(numbers)):
        return None
    labels = texts_of(pa.array(np.arange(high - low + 1) + low, storage.type).view(part.type))
    return _Coded(labels=labels, codes=np.subtract(numbers, low, dtype=np.int64))


def _coded_strings(part: pa.Array) -> _Coded | None:
    """Return strings as codes into their distinct values; None if a sample has many."""
    limit = min(_label_limit(len(part)), _SAMPLE_DISTINCT)
    stride = max(1, len(part) // _SAMPLE_ROWS)
    sample = part.take(pa.array(np.arange(0, len(part), stride)))
    if pc.count_distinct(sample).as_py() > limit:
        return None
    encoded = part.dictionary_encode()
    return _Coded(labels=encoded.dictionary, codes=encoded.indices.to_numpy())


def _all_present(parts: Sequence[KeyPart]) -> bool:
    """Whether no part is null and at least one type has no empty values."""
    arrays = [part for part in parts if isinstance(part, pa.Array)]
    others = [part for part in parts if not isinstance(part, pa.Array)]
    nulls = any(part.null_count for part in arrays) or None in others
    solid = any(not _is_text_like(part.type) for part in arrays)
    return not nulls and (solid or any(not isinstance(part, str) for part in others))


def _is_text_like(kind: pa.DataType) -> bool:
    """Whether values are strings, dictionary-coded or not."""
    return _is_text(kind.value_type if pa.types.is_dictionary(kind) else kind)


def _null_mask(part: KeyPart, rows: int) -> npt.NDArray[np.bool_]:
    if not isinstance(part, pa.Array):
        return np.full(rows, part is None)
    if not part.null_count:
        return np.zeros(rows, np.bool_)
    found: npt.NDArray[np.bool_] = pc.is_null(part).to_numpy(zero_copy_only=False)
    return found


def _empty_mask(part: KeyPart, rows: int) -> npt.NDArray[np.bool_]:
    if not isinstance(part, pa.Array):
        return np.full(rows, part is None or part == "")
    texts: pa.Array = part.dictionary_decode() if pa.types.is_dictionary(part.type) else part
    if not _is_text(texts.type) or not _has_empty(texts):
        return _null_mask(part, rows)
    empty = pc.fill_null(pc.equal(texts, ""), True)
    found: npt.NDArray[np.bool_] = empty.to_numpy(zero_copy_only=False)
    return found


def _is_text(kind: pa.DataType) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))
