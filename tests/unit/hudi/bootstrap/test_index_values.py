"""The values of the bootstrap index: their encoding by hand follows their schemas."""

from __future__ import annotations

import io
from typing import Any

import fastavro
import pytest
from hypothesis import given
from hypothesis import strategies as st

from framework.errors import CorruptFileError, Where
from framework.hudi.bootstrap.index import FileMapping, IndexGroup
from framework.hudi.bootstrap.index_values import (
    decode_partition,
    encode_file_values,
    encode_partition,
)
from tests.support.bootstrap_index import a_group


@pytest.mark.property
@given(
    st.text(max_size=8),
    st.lists(
        st.builds(
            FileMapping,
            file_id=st.uuids().map(str),
            uri=st.text(max_size=300),
            size=st.integers(0, 2**62),
            mtime_ms=st.integers(-(2**40), 2**50),
        ),
        max_size=4,
        unique_by=lambda file: file.file_id,
    ),
)
def test_index_values_encoded_by_hand_are_what_fastavro_reads(
    partition: str, files: list[FileMapping]
) -> None:
    """The hand-written encoding follows its schema."""
    group = IndexGroup(partition_path=partition, source_partition=f"s/{partition}", files=files)
    (record,) = fastavro.reader(io.BytesIO(encode_partition(group)))
    wanted = {file.file_id: _status(file) for file in files}
    assert record == {
        "version": 1,
        "bootstrapPartitionPath": f"s/{partition}",
        "partitionPath": partition,
        "fileIdToBootstrapFile": wanted,
    }
    for file, value in zip(files, encode_file_values(group), strict=True):
        (record,) = fastavro.reader(io.BytesIO(value))
        assert record == {
            "version": 1,
            "bootstrapPartitionPath": f"s/{partition}",
            "bootstrapFileStatus": wanted[file.file_id],
            "partitionPath": partition,
        }


def _status(file: FileMapping) -> dict[str, Any]:
    return {
        "version": 1,
        "path": {"version": 1, "uri": file.uri},
        "length": file.size,
        "isDir": False,
        "blockReplication": 1,
        "blockSize": 134_217_728,
        "modificationTime": file.mtime_ms,
        "accessTime": file.mtime_ms,
        "permission": None,
        "owner": None,
        "group": None,
        "symlink": None,
    }


def _read(value: bytes) -> dict[str, FileMapping] | str:
    """Return what a partition's value says, or why it says nothing."""
    try:
        return decode_partition(value, Where())
    except CorruptFileError as error:
        return error.condition


@given(st.integers(1, 3), st.data())
def test_value_of_ours_is_read_as_by_its_schema_even_where_it_is_damaged(
    files: int, data: st.DataObject
) -> None:
    """The short way reads what it wrote and nothing else; a marker that is not ours is the long."""
    value = bytearray(encode_partition(a_group("p=é", files=files)))
    marker = bytes(value[-16:])
    begin = bytes(value).index(marker) + len(marker) + 1
    for _ in range(data.draw(st.integers(0, 2))):
        at = data.draw(st.integers(begin, len(value) - 17))
        value[at] = data.draw(st.integers(0, 255))
    if data.draw(st.booleans()):
        del value[data.draw(st.integers(begin, len(value) - 16)) : -16]
    assert _read(bytes(value)) == _read(bytes(value).replace(marker, bytes(16)))


def test_value_without_a_record_between_its_markers_is_corrupt() -> None:
    """Nothing is left but what every value has; the marker does not read as a length."""
    value = encode_partition(a_group("p=1"))
    head = value[: value.index(value[-16:]) + 17]
    for rest in (value[-16:], b"\xff" * 10 + value[-16:]):
        assert _read(head + rest) == "avro/corrupt"
