"""Whether a file's keys strictly increase, and its first and last key as comparable bytes.

If each file's keys strictly increase and the files' ranges are disjoint, no key occurs twice; this
proof needs no second pass over the keys (design.md, section 8). Keys are compared as typed tuples,
since data sorted by number is not sorted by text.

The proof is about tuples, but uniqueness is guaranteed for texts. Two tuples share a text only if a
string part contains the next part's label (`x,b:1` before column b) or a placeholder; `injective`
means that no part does. Why that suffices: let two tuples share a text and differ first in part i,
the shorter value being a proper prefix of the longer. After the shorter value the text continues
`,<next>:`. A label starts with its only comma, so it cannot overlap itself, and the longer value
must contain it whole. The placeholder of null never occurs, as null parts are refused.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from itertools import pairwise
from typing import Any, Final, Self, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from framework.hudi.keygen.paths import Columns, KeyPart, key_parts
from framework.hudi.keygen.rule import KeyRule
from framework.hudi.keygen.text import EMPTY_PART
from framework.hudi.table.partition_path import PartitionValue

__all__ = ["FollowedOrder", "OrderedKeys", "is_injective", "order_bytes"]

_SLICE_ROWS: Final = 1 << 16
_PIECE_BYTES: Final = 1 << 18
_EPOCH: Final = date(1970, 1, 1)
_LONG_DIGITS: Final = 18

_Value: TypeAlias = str | int | bool | date | Decimal


@dataclass(frozen=True, slots=True, kw_only=True)
class OrderedKeys:
    """The order of one file's keys.

    Attributes:
        first: order-preserving bytes of the smallest key; `b""` if not `increasing`, or no rows.
        last: the same for the largest key, inclusive.
        increasing: whether each key is greater than the one before; False if one is null.
        injective: whether no two keys, here or in another such file, can have the same text.
    """

    first: bytes
    last: bytes
    increasing: bool
    injective: bool

    @classmethod
    def of(
        cls,
        rule: KeyRule,
        columns: Columns,
        partition_values: Mapping[str, PartitionValue],
    ) -> Self:
        """Return the key order of `columns`, which have the table's types.

        Stops at the first key out of order.

        Raises:
            PlanError: `key/column-missing`.
        """
        parts = key_parts(rule, columns, partition_values)
        rows = columns.num_rows
        increasing = _increasing(parts, rows)
        known = increasing and rows > 0
        return cls(
            first=order_bytes([_value(part, 0) for part in parts]) if known else b"",
            last=order_bytes([_value(part, rows - 1) for part in parts]) if known else b"",
            increasing=increasing,
            injective=_injective(rule.record_key, parts),
        )


class FollowedOrder:
    """The order of a file's keys, followed from batch to batch until it breaks.

    Attributes:
        first: as in `OrderedKeys`, for the whole file; None before the first key.
        last: as `first`.
        increasing: whether all keys so far increase.
        injective: as in `OrderedKeys`; no longer updated once `increasing` is false.
    """

    __slots__ = ("first", "increasing", "injective", "last")

    def __init__(self) -> None:
        self.first: bytes | None = None
        self.last: bytes | None = None
        self.increasing = self.injective = True

    def add(
        self,
        rule: KeyRule,
        columns: Columns,
        partition_values: Mapping[str, PartitionValue],
    ) -> None:
        """Extend the order by a batch of at least one row; do nothing once it is broken."""
        if self.increasing:
            self.extend(OrderedKeys.of(rule, columns, partition_values))

    def extend(self, found: OrderedKeys) -> None:
        """Extend the order by that of a batch of at least one row."""
        self.injective &= found.injective
        self.increasing = found.increasing and (self.last is None or self.last < found.first)
        if self.first is None:
            self.first = found.first
        self.last = found.last


def is_injective(
    rule: KeyRule, columns: Columns, partition_values: Mapping[str, PartitionValue]
) -> bool:
    """Return `OrderedKeys.injective` of some columns, whose keys may be in any order.

    Raises:
        PlanError: `key/column-missing`.
    """
    return _injective(rule.record_key, key_parts(rule, columns, partition_values))


def order_bytes(key: Sequence[_Value]) -> bytes:
    """Return bytes that compare as the typed tuples do; integer width does not matter.

    Text compares by its UTF-8 bytes, decimals of one scale by value.
    """
    return b"".join(map(_bytes_of, key))


def _bytes_of(value: _Value) -> bytes:
    """Return one part: 0x00 ends text and sorts first in it, numbers are big-endian."""
    match value:
        case str():
            return value.encode().replace(b"\0", b"\0\2") + b"\0\1"
        case bool():
            return b"\1" if value else b"\0"
        case int():
            return (value + 2**63).to_bytes(8, "big")
        case Decimal():
            return (_unscaled(value) + 2**127).to_bytes(16, "big")
        case date():
            return ((value - _EPOCH).days + 2**63).to_bytes(8, "big")


def _unscaled(value: Decimal) -> int:
    """Return the unscaled value of a decimal."""
    sign, digits, _ = value.as_tuple()
    number = int("".join(map(str, digits)))
    return -number if sign else number


def _value(part: KeyPart, row: int) -> Any:
    """Return one non-null value; days as integers, since they may be beyond year 9999."""
    if not isinstance(part, pa.Array):
        return part
    days = pa.types.is_date32(part.type)
    return (part.view(pa.int32()) if days else part)[row].as_py()


def _increasing(parts: Sequence[KeyPart], rows: int) -> bool:
    """Whether each row's tuple is greater than the one before it."""
    arrays = [_comparable(part) for part in parts if isinstance(part, pa.Array)]
    if any(part is None for part in parts) or any(a.null_count for a in arrays):
        return rows == 0
    if not arrays:
        return rows <= 1
    starts = range(0, rows - 1, _SLICE_ROWS)
    return all(_slice_increases([a.slice(s, _SLICE_ROWS + 1) for a in arrays]) for s in starts)


def _comparable(part: pa.Array) -> pa.Array:
    """Return the column as values that numpy or Arrow compares in typed order."""
    if pa.types.is_dictionary(part.type):
        part = part.dictionary_decode()
    if part.null_count:
        return part
    if pa.types.is_date32(part.type):
        return part.view(pa.int32())
    if pa.types.is_boolean(part.type):
        return pc.cast(part, pa.uint8())
    if pa.types.is_decimal128(part.type) and part.type.precision <= _LONG_DIGITS:
        return _low_halves(part)
    return part


def _low_halves(part: pa.Array) -> pa.Array:
    """Return the unscaled values of decimals of at most 18 digits, read from the buffer."""
    halves = np.frombuffer(part.buffers()[1], np.int64)
    return pa.array(halves[2 * part.offset : 2 * (part.offset + len(part)) : 2])


def _slice_increases(arrays: Sequence[pa.Array]) -> bool:
    """Whether tuples strictly increase within one slice of at least two rows."""
    greater: npt.NDArray[np.bool_] | None = None
    tied: npt.NDArray[np.bool_] | None = None
    for array in arrays:
        more, same = _compare(array)
        if greater is None or tied is None:
            greater, tied = more, same
        else:
            greater = greater | (tied & more)
            tied = tied & same
        if not (greater | tied).all():
            return False
    return greater is not None and bool(greater.all())


def _compare(array: pa.Array) -> tuple[npt.NDArray[np.bool_], npt.NDArray[np.bool_]]:
    """Return, for each value but the first, whether it is greater than, or equals, the previous."""
    if pa.types.is_integer(array.type):
        numbers = array.to_numpy()
        return numbers[1:] > numbers[:-1], numbers[1:] == numbers[:-1]
    before, after = array[:-1], array[1:]
    more = pc.greater(after, before).to_numpy(zero_copy_only=False)
    same = pc.equal(after, before).to_numpy(zero_copy_only=False)
    return more, same


def _injective(names: Sequence[str], parts: Sequence[KeyPart]) -> bool:
    """Whether the composite text of these parts splits in only one way."""
    if len(names) == 1:
        return True
    labels = [f",{after}:" for _, after in pairwise(names)]
    split = any(_holds(part, label) for part, label in zip(parts, labels, strict=False))
    return not split and not any(_holds(part, EMPTY_PART) for part in parts)


def _holds(part: KeyPart, text: str) -> bool:
    """Whether a string part contains `text`."""
    if isinstance(part, str):
        return text in part
    if not isinstance(part, pa.Array):
        return False
    values = part.dictionary if pa.types.is_dictionary(part.type) else part
    if not pa.types.is_string(values.type) and not pa.types.is_large_string(values.type):
        return False
    if not _holds_byte(values, text[0].encode()):  # searching one byte is ten times as fast
        return False
    return bool(pc.any(pc.match_substring(values, text)).as_py())


def _holds_byte(values: pa.Array, byte: bytes) -> bool:
    """Whether any string contains the ASCII byte; reads pieces that fit a cache."""
    wide = pa.types.is_large_string(values.type)
    _, offsets, data = values.buffers()
    if data is None or offsets is None or not len(values):
        return False
    positions = np.frombuffer(offsets, np.int64 if wide else np.int32)
    start, end = int(positions[values.offset]), int(positions[values.offset + len(values)])
    pieces = range(start, end, _PIECE_BYTES)
    return any(byte in bytes(data.slice(p, min(_PIECE_BYTES, end - p))) for p in pieces)
