"""Bytes per key, estimated from the first rows of a file."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

from framework.errors import CorruptFileError
from framework.hudi.bootstrap.key_pass import SAMPLE_ROWS, key_columns, sample_keys
from framework.hudi.bootstrap.source_file import open_source
from framework.hudi.storage.local import LocalStorage
from tests.support.sources import a_fingerprint, a_rule, a_source, ids

FILE = "p=1/a.parquet"


def sample(folder: Path, rows: pa.Table, **options: object) -> tuple[int, int]:
    """Return the sample of a file with these rows."""
    storage = LocalStorage(str(a_source(folder, {FILE: rows}, **options)))
    rule = a_rule()
    with open_source(storage, a_fingerprint(storage, FILE)) as reader:
        return sample_keys(reader, rule, {"p": 1}, key_columns(rows.schema, rule))


def test_sample_of_a_long_file_is_of_its_first_rows(tmp_path: Path) -> None:
    """Increasing keys take a fraction of a byte, whatever the file's length."""
    rows, size = sample(tmp_path, ids(*range(SAMPLE_ROWS + 10)))
    assert rows == SAMPLE_ROWS
    assert 0 < size < rows


def test_sample_of_a_file_of_many_row_groups_is_of_the_first(tmp_path: Path) -> None:
    """No more is read than one row group."""
    assert sample(tmp_path, ids(*range(100)), row_group_size=7)[0] == 7


def test_sample_of_a_file_without_rows_is_nothing(tmp_path: Path) -> None:
    """An empty file has no sample."""
    assert sample(tmp_path, ids()) == (0, 0)


def test_sample_of_damaged_pages_raises(tmp_path: Path) -> None:
    """The caller decides how to treat an unreadable file."""
    storage = LocalStorage(str(a_source(tmp_path, {FILE: ids(*range(1000))})))
    fingerprint = a_fingerprint(storage, FILE)
    data = bytearray((tmp_path / FILE).read_bytes())
    data[4:40] = b"\xff" * 36
    (tmp_path / FILE).write_bytes(data)
    rule = a_rule()
    with open_source(storage, fingerprint) as reader, pytest.raises(CorruptFileError):
        sample_keys(reader, rule, {"p": 1}, key_columns(ids().schema, rule))
