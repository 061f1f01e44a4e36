"""Apache Hudi finds each source file in our bootstrap index by partition and by file group."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from framework.hudi.bootstrap.index import FileMapping, IndexGroup
from framework.hudi.table.layout import BOOTSTRAP_FILEIDS_INDEX, BOOTSTRAP_PARTITIONS_INDEX
from tests.interop.cases import CASES, Case
from tests.interop.judge import Judge
from tests.support.bootstrap_index import write_index

BY_NAME = {case.name: case for case in CASES}
TRICKY = ("p=1", "p=10", "p=1-2", "p=1/x", "p=1.5", "p=é", "p=a b", "p=1%3A2")


@pytest.mark.interop
@pytest.mark.parametrize("name", ["near-partition-names", "two-levels", "unpartitioned"])
def test_each_file_group_of_an_adopted_table_is_found_alone(
    name: str, judge: Judge, adopted: Callable[[Case], Path]
) -> None:
    """A look-up of one file group returns the URI of its source file."""
    case = BY_NAME[name]
    location = adopted(case)
    groups = [
        (path.parent.relative_to(location).as_posix().removeprefix("."), path.name.split("_")[0])
        for path in location.rglob("*.parquet")
    ]
    found = judge.ask("lookup", location=str(location), groups=groups)
    source = location.parent / "source"
    assert {uri.removeprefix("file://") for uri in found.values()} == {
        str(source / file.path) for file in case.files
    }


@pytest.mark.interop
def test_partitions_whose_names_begin_alike_are_found_in_both_orders(
    judge: Judge, table_copy: Callable[[Case], Path]
) -> None:
    """`p=1`, `p=10`, `p=1-2`, `p=1/x` and others are found by partition and by file group."""
    location = table_copy(BY_NAME["hive"])
    groups = [_group(path) for path in TRICKY]
    _replace_index(location, groups)
    by_partition = judge.ask("lookup_partitions", location=str(location))
    assert by_partition == {
        group.partition_path: sorted(file.file_id for file in group.files) for group in groups
    }
    wanted = [(group.partition_path, file.file_id) for group in groups for file in group.files]
    found = judge.ask("lookup", location=str(location), groups=wanted)
    assert found == {file.file_id: file.uri for group in groups for file in group.files}


@pytest.mark.interop
def test_a_file_group_that_is_not_there_is_not_found(
    judge: Judge, table_copy: Callable[[Case], Path]
) -> None:
    """A look-up of a foreign file id or partition gives nothing."""
    location = table_copy(BY_NAME["hive"])
    _replace_index(location, [_group("p=1"), _group("p=10")])
    absent = str(uuid.uuid5(uuid.NAMESPACE_URL, "absent"))
    assert judge.ask("lookup", location=str(location), groups=[("p=1", absent)]) == {absent: None}
    assert judge.ask("lookup", location=str(location), groups=[("p=5", absent)]) == {absent: None}


def _group(partition_path: str) -> IndexGroup:
    """Return a partition of three files."""
    files = tuple(
        FileMapping(
            file_id=str(uuid.uuid5(uuid.NAMESPACE_URL, f"{partition_path}/{number}")),
            uri=f"file:///lake/{partition_path}/{number}.parquet",
            size=100 + number,
            mtime_ms=1_700_000_000_000,
        )
        for number in range(3)
    )
    return IndexGroup(partition_path=partition_path, source_partition=partition_path, files=files)


def _replace_index(location: Path, groups: Sequence[IndexGroup]) -> None:
    """Write an index of these groups over that of a table."""
    by_partition = location / BOOTSTRAP_PARTITIONS_INDEX
    by_file_id = location / BOOTSTRAP_FILEIDS_INDEX
    with by_partition.open("wb") as partitions, by_file_id.open("wb") as file_ids:
        write_index(partitions, file_ids, groups, base_uri="file:///lake")
