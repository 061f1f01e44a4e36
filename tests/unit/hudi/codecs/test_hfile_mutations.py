"""Damaged HFiles: a typed error or the right answer, never a hang or a wrong value."""

from __future__ import annotations

import io
from functools import cache

import pytest
from hypothesis import given
from hypothesis import strategies as st

from framework.errors import CorruptFileError, UnsupportedTableError
from framework.hudi.codecs.hfile import HFileWriter
from framework.hudi.codecs.hfile_parts import HEADER, Checksum, checksums
from framework.hudi.codecs.hfile_reader import HFileReader

TRAILER = 4096
PAIRS = {b"key-%02d" % n: b"value-%d" % n * (n % 4) for n in range(12)}
REFUSALS = {"hfile/corrupt", "hfile/unsupported"}


@cache
def _golden(compression: str) -> bytes:
    out = io.BytesIO()
    writer = HFileWriter(out, compression=compression, block_size=80)
    for key, value in PAIRS.items():
        writer.append(key, value)
    writer.finish({b"INDEX_INFO": b"info"})
    return out.getvalue()


def _all(data: bytes) -> dict[bytes, bytes] | None:
    """Read everything in every way; None where the file is refused."""
    try:
        reader = HFileReader(io.BytesIO(data), file="x.hfile")
        scanned = dict(reader.scan())
        assert all(reader.get(key) == value for key, value in scanned.items())
        assert reader.file_info[b"INDEX_INFO"] == b"info"
    except (CorruptFileError, UnsupportedTableError) as error:
        if error.condition not in REFUSALS or error.where.file != "x.hfile":
            raise AssertionError(error.as_json()) from error
        if error.where.offset is None:
            raise AssertionError(error.as_json()) from error
        return None
    return scanned


@pytest.mark.parametrize("compression", ["gzip", "none"])
def test_hfile_cut_at_any_length_is_refused(compression: str) -> None:
    """No prefix of a file passes for a file."""
    data = _golden(compression)
    assert _all(data) == PAIRS
    assert all(_all(data[:size]) is None for size in range(len(data)))


@pytest.mark.long
@pytest.mark.parametrize("compression", ["gzip", "none"])
def test_hfile_with_any_bit_flipped_before_the_trailer_is_refused(compression: str) -> None:
    """Checksums cover headers and payloads, and there is nothing between the blocks."""
    data = _golden(compression)
    for place in range((len(data) - TRAILER) * 8):
        damaged = bytearray(data)
        damaged[place // 8] ^= 1 << place % 8
        # A flipped checksum type is found too: all blocks of a file have the same.
        assert _all(bytes(damaged)) is None


@pytest.mark.parametrize("compression", ["gzip", "none"])
def test_hfile_with_any_bit_of_the_trailer_flipped_is_refused_or_right(compression: str) -> None:
    """No checksum covers the trailer; what it says is held against the rest."""
    data = _golden(compression)
    used = len(data[-TRAILER:].rstrip(b"\x03\x00")) + 40
    for place in [*range(used * 8), *range((TRAILER - 8) * 8, TRAILER * 8)]:
        damaged = bytearray(data)
        damaged[len(data) - TRAILER + place // 8] ^= 1 << place % 8
        assert _all(bytes(damaged)) in (None, PAIRS)


@pytest.mark.property
@given(st.data())
def test_hfile_with_bytes_replaced_inserted_or_removed_is_refused_or_right(
    data: st.DataObject,
) -> None:
    """Wilder damage than a flipped bit changes nothing about the promise."""
    golden = _golden(data.draw(st.sampled_from(["gzip", "none"])))
    at = data.draw(st.integers(0, len(golden)))
    gone = data.draw(st.integers(0, 40))
    put = data.draw(st.binary(max_size=40))
    assert _all(golden[:at] + put + golden[at + gone :]) in (None, PAIRS)


@pytest.mark.property
@given(st.binary(max_size=300))
def test_hfile_of_any_bytes_is_refused(noise: bytes) -> None:
    """Noise, with and without a golden trailer behind it, is no file."""
    assert _all(noise) is None
    assert _all(noise + _golden("gzip")[-TRAILER:]) is None


def _recovered(kind: Checksum, per: int) -> bytes:
    """Return the golden file with its blocks covered in another way."""
    data = bytearray(_golden("none"))
    at = 0
    while at < len(data) - TRAILER:
        magic, after, size, previous, _, _, covered = HEADER.unpack_from(data, at)
        HEADER.pack_into(data, at, magic, after, size, previous, kind, per, covered)
        body = bytes(data[at : at + covered])
        end = at + HEADER.size + after
        none = bytes(end - at - covered)
        data[at + covered : end] = none if kind is Checksum.NONE else checksums(body, kind, per)
        at = end
    return bytes(data)


@pytest.mark.parametrize("per", [16_384, 0])
def test_hfile_without_checksums_is_read_and_its_sizes_are_checked(per: int) -> None:
    """Hudi's native writer leaves zeros for checksums, with type 0 (#13932: also 0 bytes each)."""
    data = _recovered(Checksum.NONE, per)
    assert _all(data) == PAIRS
    assert all(_all(data[:cut]) is None for cut in range(0, len(data), 37))


def test_hfile_with_crc32_is_verified_too() -> None:
    """The older checksum of HBase counts as much as CRC32C."""
    data = _recovered(Checksum.CRC32, 16_384)
    assert _all(data) == PAIRS
    damaged = data.replace(b"value-5", b"value-6", 1)
    assert _all(damaged) is None


def test_hfile_with_checksums_of_no_bytes_is_refused() -> None:
    """Zero bytes per checksum under a checksum type is damage, not an endless loop."""
    data = bytearray(_golden("none"))
    data[25:29] = bytes(4)
    assert _all(bytes(data)) is None


@pytest.mark.long
def test_hfile_without_checksums_and_with_any_bit_flipped_raises_only_the_typed_error() -> None:
    """Where nothing covers the bytes a value may be wrong, but lengths never lead astray."""
    data = _recovered(Checksum.NONE, 0)
    refused = 0
    for place in range((len(data) - TRAILER) * 8):
        damaged = bytearray(data)
        damaged[place // 8] ^= 1 << place % 8
        try:
            reader = HFileReader(io.BytesIO(bytes(damaged)))
            for key in (b"", b"key-05", *dict(reader.scan())):
                reader.get(key)
        except (CorruptFileError, UnsupportedTableError):
            refused += 1
    assert refused > 1_000
