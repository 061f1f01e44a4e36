"""Apache Hudi's MurmurHash over whole columns of keys, in numpy without a loop per key.

The hash is Hadoop's "MurmurHash type 1" (format sheet, section 3.4): MurmurHash2 of 32 bits whose
tail is taken from the end of the key, last byte lowest, each byte *sign-extended*; so keys with
bytes above 0x7F do not follow the reference MurmurHash2. Bloom filters chain it: the result of one
round is the seed of the next.

A round multiplies and xors the seed through the key's 32-bit words. The part that depends on the
words alone (`k *= M; k ^= k >>> 24; k *= M`) is computed once and reused in every round. Keys are
sorted by their number of words, longest first, and split into blocks that fit the processor's
cache. Inside a block, word j affects a *prefix* of the keys, so keys of many lengths share one
numpy call:

    words of the keys, longest first     calls of one round
    k0  w w w w                          h[:4] = h[:4] * M ^ w0
    k1  w w w                            h[:4] = h[:4] * M ^ w1
    k2  w w w                            h[:3] = h[:3] * M ^ w2
    k3  w w                              h[:1] = h[:1] * M ^ w3

The tail needs no prefix: keys without one xor 0 and multiply by 1.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import pairwise
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa

__all__ = ["BLOCK_KEYS", "KeyColumn", "KeyWords", "key_hashes", "key_words"]

KeyColumn: TypeAlias = "pa.Array | pa.ChunkedArray"

_M = np.uint32(0x5BD1E995)
_SHIFT_8, _SHIFT_13, _SHIFT_15 = np.uint32(8), np.uint32(13), np.uint32(15)
_SHIFT_24 = np.uint32(24)
_WORD_BYTES = 4
# The words of a block, at most one megabyte, stay in a second-level cache beside the seeds.
_BLOCK_WORDS = 256 * 1024
BLOCK_KEYS = 32 * 1024
_DISTINCT_BY_SCAN = 12
_OFFSET_TYPES: Mapping[Any, np.dtype[np.signedinteger[Any]]] = {
    pa.string(): np.dtype("<i4"),
    pa.binary(): np.dtype("<i4"),
    pa.large_string(): np.dtype("<i8"),
    pa.large_binary(): np.dtype("<i8"),
}


class KeyWords:
    """The premixed words of one block of keys, ready for any number of rounds.

    Valid until the next block is produced, which reuses the memory.

    Attributes:
        places: positions of the block's keys in the column, as a slice or an index array.
        seeds: the state of each key, uint32; zero at first, then the result of the last round.
    """

    __slots__ = ("_lengths", "_multipliers", "_scratch", "_steps", "_tails", "places", "seeds")

    def __init__(self, places: slice | np.ndarray, memory: _Memory, lengths: np.ndarray) -> None:
        count = lengths.size
        self.places = places
        self.seeds = memory.seeds[:count]
        self.seeds.fill(0)
        self._scratch = memory.scratch[:count]
        self._tails = memory.tails[:count]
        self._lengths = memory.lengths[:count]
        self._multipliers = memory.multipliers[:count]
        widths = lengths >> 2  # descending
        words = memory.words_of(int(widths[0]), count)
        prefixes = np.searchsorted(-widths, -np.arange(len(words)), side="left").tolist()
        self._steps = [(self.seeds[:n], words[j, :n]) for j, n in enumerate(prefixes)]

    def __len__(self) -> int:
        return int(self.seeds.size)

    def next_round(self) -> np.ndarray:
        """Hash every key with its current seed; return `seeds`, which now hold the result."""
        h, scratch = self.seeds, self._scratch
        multiply, xor, shift = np.multiply, np.bitwise_xor, np.right_shift
        xor(h, self._lengths, h)
        for prefix, words in self._steps:
            multiply(prefix, _M, prefix)
            xor(prefix, words, prefix)
        xor(h, self._tails, h)
        multiply(h, self._multipliers, h)
        xor(h, shift(h, _SHIFT_13, scratch), h)
        multiply(h, _M, h)
        xor(h, shift(h, _SHIFT_15, scratch), h)
        return h


class _Memory:
    """The arrays of one block, allocated once: fresh pages would cost more than the hashing."""

    def __init__(self, keys: int) -> None:
        keys = min(keys, BLOCK_KEYS)
        self.seeds = np.empty(keys, np.uint32)
        self.scratch = np.empty(keys, np.uint32)
        self.tails = np.empty(keys, np.uint32)
        self.lengths = np.empty(keys, np.uint32)
        self.multipliers = np.empty(keys, np.uint32)
        self._words = np.empty(0, np.uint32)
        self._mixing = np.empty(0, np.uint32)

    def words_of(self, width: int, count: int) -> np.ndarray:
        """Return the array for `width` words of `count` keys, one row per word."""
        if self._words.size < width * count:
            self._words = np.empty(width * count, np.uint32)
            self._mixing = np.empty(width * count, np.uint32)
        return self._words[: width * count].reshape(width, count)

    def load(self, data: np.ndarray, starts: np.ndarray, lengths: np.ndarray) -> None:
        """Mix the words and tails of the keys that start at `starts` in `data`."""
        count = lengths.size
        widths = lengths >> 2
        words = self.words_of(int(widths[0]), count)
        cuts = [0, *(np.flatnonzero(np.diff(widths)) + 1).tolist(), count]
        for a, b in pairwise(cuts):
            width = int(widths[a])
            raw = _rows(data, starts[a:b], width + 1)
            mixed = words[:width, a:b]
            shifted = self._mixing[: mixed.size].reshape(mixed.shape)
            np.multiply(raw[:, :width].T, _M, out=mixed)
            np.right_shift(mixed, _SHIFT_24, out=shifted)
            np.bitwise_xor(mixed, shifted, out=mixed)
            np.multiply(mixed, _M, out=mixed)
            self.tails[a:b] = raw[:, width]
        self.lengths[:count] = lengths
        lengths = self.lengths[:count] & np.uint32(3)
        self.tails[:count] = _signed_tails(self.tails[:count], lengths)
        self.multipliers[:count] = np.where(lengths, _M, np.uint32(1))


def key_hashes(keys: KeyColumn) -> np.ndarray:
    """Return one uint64 per key: the first round's hash in the high half, the second's in the low.

    The column's order is kept. Equal keys have equal hashes; keys of equal hashes must still be
    compared. Takes the same columns and raises the same as `key_words`.
    """
    halves = np.empty((len(keys), 2), "<u4")
    for block in key_words(keys):
        halves[block.places, 1] = block.next_round()
        halves[block.places, 0] = block.next_round()
    return halves.view("<u8").reshape(len(keys))


def key_words(keys: KeyColumn) -> Iterator[KeyWords]:
    """Yield the column in blocks of premixed words; each is valid until the next.

    Memory does not grow with the column, except for 8 bytes per key if lengths differ.

    Args:
        keys: string or binary, also large or chunked; no nulls.

    Raises:
        ValueError: a null, or another type of column.
    """
    if keys.type not in _OFFSET_TYPES:
        raise ValueError(f"keys are text or bytes, not {keys.type}")
    if keys.null_count:
        raise ValueError(f"{keys.null_count} null keys; remove them before hashing")
    memory = _Memory(len(keys))
    first = 0
    for chunk in keys.chunks if isinstance(keys, pa.ChunkedArray) else [keys]:
        if len(chunk):
            yield from _array_blocks(chunk, first, memory)
        first += len(chunk)


def _array_blocks(keys: pa.Array, first: int, memory: _Memory) -> Iterator[KeyWords]:
    """Yield the blocks of one Arrow array whose first key is at `first` in the column."""
    count = len(keys)
    _, offsets_buffer, data_buffer = keys.buffers()
    offsets = np.frombuffer(offsets_buffer, _OFFSET_TYPES[keys.type])
    offsets = offsets[keys.offset : keys.offset + count + 1]
    data = np.frombuffer(data_buffer or bytes(1), np.uint8)
    starts, lengths = offsets[:-1], np.diff(offsets)
    order = _longest_first(lengths >> 2)
    at = 0
    while at < count:
        longest = int(lengths[at if order is None else order[at]])
        stop = min(count, at + min(BLOCK_KEYS, max(1, _BLOCK_WORDS // (longest // 4 + 4))))
        chosen = slice(at, stop) if order is None else order[at:stop]
        places = slice(first + at, first + stop) if order is None else order[at:stop] + first
        memory.load(data, starts[chosen], lengths[chosen])
        yield KeyWords(places, memory, lengths[chosen])
        at = stop


def _longest_first(widths: np.ndarray) -> np.ndarray | None:
    """Return the stable order by descending width, None if all widths are equal."""
    low, high = int(widths.min()), int(widths.max())
    if low == high:
        return None
    if high - low < _DISTINCT_BY_SCAN:
        return np.concatenate([np.flatnonzero(widths == w) for w in range(high, low - 1, -1)])
    descending = high - widths
    if high - low < 1 << 16:
        descending = descending.astype(np.uint16)  # numpy sorts these by radix
    return np.argsort(descending, kind="stable")


def _rows(data: np.ndarray, starts: np.ndarray, words: int) -> np.ndarray:
    """Read `words` little-endian words from each start; words past the end are arbitrary."""
    size = words * _WORD_BYTES
    last = data.size - size
    if last < 0:
        data, last = np.concatenate([data, np.zeros(-last, np.uint8)]), 0
    raw: np.ndarray = _windows(data, size)[np.minimum(starts, last)]
    late = np.flatnonzero(starts > last)
    if late.size:
        rest = np.concatenate([data[last:], np.zeros(size, np.uint8)])
        raw[late] = _windows(rest, size)[starts[late] - last]
    return raw.view("<u4").reshape(starts.size, words)


def _windows(data: np.ndarray, size: int) -> np.ndarray:
    """View `data` as overlapping items of `size` bytes, one at each byte."""
    return np.ndarray((data.size - size + 1,), f"V{size}", data, strides=(1,))


def _signed_tails(raw: np.ndarray, present: np.ndarray) -> np.ndarray:
    """Return the value the tail xors: its bytes sign-extended, the key's last byte lowest.

    `raw` holds, lowest byte first, the `present` (0 to 3) bytes of the tail, then arbitrary ones.
    """
    # The last byte goes to the top and absent ones become zero; numpy shifts by 32 to zero.
    top = (raw << (np.uint32(32) - present * _SHIFT_8)).view(np.int32)
    last = top >> 24
    second = (top << 8) >> 24
    third = (top << 16) >> 24
    tails: np.ndarray = last ^ (second << 8) ^ (third << 16)
    return tails.view(np.uint32)
