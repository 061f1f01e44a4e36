"""Blocks of log files: whole, torn, foreign and damaged."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from framework.errors import CorruptFileError, Where
from framework.hudi.codecs.log_format import (
    BlockKind,
    HeaderKey,
    LogBlock,
    encode_block,
    read_blocks,
    read_content,
)
from tests.golden.tables.opening import golden_names, open_golden

MAGIC = b"#HUDI#"
KINDS = st.sampled_from([kind for kind in BlockKind if kind is not BlockKind.CORRUPT])
HEADERS = st.dictionaries(st.sampled_from(HeaderKey), st.text(max_size=20), max_size=4)
BLOCKS = st.tuples(KINDS, HEADERS, st.binary(max_size=64))

Read = tuple[BlockKind, dict[Any, str], bytes]


def read_all(data: bytes) -> list[Read]:
    """Return kind, header and content of each block."""
    source = pa.BufferReader(data)
    found = read_blocks(source, where=Where(file="x.log"))
    return [(b.kind, dict(b.header), read_content(source, b)) for b in found]


def refusal_of(data: bytes) -> CorruptFileError | None:
    """Return the error with which a file is refused, None if it is not."""
    try:
        read_all(data)
    except CorruptFileError as error:
        return error
    return None


@given(st.lists(BLOCKS, max_size=5))
def test_blocks_that_are_written_one_after_the_other_are_read_back(blocks: list[Read]) -> None:
    """Kind, header and content survive, whatever bytes the content has, a magic too."""
    data = b"".join(encode_block(kind, header, content) for kind, header, content in blocks)
    assert read_all(data) == blocks


@given(BLOCKS, st.data())
def test_torn_tail_is_skipped_and_hides_no_block_before_it(
    block: Read, data: st.DataObject
) -> None:
    """A writer that died inside its append costs its own block and no other."""
    whole = encode_block(*block)
    torn = whole[: data.draw(st.integers(1, len(whole) - 1))]
    found = read_all(whole + torn)
    assert found[0] == block
    assert {kind for kind, _, _ in found[1:]} == {BlockKind.CORRUPT}
    assert b"".join(content for _, _, content in found[1:]) == torn


@given(BLOCKS, st.binary(min_size=1, max_size=40).filter(lambda data: MAGIC[:1] not in data))
def test_block_behind_a_foreign_stretch_is_found(block: Read, stretch: bytes) -> None:
    """Reading continues at the next magic."""
    found = read_all(stretch + encode_block(*block))
    assert found == [(BlockKind.CORRUPT, {}, stretch), block]


def test_block_before_a_long_foreign_stretch_counts_as_torn() -> None:
    """As in Apache Hudi, a block ends where another begins or the file ends."""
    block = encode_block(BlockKind.DELETE, {}, b"x")
    found = read_all(block + b"\0" * 3_000_000 + block)
    assert [kind for kind, _, _ in found] == [BlockKind.CORRUPT, BlockKind.DELETE]


@given(BLOCKS, st.data())
def test_damaged_block_is_refused_or_read_as_something_whole(
    block: Read, data: st.DataObject
) -> None:
    """Whatever byte changes, reading ends with blocks or a typed error that names the offset."""
    damaged = bytearray(encode_block(*block) * 2)
    at = data.draw(st.integers(0, len(damaged) - 1))
    damaged[at] ^= data.draw(st.integers(1, 255))
    error = refusal_of(bytes(damaged))
    if error is not None:
        assert (error.condition, error.where.file) == ("log/block", "x.log")
        assert error.where.offset is not None


def test_later_header_entries_stay_numbers() -> None:
    """A release that adds names does not shut us out."""
    block = bytearray(encode_block(BlockKind.DELETE, {HeaderKey.IS_PARTIAL: "t"}, b""))
    place = block.index(b"\x00\x00\x00\x07\x00\x00\x00\x01t")
    block[place + 3] = 77
    assert read_all(bytes(block)) == [(BlockKind.DELETE, {77: "t"}, b"")]


@pytest.mark.parametrize("name", [n for n in golden_names() if n.startswith("written-merge")])
def test_log_file_of_apache_hudi_is_one_data_block(name: str) -> None:
    """Its length fields are those that we would write, and nothing is left over."""
    golden = open_golden(name)
    (path,) = (p for p in golden.location.rglob(".*.log.*") if p.suffix != ".crc")
    data = path.read_bytes()
    (block,) = read_blocks(pa.BufferReader(data))
    assert block.kind is BlockKind.AVRO_DATA
    assert set(block.header) == {HeaderKey.INSTANT_TIME, HeaderKey.SCHEMA}
    header = {HeaderKey(key): text for key, text in block.header.items()}
    ours = encode_block(block.kind, header, data[block.start : block.start + block.size])
    assert len(ours) == len(data)
    assert ours[-8:] == data[-8:]
    assert read_all(ours) == read_all(data)


def test_content_is_not_read_with_the_blocks() -> None:
    """A log file of a gigabyte costs its headers."""
    data = encode_block(BlockKind.PARQUET_DATA, {}, b"p" * 1000)
    (block,) = read_blocks(pa.BufferReader(data))
    assert block == LogBlock(kind=BlockKind.PARQUET_DATA, start=block.start, size=1000)
    assert data[block.start :][:1000] == b"p" * 1000
