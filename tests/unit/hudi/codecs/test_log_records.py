"""Contents of delete and data blocks."""

from __future__ import annotations

import io
import json
import struct
from collections.abc import Callable
from typing import Any

import fastavro
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from framework.errors import CorruptFileError, UnsupportedTableError
from framework.hudi.codecs.log_format import HeaderKey, read_blocks, read_content
from framework.hudi.codecs.log_records import (
    DeletedRecord,
    decode_deletes,
    decode_records,
    encode_deletes,
)
from tests.golden.tables.opening import golden_names, open_golden

SCHEMA = {
    "type": "record",
    "name": "row",
    "fields": [
        {"name": "_hoodie_record_key", "type": ["null", "string"]},
        {"name": "n", "type": ["null", "long"]},
    ],
}
REFUSALS = ("log/content", "log/data-version", "log/delete-version")
ROWS = st.lists(
    st.fixed_dictionaries(
        {
            "_hoodie_record_key": st.none() | st.text(max_size=8),
            "n": st.none() | st.integers(-(1 << 63), (1 << 63) - 1),
        }
    ),
    max_size=5,
)


def data_content(rows: list[dict[str, Any]], version: int = 3) -> bytes:
    """Return the content of a data block as Apache Hudi lays it out."""
    parts = [struct.pack(">ii", version, len(rows))]
    for row in rows:
        out = io.BytesIO()
        fastavro.schemaless_writer(out, fastavro.parse_schema(SCHEMA), row)
        parts += (struct.pack(">i", len(out.getvalue())), out.getvalue())
    return b"".join(parts)


def decode_rows(content: bytes) -> list[dict[str, Any]]:
    """Return the records of a data block of `SCHEMA`."""
    return list(decode_records(content, json.dumps(SCHEMA)))


def refusal_of(decode: Callable[[bytes], object], content: bytes) -> str:
    """Return the condition under which a content is refused, "" if it is not."""
    try:
        decode(content)
    except (CorruptFileError, UnsupportedTableError) as error:
        return error.condition
    return ""


@given(st.lists(st.tuples(st.text(max_size=12), st.text(max_size=12)), max_size=6))
def test_deletes_are_read_back_and_always_delete(pairs: list[tuple[str, str]]) -> None:
    """Keys and partitions survive; the ordering value is the one that every release obeys."""
    found = decode_deletes(encode_deletes(pairs))
    assert [(each.record_key, each.partition_path) for each in found] == pairs
    assert all(each.is_unconditional for each in found)


def test_deletes_are_encoded_as_version_3() -> None:
    """Branch 2 of the ordering value with the number 0: `04 00`."""
    assert encode_deletes([("id:1", "p=1")]) == bytes.fromhex(
        "00000003 0000000f 02 02 08 69643a31 02 06 703d31 0400 00 4c4b4352 a44c0503"
    )


def test_deletes_without_a_checksum_are_read() -> None:
    """Apache Hudi writes none."""
    content = encode_deletes([("id:1", "p=1")])
    assert decode_deletes(content[:-8]) == decode_deletes(content)


def test_deletes_with_a_turned_bit_are_refused_or_the_same() -> None:
    """Whichever bit it is; without the checksum, a key would be another one."""
    content = encode_deletes([("id:1", "p=1"), ("id:2", "p=1")])
    refused = 0
    for bit in range(8 * len(content)):
        damaged = bytearray(content)
        damaged[bit // 8] ^= 1 << bit % 8
        if refusal_of(decode_deletes, bytes(damaged)):
            refused += 1
        else:
            assert decode_deletes(bytes(damaged)) == decode_deletes(content), bit
    assert refused >= 8 * len(content) - 1  # the datum may take in the checksum


def test_delete_with_an_ordering_value_says_which() -> None:
    """Branch 3 is a long; such a delete yields to a row that is newer."""
    content = bytes.fromhex("00000003 00000008 02 02 02 61 00 06 0e 00")
    assert decode_deletes(content) == (
        DeletedRecord(record_key="a", partition_path=None, wrapper="LongWrapper", ordering=7),
    )
    assert not decode_deletes(content)[0].is_unconditional


@given(ROWS)
def test_records_of_a_data_block_are_read_in_order(rows: list[dict[str, Any]]) -> None:
    """By the schema of the header."""
    assert decode_rows(data_content(rows)) == rows


@pytest.mark.parametrize("name", [n for n in golden_names() if n.startswith("written-merge")])
def test_records_of_apache_hudi_are_read(name: str) -> None:
    """The newer versions of two rows, meta columns included."""
    (path,) = (p for p in open_golden(name).location.rglob(".*.log.*") if p.suffix != ".crc")
    source = pa.OSFile(str(path))
    (block,) = read_blocks(source)
    rows = list(decode_records(read_content(source, block), block.header[HeaderKey.SCHEMA]))
    assert {(row["_hoodie_record_key"], row["v"], row["n"]) for row in rows} == {
        ("id:4,part:0", "v4-of-4", 44),
        ("id:5,part:1", "v5-of-4", 45),
    }
    assert {row["_hoodie_commit_time"] for row in rows} == {block.header[HeaderKey.INSTANT_TIME]}


def test_contents_of_old_releases_are_refused_by_version() -> None:
    """They are serialized Java objects."""
    with pytest.raises(UnsupportedTableError, match="version 2") as caught:
        decode_deletes(struct.pack(">ii", 2, 0))
    assert caught.value.condition == "log/delete-version"
    with pytest.raises(UnsupportedTableError) as caught:
        decode_rows(data_content([], version=1))
    assert caught.value.condition == "log/data-version"


@given(st.data())
def test_damaged_contents_are_typed_errors_or_other_values(data: st.DataObject) -> None:
    """No byte that changes, and no cut, brings out anything else."""
    rows = [{"_hoodie_record_key": "k", "n": 5}] * 2
    for content in (encode_deletes([("a", "b")] * 2), data_content(rows)):
        damaged = bytearray(content)
        at = data.draw(st.integers(0, len(damaged) - 1))
        damaged[at] ^= data.draw(st.integers(1, 255))
        cut = bytes(damaged[: data.draw(st.integers(0, len(damaged)))])
        for each in (bytes(damaged), cut):
            for decode in (decode_deletes, decode_rows):
                assert refusal_of(decode, each) in {"", *REFUSALS}


def test_schema_that_is_no_schema_is_refused() -> None:
    """The header is as much part of the file as the content."""
    with pytest.raises(CorruptFileError, match="schema"):
        list(decode_records(data_content([]), "{"))
