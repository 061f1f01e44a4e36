"""Reading a source file that must still be the one that was fingerprinted."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest

from framework.errors import CorruptFileError, SourceDriftError
from framework.hudi.bootstrap.source_file import check_unchanged, open_source
from framework.hudi.storage.local import LocalStorage
from tests.support.sources import a_fingerprint, a_source, ids
from tests.support.torn import tear

PATH = "f.parquet"


def _remove(path: Path) -> None:
    path.unlink()


def _other_size(path: Path) -> None:
    a_source(path.parent, {PATH: ids(*range(500))})


def _same_size(path: Path) -> None:
    a_source(path.parent, {PATH: ids(1, 2, 9)})


def _cut(path: Path) -> None:
    path.write_bytes(b"PAR1" + bytes(path.stat().st_size - 4))


@pytest.mark.parametrize("change", [_remove, _other_size, _same_size, _cut])
def test_open_source_changed_file_is_refused(
    tmp_path: Path, change: Callable[[Path], None]
) -> None:
    """Even with restored size and modification time, the footer's hash differs."""
    a_source(tmp_path, {PATH: ids(1, 2, 3)})
    storage = LocalStorage(str(tmp_path))
    fingerprint = a_fingerprint(storage, PATH)
    change(tmp_path / PATH)
    if (tmp_path / PATH).exists():
        os.utime(tmp_path / PATH, ns=(fingerprint.mtime_ns, fingerprint.mtime_ns))
    with pytest.raises(SourceDriftError) as caught, open_source(storage, fingerprint):
        pass
    assert caught.value.condition == "source/drift"
    assert caught.value.where.file == f"{tmp_path}/{PATH}"


def test_check_unchanged_compares_size_and_time(tmp_path: Path) -> None:
    """The last look before a commit costs one stat."""
    a_source(tmp_path, {PATH: ids(1)})
    storage = LocalStorage(str(tmp_path))
    fingerprint = a_fingerprint(storage, PATH)
    check_unchanged(storage, fingerprint)
    for other in (replace(fingerprint, size=1), replace(fingerprint, mtime_ns=1)):
        with pytest.raises(SourceDriftError):
            check_unchanged(storage, other)
    (tmp_path / PATH).unlink()
    with pytest.raises(SourceDriftError):
        check_unchanged(storage, fingerprint)


def test_batches_have_the_asked_schema(tmp_path: Path) -> None:
    """Types are cast, absent columns null, order as asked."""
    table = pa.table({"b": pa.array(["x"]), "a": pa.array([1], pa.int32())})
    a_source(tmp_path, {PATH: table})
    storage = LocalStorage(str(tmp_path))
    schema = pa.schema([("a", pa.int64()), ("n", pa.date32()), ("b", pa.string())])
    with open_source(storage, a_fingerprint(storage, PATH)) as source:
        batches = list(source.batches(0, schema))
        assert batches[0].schema.types == schema.types
        assert pa.Table.from_batches(batches).to_pylist() == [{"a": 1, "n": None, "b": "x"}]
        assert source.lacks("n")
        assert not source.lacks("a")
        assert [b.num_rows for b in source.batches(0, pa.schema([]))] == [1]
        assert [b.num_rows for b in source.batches(0, pa.schema([("n", pa.int8())]))] == [1]


def test_batches_value_that_does_not_fit_is_refused(tmp_path: Path) -> None:
    """A cast that would lose something names column and file."""
    a_source(tmp_path, {PATH: ids(2**40)})
    storage = LocalStorage(str(tmp_path))
    with (
        pytest.raises(CorruptFileError) as caught,
        open_source(storage, a_fingerprint(storage, PATH)) as source,
    ):
        list(source.batches(0, pa.schema([("id", pa.int32())])))
    assert caught.value.condition == "source/value-does-not-fit"
    assert "'id'" in caught.value.message


def test_batches_damaged_page_is_refused(tmp_path: Path) -> None:
    """Bytes before the footer that cannot be decoded end in a typed error."""
    a_source(tmp_path, {PATH: ids(*range(5000))}, compression="zstd")
    storage = LocalStorage(str(tmp_path))
    fingerprint = a_fingerprint(storage, PATH)
    data = bytearray((tmp_path / PATH).read_bytes())
    data[4 : fingerprint.size - fingerprint.footer_length - 8] = b"\xff" * (
        fingerprint.size - fingerprint.footer_length - 12
    )
    (tmp_path / PATH).write_bytes(data)
    with pytest.raises(CorruptFileError) as caught, open_source(storage, fingerprint) as source:
        list(source.batches(0, pa.schema([("id", pa.int64())])))
    assert caught.value.condition == "source/corrupt-data"


def test_batches_bad_page_names_column_and_row_group(tmp_path: Path) -> None:
    """Of several that are read together; columns that are sound can still be read."""
    table = pa.table({"id": range(20), "text": ["a", "b"] * 10, "x": [0.5, 1.5] * 10})
    a_source(tmp_path, {PATH: table}, row_group_size=10)
    storage = LocalStorage(str(tmp_path))
    fingerprint = a_fingerprint(storage, PATH)
    tear(tmp_path / PATH, 1, 1, "dictionary body")
    with open_source(storage, fingerprint) as source:
        schema = pa.schema([("id", pa.int64()), ("text", pa.string()), ("x", pa.float64())])
        assert sum(batch.num_rows for batch in source.batches(0, schema)) == 10
        assert sum(batch.num_rows for batch in source.batches(1, schema.remove(1))) == 10
        with pytest.raises(CorruptFileError) as caught:
            list(source.batches(1, schema))
    assert caught.value.condition == "source/corrupt-data"
    assert "column 'text' of row group 1: " in caught.value.message
