"""Footers that can be read, and each way in which they cannot."""

from __future__ import annotations

import hashlib

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from framework.errors import CorruptFileError
from framework.hudi.bootstrap.fingerprint import Fingerprint, Footer, read_footer


def a_file(rows: int = 10, row_group_size: int = 4, **metadata: str) -> bytes:
    """Return a Parquet file's bytes."""
    sink = pa.BufferOutputStream()
    table = pa.table({"a": range(rows)}).replace_schema_metadata(metadata)
    pq.write_table(table, sink, row_group_size=row_group_size)
    return bytes(sink.getvalue().to_pybytes())


def footer_of(data: bytes) -> Footer:
    """Read the footer of bytes."""
    return read_footer(pa.BufferReader(data), len(data), "/source/f.parquet")


def test_read_footer_whole_file_gives_length_hash_and_row_groups() -> None:
    """The hash is of the Thrift structure alone."""
    data = a_file()
    footer = footer_of(data)
    length = int.from_bytes(data[-8:-4], "little")
    assert footer.length == length
    assert footer.sha256 == hashlib.sha256(data[-8 - length : -8]).hexdigest()
    assert footer.row_groups == (4, 4, 2)


def test_read_footer_larger_than_first_read_is_read_again() -> None:
    """A footer above 64 KiB costs one more read and is the same."""
    data = a_file(filler="x" * 100_000)
    assert footer_of(data).length > 65536
    assert footer_of(data).metadata.num_rows == 10


def test_read_footer_without_rows_has_no_row_groups() -> None:
    """A file without rows is a file."""
    assert footer_of(a_file(rows=0)).row_groups in {(), (0,)}


@pytest.mark.parametrize(
    ("data", "condition"),
    [
        (b"", "source/zero-bytes"),
        (b"a,b\n1,2\n3,4\n5,6\n", "source/not-parquet"),
        (b"x", "source/not-parquet"),
        (b"PAR1PAR1", "source/truncated"),
        (b"PAR1" + b"\0" * 40 + b"PARE", "source/encrypted"),
        (a_file()[:-20], "source/truncated"),
        (b"PAR1" + b"\xff\xff\xff\x7fPAR1", "source/corrupt-footer"),
        (b"PAR1" + b"\x77" * 40 + b"\x28\0\0\0PAR1", "source/corrupt-footer"),
        (b"PAR1" + a_file(rows=10_000, row_group_size=5000)[30_000:], "source/truncated"),
    ],
)
def test_read_footer_bad_bytes_raise_typed(data: bytes, condition: str) -> None:
    """Each kind of damage has its own condition, and the error names the file."""
    with pytest.raises(CorruptFileError) as caught:
        footer_of(data)
    assert caught.value.condition == condition
    assert caught.value.where.file == "/source/f.parquet"


@pytest.mark.property
@given(st.integers(0, 400), st.integers(0, 255))
def test_read_footer_any_changed_byte_changes_hash_or_raises(place: int, value: int) -> None:
    """No byte of the footer can change unnoticed."""
    data = bytearray(a_file())
    good = footer_of(bytes(data)).sha256
    at = len(data) - 9 - place % int.from_bytes(data[-8:-4], "little")
    changed = data[at] != value
    data[at] = value
    try:
        found = footer_of(bytes(data)).sha256
    except CorruptFileError:
        assert changed
        return
    assert (found != good) is changed


def test_fingerprint_json_comes_back_equal() -> None:
    """What a skeleton's footer holds can be read again."""
    print_ = Fingerprint(
        path="p=é/a b.parquet",
        size=1,
        mtime_ns=2**62,
        footer_length=3,
        footer_sha256="ab" * 32,
        rows=4,
        row_groups=(1, 3),
        schema_hash="c" * 16,
    )
    assert Fingerprint.from_json(print_.as_json()) == print_


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"path": 1}'])
def test_fingerprint_bad_json_raises_typed(text: str) -> None:
    """Damaged facts are not taken for facts."""
    with pytest.raises(CorruptFileError) as caught:
        Fingerprint.from_json(text)
    assert caught.value.condition == "source/bad-fingerprint"
