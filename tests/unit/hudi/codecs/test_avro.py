"""Single-record Avro containers, against fastavro's own reader and against damage."""

from __future__ import annotations

import io
import json
from typing import Any
from zlib import crc32

import fastavro
import pytest
from hypothesis import given
from hypothesis import strategies as st

from framework.errors import CorruptFileError, Where
from framework.hudi.codecs.avro import ContainerFormat, read_container, write_container
from framework.hudi.codecs.varint import zigzag

SCHEMA: dict[str, Any] = {
    "type": "record",
    "name": "Sample",
    "namespace": "org.example",
    "fields": [
        {"name": "version", "type": ["int", "null"], "default": 1},
        {"name": "text", "type": ["null", {"type": "string", "avro.java.string": "String"}]},
        {"name": "numbers", "type": {"type": "array", "items": "long"}},
        {
            "name": "inner",
            "type": {
                "type": "map",
                "values": {
                    "type": "record",
                    "name": "Inner",
                    "fields": [{"name": "flag", "type": "boolean"}],
                },
            },
        },
        {"name": "other", "type": ["null", "Inner"]},
    ],
}
longs = st.integers(-(2**63), 2**63 - 1)
inners = st.fixed_dictionaries({"flag": st.booleans()})
records = st.fixed_dictionaries(
    {
        "version": st.none() | st.integers(-(2**31), 2**31 - 1),
        "text": st.none() | st.text(max_size=30),
        "numbers": st.lists(longs, max_size=5),
        "inner": st.dictionaries(st.text(max_size=5), inners, max_size=3),
        "other": st.none() | inners,
    }
)
SAMPLE = {
    "version": 1,
    "text": "é",
    "numbers": [1, -1],
    "inner": {"a": {"flag": True}},
    "other": None,
}


def _condition(data: bytes) -> str:
    with pytest.raises(CorruptFileError) as caught:
        read_container(data, where=Where(file="plan.avro"))
    assert caught.value.where.file == "plan.avro"
    return caught.value.condition


def _with_schema(schema: Any, datum: bytes = b"\x00", codec: bytes = b"null") -> bytes:
    """Return a container by hand, whatever its schema says."""
    text = schema if isinstance(schema, bytes) else json.dumps(schema).encode()
    pairs = [(b"avro.schema", text), (b"avro.codec", codec)]
    sized = b"".join(zigzag(len(part)) + part for pair in pairs for part in pair)
    head = b"Obj\x01" + zigzag(2) + sized + zigzag(0) + b"s" * 16
    return head + zigzag(1) + zigzag(len(datum)) + datum + b"s" * 16


@pytest.mark.property
@given(records)
def test_container_written_and_read_is_the_same_record(record: dict[str, Any]) -> None:
    """Our reader and fastavro's both give the record back."""
    data = write_container(SCHEMA, record)
    assert read_container(data) == record
    assert list(fastavro.reader(io.BytesIO(data))) == [record]


@pytest.mark.property
@given(records)
def test_container_written_by_fastavro_is_read(record: dict[str, Any]) -> None:
    """Metadata blocks with sizes and other marks are as good as ours."""
    out = io.BytesIO()
    fastavro.writer(out, SCHEMA, [record], metadata={"by": "fastavro"})
    assert read_container(out.getvalue()) == record


def test_container_format_writes_equal_records_as_equal_bytes() -> None:
    """The mark between blocks is a function of the schema, not of chance."""
    assert ContainerFormat(SCHEMA).write(SAMPLE) == write_container(SCHEMA, SAMPLE)


def test_container_cut_at_any_length_is_refused() -> None:
    """No prefix of a container passes for a container; neither does a longer one."""
    data = write_container(SCHEMA, SAMPLE)
    assert {_condition(data[:size]) for size in range(len(data))} == {"avro/corrupt"}
    assert _condition(data + b"\x00") == "avro/corrupt"


def test_container_with_any_bit_flipped_is_refused_or_read() -> None:
    """Nothing covers the bytes, but only the typed error comes out, and it comes at once."""
    data = write_container(SCHEMA, SAMPLE)
    for place in range(len(data) * 8):
        damaged = bytearray(data)
        damaged[place // 8] ^= 1 << place % 8
        try:
            assert isinstance(read_container(bytes(damaged)), dict)
        except CorruptFileError as error:
            if error.condition not in {"avro/corrupt", "avro/codec"}:
                raise


@pytest.mark.property
@given(st.binary(max_size=60))
def test_container_with_any_datum_is_refused_or_read(datum: bytes) -> None:
    """Counts of 2^60, branches that do not exist, texts that are not UTF-8: one typed error."""
    try:
        assert isinstance(read_container(_with_schema(SCHEMA, datum)), dict)
    except CorruptFileError as error:
        if error.condition != "avro/corrupt":
            raise


@pytest.mark.parametrize(
    "schema",
    [
        b"{" * 100_000,
        b"[" * 900_000,
        b'"' + b"x" * 2_000_000 + b'"',
        b"{}",
        b"[]",
        b"null",
        b"3",
        b"\xff",
        b'{"type": "record", "name": "R"}',
        b'{"type": "record", "name": "R", "fields": [3]}',
        b'{"type": "record", "name": "R", "fields": [{"name": "x"}]}',
        b'{"type": "record", "name": "R", "fields": [{"name": "x", "type": "Unknown"}]}',
        b'{"type": "record", "name": "R", "fields": [{"name": "x", "type": ["null", "R"]}]}',
        b'{"type": "record", "name": "R", "fields": [{"type": "int"}]}',
        b'{"type": "record", "fields": [{"name": "x", "type": "int"}]}',
        b'{"type": "array", "items": "null"}',
        b'{"type": "array", "items": {"type": "record", "name": "E", "fields": []}}',
        b'{"type": "array", "items": {"type": "fixed", "name": "F", "size": 0}}',
        b'{"type": "fixed", "name": "F", "size": 1000000000000}',
        b'{"type": "fixed", "name": "F", "size": "big"}',
        b'{"type": "enum", "name": "N", "symbols": []}',
        b'{"type": {"type": {"type": "int"}}}',
        b'{"type": "int"}',
    ],
    ids=lambda schema: schema[:40].decode("latin-1") + f" {crc32(schema)}",
)
def test_container_with_a_hostile_or_wrong_schema_is_refused(schema: bytes) -> None:
    """Deep, recursive, giant, empty or simply wrong schemas; a record is asked for."""
    assert _condition(_with_schema(schema, zigzag(2**60) + bytes(8))) == "avro/corrupt"


def test_container_whose_schema_defines_a_type_twice_is_refused() -> None:
    """A second definition could hide that the first is inside itself."""
    inner = {"type": "record", "name": "I", "fields": [{"name": "x", "type": "int"}]}
    fields = [{"name": "a", "type": inner}, {"name": "b", "type": inner}]
    assert _condition(_with_schema({"type": "record", "name": "R", "fields": fields})) == (
        "avro/corrupt"
    )


def test_container_with_another_codec_is_refused_by_name() -> None:
    """A codec that we do not read is said to be one."""
    assert _condition(_with_schema(SCHEMA, codec=b"zstandard")) == "avro/codec"


@pytest.mark.parametrize("count", [0, 2, 2**60, -1])
def test_container_with_another_number_of_records_is_refused(count: int) -> None:
    """A container of Hudi's metadata has one record."""
    data = write_container(SCHEMA, SAMPLE)
    size = len(data) - data.rindex(data[-16:], 0, -16) - 16 - 16
    head = data[: len(data) - 16 - size]
    assert _condition(head + zigzag(count) + data[len(head) + 1 :]) == "avro/corrupt"
