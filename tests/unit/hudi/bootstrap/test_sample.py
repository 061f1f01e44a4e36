"""The sample of a file: what its first rows weigh, and that durations are of real work."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest

from framework.errors import CorruptFileError
from framework.hudi.bootstrap.key_pass import BloomChoice, key_columns
from framework.hudi.bootstrap.sample import SAMPLE_ROWS, Sample, fastest, sample_file
from framework.hudi.bootstrap.skeleton import BaseFileTarget
from framework.hudi.bootstrap.source_file import open_source
from framework.hudi.storage.local import LocalStorage
from framework.hudi.table.layout import BOOTSTRAP_INSTANT
from framework.vocabulary import BloomKind
from tests.support.sources import a_fingerprint, a_rule, a_source, ids

FILE = "p=1/a.parquet"


def target_of(rows: pa.Table) -> BaseFileTarget:
    """Return the base file of the source file, without a bloom filter."""
    rule = a_rule()
    return BaseFileTarget(
        instant=BOOTSTRAP_INSTANT,
        number=0,
        partition_path="p=1",
        file_id="",
        name="",
        rule=rule,
        values={"p": 1},
        key_schema=key_columns(rows.schema, rule),
        bloom=BloomChoice(kind=BloomKind.NONE.value),
    )


def sample(folder: Path, rows: pa.Table, *, rewrites: bool = False, **options: object) -> Sample:
    """Return the sample of a file with these rows."""
    storage = LocalStorage(str(a_source(folder, {FILE: rows}, **options)))
    with open_source(storage, a_fingerprint(storage, FILE)) as reader:
        return sample_file(reader, target_of(rows), rows.schema, rewrites=rewrites)


def test_sample_of_a_long_file_is_of_its_first_rows(tmp_path: Path) -> None:
    """Increasing keys take a fraction of a byte, whatever the file's length."""
    found = sample(tmp_path, ids(*range(SAMPLE_ROWS + 10)))
    assert (found.files, found.rows) == (1, SAMPLE_ROWS)
    assert 0 < found.key_bytes < found.rows
    assert found.key_ns > 0
    assert found.file_ns > 0
    assert (found.stored_bytes, found.rewritten_bytes, found.rewrite_ns) == (0, 0, 0)


def test_sample_of_a_file_of_many_row_groups_is_of_the_first(tmp_path: Path) -> None:
    """No more is read than one row group."""
    assert sample(tmp_path, ids(*range(100)), row_group_size=7).rows == 7


def test_sample_with_all_columns_compares_stored_and_rewritten_bytes(tmp_path: Path) -> None:
    """Rows stored without compression become a base file of fewer bytes."""
    rows = ids(*range(10_000)).append_column("t", pa.array(["the same text"] * 10_000))
    plain = {"compression": "none", "use_dictionary": False}
    found = sample(tmp_path, rows, rewrites=True, **plain)
    assert found.stored_bytes > 10_000 * len("the same text")
    assert 0 < found.rewritten_bytes < found.stored_bytes / 4
    assert found.rewrite_ns > 0


def test_sample_with_many_columns_encodes_fewer_rows(tmp_path: Path) -> None:
    """Stored bytes are those of the rows that were encoded: a bounded number of values."""
    columns = {f"c{at}": pa.array(range(2_000)) for at in range(1_500)}
    rows = pa.table({"id": pa.array(range(2_000)), **columns})
    found = sample(tmp_path, rows, rewrites=True, compression="none")
    size = (tmp_path / FILE).stat().st_size
    assert found.rows == 2_000
    assert 0.2 * size < found.stored_bytes < 0.5 * size


def test_sample_of_a_file_without_rows_is_nothing(tmp_path: Path) -> None:
    """An empty file has no sample."""
    assert sample(tmp_path, ids(), rewrites=True) == Sample()


def test_samples_of_two_files_add_up() -> None:
    """Each figure is a sum."""
    one = Sample(files=1, rows=2, key_bytes=3, key_ns=4, file_ns=5, stored_bytes=6)
    assert one + Sample(files=1, rewrite_ns=7, rewritten_bytes=8) == Sample(
        files=2,
        rows=2,
        key_bytes=3,
        key_ns=4,
        file_ns=5,
        stored_bytes=6,
        rewrite_ns=7,
        rewritten_bytes=8,
    )


def test_fastest_of_several_samples_has_the_shortest_durations() -> None:
    """The first turn encodes no rows, and its durations are those of cold caches."""
    cold = Sample(files=1, rows=2, key_bytes=3, key_ns=90, file_ns=90)
    warm = replace(cold, key_ns=10, file_ns=20, stored_bytes=5, rewritten_bytes=4, rewrite_ns=30)
    slow = replace(warm, key_ns=11, file_ns=19, rewrite_ns=31)
    assert fastest([cold, slow, warm]) == replace(warm, file_ns=19)
    assert fastest([cold, cold]) == cold


def test_sample_of_damaged_pages_raises(tmp_path: Path) -> None:
    """The caller decides how to treat an unreadable file."""
    storage = LocalStorage(str(a_source(tmp_path, {FILE: ids(*range(1000))})))
    fingerprint = a_fingerprint(storage, FILE)
    data = bytearray((tmp_path / FILE).read_bytes())
    data[4:40] = b"\xff" * 36
    (tmp_path / FILE).write_bytes(data)
    with open_source(storage, fingerprint) as reader, pytest.raises(CorruptFileError):
        sample_file(reader, target_of(ids()), ids().schema, rewrites=False)
