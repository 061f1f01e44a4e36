"""One file of a table is damaged at a time: rows are right or the error is typed, never else."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from random import Random

import pyarrow.parquet as pq
import pytest

from framework.engine.reading.table import open_table
from framework.engine.reading.views import LISTED, latest_slices
from framework.errors import CorruptFileError
from framework.hudi.codecs.parquet_seal import chunk_start
from framework.vocabulary import TableType
from tests.golden.tables.opening import golden_names
from tests.support.damaged_lakes import adopted_lake, files_of, hudi_lake, written_lake
from tests.support.mutants import DAMAGES, Mutant, Subject, mutants, rows_text
from tests.support.torn import tear

OURS = ("copy_on_write", "merge_on_read", "adopted")


def a_subject(name: str, folder: Path) -> Subject:
    """Return a table of ours or of Apache Hudi."""
    if name == "adopted":
        location, source = adopted_lake(folder)
        return Subject(location=location, files=files_of(location, source))
    location = written_lake(TableType(name), folder) if name in OURS else hudi_lake(name, folder)
    return Subject(location=location, files=files_of(location))


def is_a_limit(name: str, mutant: Mutant) -> bool:
    """Say whether nothing that is stored can show this damage (ADR 0027).

    Source files have no checksums. A completed instant that is deleted never completed. Of files
    that Apache Hudi wrote, only the bodies of pages and the blocks of some HFiles have checksums.
    """
    if mutant.outcome != "wrong":
        return False
    if mutant.kind.startswith("instant"):
        return mutant.damage == "delete" or name not in OURS
    return mutant.kind == "source" or name not in OURS


def check(name: str, found: Iterable[Mutant]) -> int:
    """Return how many mutants there were, all of them right or refused by name."""
    tried = list(found)
    unsound = [each for each in tried if not each.is_sound and not is_a_limit(name, each)]
    assert not unsound
    return len(tried)


@pytest.mark.parametrize("name", OURS)
def test_table_of_ours_with_one_damaged_file_is_right_or_refused(name: str, tmp_path: Path) -> None:
    """A sample; `make crash` tries many more."""
    assert check(name, mutants(a_subject(name, tmp_path), 20, Random(18))) > 14


@pytest.mark.full
@pytest.mark.crash
@pytest.mark.timeout(1800)
@pytest.mark.parametrize(("name", "count"), [*((name, 5_000) for name in OURS)])
def test_every_kind_of_file_of_ours_damaged_is_right_or_refused(
    name: str, count: int, tmp_path: Path
) -> None:
    """Every kind of damage to every kind of file."""
    assert check(name, mutants(a_subject(name, tmp_path), count, Random(27))) > 0.8 * count


@pytest.mark.full
@pytest.mark.crash
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("name", golden_names())
def test_every_kind_of_file_of_apache_hudi_damaged_is_right_or_refused(
    name: str, tmp_path: Path
) -> None:
    """The same, with Avro blocks and Avro plans; see `is_a_limit`."""
    assert check(name, mutants(a_subject(name, tmp_path), 1_000, Random(27))) > 800


@pytest.mark.parametrize("name", ["written-copy-on-write-1.2.0", "written-copy-on-write-0.15.0"])
def test_page_of_apache_hudi_with_a_turned_bit_is_refused(name: str, tmp_path: Path) -> None:
    """Its writers leave checksums of pages, and readers of ours compare them."""
    location = hudi_lake(name, tmp_path)
    used = next(latest_slices(open_table(str(location)), LISTED, None)).base
    assert used is not None
    path = location / used.path
    data = path.read_bytes()
    metadata = pq.read_metadata(path)
    for chunk in map(metadata.row_group(0).column, range(metadata.num_columns)):
        if chunk.path_in_schema == "day":
            continue  # the folder has it, and it is not read
        end = chunk_start(chunk) + chunk.total_compressed_size
        path.write_bytes(data[: end - 1] + bytes((data[end - 1] ^ 4,)) + data[end:])
        with pytest.raises(CorruptFileError) as caught:
            rows_text(str(location))
        assert caught.value.condition == "file/not-readable"
        assert caught.value.where.file == str(path)


def test_source_page_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    """By file, column and row group, when rows behind a skeleton are read."""
    location, source = adopted_lake(tmp_path)
    path = source / "p=1" / "b"
    tear(path, 0, 0, "data header")
    with pytest.raises(CorruptFileError) as caught:
        rows_text(str(location))
    assert caught.value.condition == "file/not-readable"
    assert caught.value.where.file == str(path)
    assert "column 'id' of row group 0: " in caught.value.message


def test_damages_do_damage() -> None:
    """Each of them, but for a rare zero that was one before."""
    data = Random(1).randbytes(200)
    for name, damage in DAMAGES.items():
        changed = [damage(data, Random(seed)) != data for seed in range(50)]
        assert sum(changed) > 40, name
