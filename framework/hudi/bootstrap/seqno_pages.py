"""Pages of sequence numbers, `<instant>_<number>_<row>`, in Parquet's DELTA_BYTE_ARRAY.

Rows count up, so a value shares with the previous one all but its last digit and trailing zeros.
Only a page's first value depends on the file. The rest depends only on the first row, so it is
built once and reused for every file. A shorter page is a cut of the longer one.

A page has lengths of shared prefixes, lengths of suffixes (both DELTA_BINARY_PACKED), suffixes.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

import numpy as np
import pyarrow as pa

from framework.hudi.codecs.varint import uvarint, zigzag
from framework.hudi.keygen.ordering import OrderedKeys

__all__ = ["PAGE_ROWS", "PackedNumbers", "RowNumbers", "seqno_page"]

_TWO_NUMBERS: Final = struct.Struct(">QQ")


@dataclass(frozen=True, slots=True, kw_only=True)
class RowNumbers:
    """The start of one file's automatic keys and sequence numbers.

    Attributes:
        instant: requested time of the commit that writes the file.
        number: the file's position in the sorted list of the commit's input, from 0.
    """

    instant: str
    number: int

    @property
    def prefix(self) -> str:
        """The text before a row's own number."""
        return f"{self.instant}_{self.number}_"

    def texts(self, start: int, rows: int) -> pa.Array:
        """Return `<instant>_<number>_<row>` for `rows` rows (at most 2**24) from `start`."""
        parts = [pa.array([], pa.string())]
        at, end = start, start + rows
        while at < end:
            width = len(str(at))
            stop = min(end, 10**width)
            parts.append(_numbered(self.prefix.encode(), at, stop, width))
            at = stop
        return pa.concat_arrays(parts)

    def ordered(self, row: int) -> bytes:
        """Return bytes that order rows of one commit as their numbers do."""
        return _TWO_NUMBERS.pack(self.number, row)

    def order(self, start: int, rows: int) -> OrderedKeys:
        """Return the order of `rows` (at least one) automatic keys from row `start`."""
        return OrderedKeys(
            first=self.ordered(start),
            last=self.ordered(start + rows - 1),
            increasing=True,
            injective=True,
        )


def _numbered(prefix: bytes, start: int, stop: int, width: int) -> pa.Array:
    """Return the prefix followed by each number from `start` to `stop` (exclusive).

    All numbers have `width` digits, so the texts are the rows of a matrix of bytes.
    """
    left: np.ndarray = np.arange(start, stop, dtype=np.uint32 if stop < 1 << 32 else np.uint64)
    size = len(prefix) + width
    text = np.empty((stop - start, size), np.uint8)
    text[:, : len(prefix)] = np.frombuffer(prefix, np.uint8)
    for place in range(size - 1, len(prefix) - 1, -1):
        rest = left // 10
        text[:, place] = left - rest * 10 + ord("0")
        left = rest
    offsets = np.arange(0, text.size + 1, size, dtype=np.int32)
    return pa.StringArray.from_buffers(stop - start, pa.py_buffer(offsets), pa.py_buffer(text))


_BLOCK: Final = 128
_PARTS: Final = 4
_PART: Final = _BLOCK // _PARTS
_HEAD: Final = uvarint(_BLOCK) + uvarint(_PARTS)
_ONE_BYTE: Final = 64

PAGE_ROWS: Final = 1 << 17
_PAGES_KEPT: Final = 32


@dataclass(frozen=True, slots=True)
class PackedNumbers:
    """A packed column of numbers; adjacent numbers differ by less than 64.

    Attributes:
        first: the first number.
        blocks: all packed blocks, concatenated.
        ends: end offset of each block in `blocks`.
    """

    first: int
    blocks: bytes
    ends: np.ndarray

    @classmethod
    def of(cls, values: np.ndarray) -> PackedNumbers:
        """Pack at least one number."""
        blocks, ends = _pack(np.diff(values.astype(np.int64)))
        return cls(int(values[0]), blocks, ends)

    def cut(self, count: int) -> bytes:
        """Return the stream of the first `count` (at least one) numbers."""
        head = _HEAD + uvarint(count) + zigzag(self.first)
        whole, rest = divmod(count - 1, _BLOCK)
        start = int(self.ends[whole - 1]) if whole else 0
        return head + self.blocks[:start] + (self._part(start, rest) if rest else b"")

    def _part(self, start: int, count: int) -> bytes:
        """Return the block at `start` with only the parts that its first `count` numbers need."""
        used = -(-count // _PART)
        widths = self.blocks[start + 1 : start + 1 + used]
        data = start + 1 + _PARTS
        size = sum(widths) * (_PART // 8)
        absent = bytes(_PARTS - used)
        return self.blocks[start : start + 1] + widths + absent + self.blocks[data : data + size]


def _pack(deltas: np.ndarray) -> tuple[bytes, np.ndarray]:
    """Return the blocks of differences, and the end offset of each."""
    count = -(-deltas.size // _BLOCK)
    if not count:
        return b"", np.empty(0, np.int64)
    padded = np.empty(count * _BLOCK, np.int64)
    padded[: deltas.size] = deltas
    padded[deltas.size :] = deltas[-1]
    least = padded.reshape(count, _BLOCK).min(axis=1)
    above = (padded.reshape(count, _BLOCK) - least[:, None]).reshape(count * _PARTS, _PART)
    widths = _bit_lengths(above.max(axis=1))
    widths[-(-deltas.size // _PART) :] = 0  # readers expect no data for parts without numbers
    sizes = widths * (_PART // 8)
    lengths = 1 + _PARTS + sizes.reshape(count, _PARTS).sum(axis=1)
    ends = np.cumsum(lengths)
    starts = ends - lengths
    out = np.zeros(int(ends[-1]), np.uint8)
    out[starts] = _zigzag_bytes(least)
    out[starts[:, None] + 1 + np.arange(_PARTS)] = widths.reshape(count, _PARTS)
    before = np.cumsum(sizes.reshape(count, _PARTS), axis=1) - sizes.reshape(count, _PARTS)
    places = (starts[:, None] + 1 + _PARTS + before).reshape(-1)
    for width in np.unique(widths[widths > 0]).tolist():
        chosen = np.flatnonzero(widths == width)
        packed = _bits(above[chosen], width)
        out[places[chosen][:, None] + np.arange(packed.shape[1])] = packed
    return out.tobytes(), ends


def _bit_lengths(values: np.ndarray) -> np.ndarray:
    """Return the number of bits of each non-negative number."""
    lengths: np.ndarray = np.frexp(values.astype(np.float64))[1].astype(np.int64)
    return lengths


def _zigzag_bytes(values: np.ndarray) -> np.ndarray:
    """Return small signed numbers in their one-byte variable-length form."""
    if values.size and (values.min() < -_ONE_BYTE or values.max() >= _ONE_BYTE):
        raise ValueError("a difference does not fit one byte")
    found: np.ndarray = ((values << 1) ^ (values >> 63)).astype(np.uint8)
    return found


def _bits(values: np.ndarray, width: int) -> np.ndarray:
    """Return rows of 32 numbers as rows of bytes, `width` bits each, lowest bit first."""
    bits = (values[:, :, None] >> np.arange(width)) & 1
    flat = bits.astype(np.uint8).reshape(len(values), _PART * width)
    packed: np.ndarray = np.packbits(flat, axis=1, bitorder="little")
    return packed


def seqno_page(prefix: str, start: int, rows: int) -> bytes:
    """Return the values `prefix + str(row)` for `rows` rows (1 to `PAGE_ROWS`) from `start`.

    `prefix` is ASCII, at most 60 characters.
    """
    common = _common_page(start, len(prefix))
    return b"".join(
        [
            common.prefixes.cut(rows),
            common.suffixes.cut(rows),
            f"{prefix}{start}".encode(),
            common.tail[: common.ends[rows - 1]],
        ]
    )


@dataclass(frozen=True, slots=True)
class _CommonPage:
    """A full page without its first value; `ends` are the bytes of `tail` up to each row."""

    prefixes: PackedNumbers
    suffixes: PackedNumbers
    tail: bytes
    ends: np.ndarray


@lru_cache(maxsize=_PAGES_KEPT)
def _common_page(start: int, prefix_length: int) -> _CommonPage:
    """Return the common part of pages whose rows start at `start`; about 800 KB."""
    rows = np.arange(start, start + PAGE_ROWS)
    digits = np.ones(PAGE_ROWS, np.uint8)
    suffixes = np.ones(PAGE_ROWS, np.uint8)
    power = 10
    while power <= rows[-1]:
        digits += rows >= power
        suffixes += (rows % power == 0) & (rows > 0)
        power *= 10
    suffixes[0] = prefix_length + digits[0]
    prefixes = prefix_length + digits - suffixes
    return _CommonPage(
        PackedNumbers.of(prefixes),
        PackedNumbers.of(suffixes),
        _last_digits(rows[1:], suffixes[1:]),
        np.concatenate([[0], np.cumsum(suffixes[1:], dtype=np.uint32)]).astype(np.uint32),
    )


def _last_digits(rows: np.ndarray, lengths: np.ndarray) -> bytes:
    """Return the last digits of each row, `lengths` of them, concatenated."""
    width = int(lengths.max())
    powers = 10 ** np.arange(width - 1, -1, -1)
    digits = (rows[:, None] // powers % 10 + ord("0")).astype(np.uint8)
    chosen: np.ndarray = digits[np.arange(width) >= width - lengths[:, None].astype(np.int64)]
    return chosen.tobytes()
