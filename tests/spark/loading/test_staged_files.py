"""Naming what a job has written: names, what is left, and rows that must all be there."""

from __future__ import annotations

from pathlib import Path

import pytest

from framework.errors import EngineError
from framework.spark.loading.staging import name_staged_files
from tests.support.inputs import write_rows

JOB = "0b9a1e5c-7d53-4a90-b1b1-0c36a7f1c001"


def _write(folder: Path, task: int, begin: int, stop: int, *, file: int = 0) -> None:
    """Write a file as Spark's task does, with its checksum."""
    name = f"part-{task:05d}-{JOB}-c{file:03d}.snappy.parquet"
    write_rows(folder / name, begin, stop)
    (folder / f".{name}.crc").touch()


def _commit(folder: Path) -> None:
    """Leave what a committed job leaves."""
    (folder / "_SUCCESS").touch()
    (folder / "._SUCCESS.crc").touch()


def test_staged_files_are_named_by_task_then_file_and_nothing_else_is_left(tmp_path: Path) -> None:
    """Numbers are compared as numbers, and files without rows count for none."""
    _write(tmp_path, 100000, 8, 9)
    _write(tmp_path, 2, 5, 8, file=1)
    _write(tmp_path, 2, 1, 5)
    _write(tmp_path, 0, 0, 0)
    _write(tmp_path, 99999, 8, 8)
    _commit(tmp_path)
    schema, files = name_staged_files(str(tmp_path), rows=8)
    assert schema.names == ["id", "v"]
    assert schema.metadata is None
    assert [file.rows for file in files] == [4, 3, 1]
    names = [f"part-0000{at}.parquet" for at in range(3)]
    assert [file.path for file in files] == [str(tmp_path / name) for name in names]
    assert sorted(path.name for path in tmp_path.iterdir()) == names


@pytest.mark.parametrize("rows", [0, 3, 5])
def test_staged_files_with_other_rows_than_written_are_refused(tmp_path: Path, rows: int) -> None:
    """As when an executor has written to a disk of its own; nothing is renamed."""
    _write(tmp_path, 0, 0, 4)
    _commit(tmp_path)
    before = sorted(tmp_path.iterdir())
    with pytest.raises(EngineError) as caught:
        name_staged_files(str(tmp_path), rows=rows)
    assert (caught.value.condition, caught.value.where.file) == (
        "input/rows-differ",
        str(tmp_path),
    )
    assert sorted(tmp_path.iterdir()) == before


def test_staged_files_without_a_commit_are_refused(tmp_path: Path) -> None:
    """No mark means no job that ended well, no file that it wrote elsewhere."""
    _write(tmp_path, 0, 0, 4)
    with pytest.raises(EngineError, match="no file"):
        name_staged_files(str(tmp_path), rows=4)
    _commit(tmp_path)
    for file in tmp_path.glob("*.parquet"):
        file.unlink()
    with pytest.raises(EngineError, match="no file"):
        name_staged_files(str(tmp_path), rows=0)
