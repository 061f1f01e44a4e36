"""Numbers in Parquet's DELTA_BINARY_PACKED, with numpy, and in a form that can be cut short.

The stream is a head (sizes, count, first value), then blocks of 128 differences: the least one,
four bit widths, and four times 32 differences above the least in as many bits. Blocks do not
depend on the count, and what a part holds past the last number is not read; so a shorter stream is
a cut of the longer one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from framework.hudi.codecs.varint import uvarint, zigzag

__all__ = ["PackedNumbers"]

_BLOCK: Final = 128
_PARTS: Final = 4
_PART: Final = _BLOCK // _PARTS
_HEAD: Final = uvarint(_BLOCK) + uvarint(_PARTS)
_ONE_BYTE: Final = 64


@dataclass(frozen=True, slots=True)
class PackedNumbers:
    """A column of numbers, packed; neighbours differ by less than 64.

    Attributes:
        first: the first number.
        blocks: all packed blocks, one after the other.
        ends: bytes of `blocks` up to and with each block.
    """

    first: int
    blocks: bytes
    ends: np.ndarray

    @classmethod
    def of(cls, values: np.ndarray) -> PackedNumbers:
        """Pack numbers, at least one."""
        blocks, ends = _pack(np.diff(values.astype(np.int64)))
        return cls(int(values[0]), blocks, ends)

    def cut(self, count: int) -> bytes:
        """Return the stream of the first `count` numbers, at least one."""
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
    """Return the blocks of differences, and the bytes up to and with each."""
    count = -(-deltas.size // _BLOCK)
    if not count:
        return b"", np.empty(0, np.int64)
    padded = np.empty(count * _BLOCK, np.int64)
    padded[: deltas.size] = deltas
    padded[deltas.size :] = deltas[-1]
    least = padded.reshape(count, _BLOCK).min(axis=1)
    above = (padded.reshape(count, _BLOCK) - least[:, None]).reshape(count * _PARTS, _PART)
    widths = _bit_lengths(above.max(axis=1))
    widths[-(-deltas.size // _PART) :] = 0  # readers take parts without numbers as absent
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
    """Return how many bits each number, from 0, takes."""
    lengths: np.ndarray = np.frexp(values.astype(np.float64))[1].astype(np.int64)
    return lengths


def _zigzag_bytes(values: np.ndarray) -> np.ndarray:
    """Return small signed numbers as the one byte that their variable-length form has."""
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
