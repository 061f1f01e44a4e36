"""HFiles: round trips, point look-ups, and files that Apache Hudi wrote."""

from __future__ import annotations

import io
import struct
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from framework.errors import CorruptFileError, UnsupportedTableError
from framework.hudi.codecs.hfile import HFileWriter
from framework.hudi.codecs.hfile_parts import (
    DATA,
    Codec,
    decode_trailer,
    decode_vlong,
    decompress,
    encode_block,
    encode_trailer,
    encode_vlong,
)
from framework.hudi.codecs.hfile_reader import HFileReader
from tests.support.codec_vectors import RELEASES, codec_vectors, unpacked

CODECS = ("gzip", "none")
keys = st.binary(min_size=0, max_size=12)
entries = st.dictionaries(keys, st.binary(max_size=200), max_size=40)


def _written(
    pairs: dict[bytes, bytes], compression: str = "gzip", block_size: int = 65_536, **info: bytes
) -> bytes:
    out = io.BytesIO()
    writer = HFileWriter(out, compression=compression, block_size=block_size)
    for key, value in sorted(pairs.items()):
        writer.append(key, value)
    writer.finish({key.encode(): value for key, value in info.items()})
    return out.getvalue()


def _reader(data: bytes) -> HFileReader:
    return HFileReader(io.BytesIO(data), file="index.hfile")


@pytest.mark.property
@given(entries, st.sampled_from(CODECS), st.sampled_from([1, 64, 65_536]), keys)
def test_hfile_written_and_read_gives_the_same_entries(
    pairs: dict[bytes, bytes], compression: str, block_size: int, absent: bytes
) -> None:
    """Any entries come back, by scan and by key, whatever the size of blocks."""
    reader = _reader(_written(pairs, compression, block_size))
    assert dict(reader.scan()) == pairs
    assert [key for key, _ in reader.scan()] == sorted(pairs)
    assert all(reader.get(key) == value for key, value in pairs.items())
    assert reader.get(absent) == pairs.get(absent)
    assert reader.entries == len(pairs)


@pytest.mark.property
@given(entries, st.binary(max_size=2), st.sampled_from([1, 64]))
def test_hfile_scan_of_prefix_yields_exactly_its_keys(
    pairs: dict[bytes, bytes], prefix: bytes, block_size: int
) -> None:
    """A prefix that begins inside, between or past the blocks is found whole."""
    found = list(_reader(_written(pairs, block_size=block_size)).scan(prefix))
    assert found == sorted(item for item in pairs.items() if item[0].startswith(prefix))


@pytest.mark.parametrize("compression", CODECS)
def test_hfile_get_of_absent_keys_before_between_and_after_is_none(compression: str) -> None:
    """Point look-ups of what is not there find nothing, on block borders too."""
    pairs = {b"k%03d" % n: b"v" * n for n in range(0, 200, 2)}
    reader = _reader(_written(pairs, compression, block_size=256))
    for n in range(-1, 202):
        key = b"k%03d" % n
        assert reader.get(key) == pairs.get(key)
    assert reader.get(b"") is None
    assert reader.get(b"zzz") is None


def test_hfile_of_no_entries_can_be_read() -> None:
    """An empty file has an empty index and its file info."""
    reader = _reader(_written({}, note=b"x"))
    assert list(reader.scan()) == []
    assert reader.get(b"a") is None
    assert reader.file_info[b"note"] == b"x"
    assert reader.file_info[b"hfile.LASTKEY"] == b""


@pytest.mark.parametrize("compression", CODECS)
def test_hfile_with_keys_and_values_of_all_sizes_comes_back(compression: str) -> None:
    """Keys over 127 bytes (their index entry needs a longer number) and values over a block."""
    pairs = {bytes([n]) * (n * 130): bytes([n]) * (n * 9_000) for n in range(1, 40)}
    reader = _reader(_written(pairs, compression, block_size=20_000))
    assert dict(reader.scan()) == pairs
    assert all(reader.get(key) == value for key, value in pairs.items())


def test_hfile_file_info_holds_what_hbase_asks_for() -> None:
    """The entries without which one of the readers refuses the file (format sheet, 5.5)."""
    info = _reader(_written({b"ab": b"value", b"b": b""}, INDEX_INFO=b"i")).file_info
    assert info[b"KEY_VALUE_VERSION"] == b"\x00\x00\x00\x01"
    assert info[b"MAX_MEMSTORE_TS_KEY"] == bytes(8)
    assert info[b"hfile.AVG_KEY_LEN"] == struct.pack(">i", (14 + 13) // 2)
    assert info[b"hfile.LASTKEY"] == b"\x00\x01b\x00" + b"\x7f" + b"\xff" * 7 + b"\x04"
    assert info[b"INDEX_INFO"] == b"i"


@pytest.mark.parametrize(("first", "second"), [(b"b", b"a"), (b"a", b"a"), (b"a\xff", b"a")])
def test_hfile_writer_given_keys_out_of_order_refuses(first: bytes, second: bytes) -> None:
    """Equal keys are out of order too; bytes compare unsigned."""
    writer = HFileWriter(io.BytesIO())
    writer.append(first, b"")
    with pytest.raises(CorruptFileError) as caught:
        writer.append(second, b"")
    assert caught.value.condition == "hfile/key-order"


def test_hfile_writer_given_a_key_of_32_kib_refuses() -> None:
    """A row's length is a signed 16-bit number."""
    writer = HFileWriter(io.BytesIO())
    writer.append(b"a" * 32_767, b"")
    with pytest.raises(CorruptFileError) as caught:
        writer.append(b"b" * 32_768, b"")
    assert caught.value.condition == "hfile/key-too-long"


def test_hfile_written_twice_has_the_same_bytes() -> None:
    """No clock and no chance goes into a file."""
    pairs = {b"a": b"1", b"b": b"2" * 100}
    assert _written(pairs) == _written(pairs)


@pytest.mark.parametrize("release", RELEASES)
@pytest.mark.parametrize("half", ["partitions", "fileids"])
def test_hfile_that_hudi_wrote_can_be_read(release: str, half: str) -> None:
    """HBase's writer (0.15.0) and the native one (1.2.0), over several blocks."""
    theirs: dict[str, Any] = codec_vectors(release)["theirs"]
    reader = _reader(unpacked(theirs[half]))
    found = [key.decode() for key, _ in reader.scan()]
    if half == "partitions":
        assert found == [f"part={path}" for path in theirs["partition_paths"]]
    else:
        assert found == [f"part={path};fileid={name}" for path, name in theirs["file_groups"]]
    assert reader.entries == len(found)
    assert all(reader.get(key.encode()) for key in found)
    assert reader.get(b"part=dt=2024-01-011") is None


def test_hfile_with_a_shortened_index_key_finds_the_keys_around_it() -> None:
    """An index may name a row between two blocks (HUDI-9325); look-ups beside it stay right."""
    pairs = {b"aaa": b"1", b"ccc": b"2"}
    data = bytearray(_written(pairs, "none", block_size=1))
    trailer = decode_trailer(bytes(data[-4096:]))
    index_at = trailer.load_on_open_offset
    payload = bytes(data[index_at + 33 :])[: trailer.index_plain_size].replace(b"ccc", b"b~~")
    block = encode_block(b"IDXROOT2", payload, Codec.NONE)
    data[index_at : index_at + len(block)] = block
    reader = _reader(bytes(data))
    wanted = {b"aaa": b"1", b"b": None, b"b~~": None, b"c": None, b"ccc": b"2", b"d": None}
    assert {key: reader.get(key) for key in wanted} == wanted
    assert dict(reader.scan()) == pairs
    assert list(reader.scan(b"b")) == []


def test_hfile_with_index_keys_without_suffix_can_be_read() -> None:
    """The native writer ends an index key after the row (#19071)."""
    data = bytearray(_written({b"aa": b"1"}, "none"))
    trailer = decode_trailer(bytes(data[-4096:]))
    at = trailer.load_on_open_offset
    payload = data[at + 33 : at + 33 + 12] + b"\x04\x00\x02aa"
    parts = [bytes(data[:at]), encode_block(b"IDXROOT2", bytes(payload), Codec.NONE)]
    rest = bytes(data[at + 33 + trailer.index_plain_size + 4 : -4096])
    moved = len(b"".join(parts)) - (at + 33 + trailer.index_plain_size + 4)
    fixed = {name: getattr(trailer, name) for name in trailer.__slots__}
    fixed["file_info_offset"] += moved
    tail = encode_trailer(type(trailer)(**fixed))
    reader = _reader(b"".join([*parts, rest, tail]))
    assert reader.get(b"aa") == b"1"


@pytest.mark.parametrize(("field", "value"), [("codec", 3), ("index_levels", 2), ("codec", 0)])
def test_hfile_of_an_unknown_kind_is_refused_by_name(field: str, value: int) -> None:
    """Snappy or a second index level is a file that we cannot read, not a broken one."""
    data = _written({b"a": b"1"})
    trailer = decode_trailer(data[-4096:])
    fields = {name: getattr(trailer, name) for name in trailer.__slots__} | {field: value}
    with pytest.raises(UnsupportedTableError) as caught:
        _reader(data[:-4096] + encode_trailer(type(trailer)(**fields)))
    assert caught.value.condition == "hfile/unsupported"
    assert caught.value.where.file == "index.hfile"


@pytest.mark.property
@given(st.integers(0, 2**63 - 1), st.binary(max_size=3))
def test_vlong_encoded_and_decoded_is_the_same_number(value: int, rest: bytes) -> None:
    """Hadoop's variable-length numbers come back, with the place after them."""
    data = encode_vlong(value)
    assert decode_vlong(data + rest, 0) == (value, len(data))


@pytest.mark.parametrize("data", [b"", b"\x8f", b"\x8e\x01", b"\xff", b"\x80" + b"1" * 8])
def test_vlong_that_is_cut_or_negative_is_refused(data: bytes) -> None:
    """A length is never negative, and never beyond its bytes."""
    with pytest.raises(ValueError, match="truncated"):
        decode_vlong(data, 0)


def test_decompress_of_a_bomb_stops_at_the_promised_size() -> None:
    """Ten megabytes behind a promise of ten bytes are not unpacked."""
    block = encode_block(DATA, bytes(10_000_000), Codec.GZIP)
    with pytest.raises(ValueError, match="does not end"):
        decompress(block[33:-4], Codec.GZIP, 10)
