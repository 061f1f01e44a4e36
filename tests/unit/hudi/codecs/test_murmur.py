"""The hash of whole columns against the same hash written key by key."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from framework.hudi.codecs import murmur
from framework.hudi.codecs.murmur import BLOCK_KEYS, key_hashes, key_words

M, MASK = 0x5BD1E995, 0xFFFFFFFF


def _signed(byte: int) -> int:
    return byte - 256 if byte > 127 else byte


def _murmur(data: bytes, seed: int) -> int:
    """Hash one key the slow way, after the format sheet's section 3.4."""
    size = len(data)
    h = (seed ^ size) & MASK
    for i in range(size // 4):
        k = int.from_bytes(data[4 * i : 4 * i + 4], "little") * M & MASK
        k ^= k >> 24
        h = (h * M & MASK) ^ (k * M & MASK)
    left = size % 4
    for place in range(left, 0, -1):
        h ^= (_signed(data[size - place]) << (8 * (place - 1))) & MASK
    if left:
        h = h * M & MASK
    h ^= h >> 13
    h = h * M & MASK
    return h ^ h >> 15


def _expected(keys: list[bytes]) -> list[int]:
    return [_murmur(k, 0) << 32 | _murmur(k, _murmur(k, 0)) for k in keys]


def _bytes_of(column: pa.Array | pa.ChunkedArray) -> list[bytes]:
    return [k.encode() if isinstance(k, str) else k for k in column.to_pylist()]


@pytest.mark.property
@given(st.lists(st.binary(max_size=90), max_size=60))
def test_key_hashes_of_any_bytes_follow_the_reference(keys: list[bytes]) -> None:
    """Keys of any lengths, in any mixture, hash as if taken one by one."""
    assert key_hashes(pa.array(keys, pa.binary())).tolist() == _expected(keys)


@pytest.mark.property
@given(
    st.lists(st.text(max_size=20), min_size=1, max_size=40), st.integers(0, 39), st.integers(1, 40)
)
def test_key_hashes_of_slices_and_chunks_follow_the_reference(
    keys: list[str], start: int, size: int
) -> None:
    """Slices, chunks, and both widths of offsets change nothing."""
    for kind in (pa.string(), pa.large_string()):
        part = pa.array(keys, kind)[start : start + size]
        chunked = pa.chunked_array([part, part[1:], part[:0]], kind)
        for column in (part, chunked):
            assert key_hashes(column).tolist() == _expected(_bytes_of(column))


def test_key_hashes_of_keys_without_bytes_are_those_of_length_zero() -> None:
    """Columns of empty keys have no data buffer to look at."""
    assert key_hashes(pa.array(["", ""])).tolist() == _expected([b"", b""])
    assert key_hashes(pa.array([], pa.string())).tolist() == []


def test_key_hashes_over_several_blocks_keep_the_order_of_the_column() -> None:
    """A column longer than a block, with few and with many lengths, stays in its order."""
    few = [str(n) for n in range(2 * BLOCK_KEYS + 5)]
    many = ["x" * (n * 7919 % 301) + str(n) for n in range(5_000)]
    for keys in (few, many):
        hashes = key_hashes(pa.array(keys))
        picked = range(0, len(keys), 997)
        assert [int(hashes[n]) for n in picked] == _expected([keys[n].encode() for n in picked])


def test_key_words_of_one_giant_key_do_not_widen_the_others() -> None:
    """One key of 300 KB beside thousands of short ones costs a small block of its own."""
    keys = [b"k%d" % n for n in range(3_000)]
    keys[1_500] = bytes(300_000)
    column = pa.array(keys, pa.binary())
    blocks = [len(block) for block in key_words(column)]
    assert blocks[0] < 5
    assert sum(blocks) == 3_000
    assert key_hashes(column).tolist() == _expected(keys)


def test_key_words_beyond_sixteen_bits_of_widths_are_still_ordered() -> None:
    """Word counts that need 32 bits take the general sort."""
    keys = [b"a" * 300_000, b"b", b"c" * 500]
    assert key_hashes(pa.array(keys, pa.binary())).tolist() == _expected(keys)


@pytest.mark.parametrize("column", [pa.array(["a", None]), pa.array([1, 2])], ids=["null", "int"])
def test_key_words_of_nulls_or_numbers_are_refused(column: pa.Array) -> None:
    """A null has no hash, and a number is no key text."""
    with pytest.raises(ValueError, match=r"null keys|text or bytes"):
        next(key_words(column))


def test_block_memory_is_bounded_whatever_the_column() -> None:
    """No block holds more keys than the constant says."""
    column = pa.array(np.arange(3 * BLOCK_KEYS).astype(str))
    assert max(len(block) for block in murmur.key_words(column)) <= BLOCK_KEYS
