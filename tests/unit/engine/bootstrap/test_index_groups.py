"""The order of partitions in both files of the index."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from framework.engine.bootstrap.commit import _by_fileids_key, index_groups
from framework.engine.bootstrap.job import WorkRange
from framework.engine.bootstrap.write import Ledger, write_files
from framework.hudi.bootstrap.index import IndexGroup, fileids_key
from framework.hudi.storage.local import LocalStorage
from framework.vocabulary import BootstrapMode
from tests.support.sources import a_bench, ids


@pytest.mark.property
@given(st.sets(st.text("p=1-/;0:é", min_size=1, max_size=6)))
def test_fileid_order_is_that_of_whole_keys(paths: set[str]) -> None:
    """For any partition paths, from their own order."""
    groups = [
        IndexGroup(partition_path=path, source_partition=path, files=())
        for path in sorted(paths, key=str.encode)
    ]
    found = [group.partition_path for group in _by_fileids_key(groups)]
    assert found == sorted(paths, key=fileids_key)


def test_index_groups_hold_skeletons_only(tmp_path: Path) -> None:
    """Full files are ordinary files; a partition without skeletons is not indexed."""
    files = {"p=1/a": ids(1), "p=1/b": ids(2), "p=10/a": ids(3), "p=2/a": ids(4)}
    bench = a_bench(tmp_path, files)
    ranges = [
        WorkRange(start=0, stop=1, mode=BootstrapMode.METADATA_ONLY),
        WorkRange(start=1, stop=2, mode=BootstrapMode.FULL_RECORD),
        WorkRange(start=2, stop=3, mode=BootstrapMode.METADATA_ONLY),
        WorkRange(start=3, stop=4, mode=BootstrapMode.FULL_RECORD),
    ]
    written = write_files(bench.tasks, bench.job, ranges, Ledger(journal=lambda _: None))
    groups = index_groups(LocalStorage(bench.table), written.segments, "file:///source")
    assert [group.partition_path for group in groups("partition")] == ["p=1", "p=10"]
    assert [group.partition_path for group in groups("fileid")] == ["p=10", "p=1"]
    (file,) = next(iter(groups("partition"))).files
    entry = (tmp_path / "source" / "p=1" / "a").stat()
    assert file.uri == "file:///source/p=1/a"
    assert (file.size, file.mtime_ms) == (entry.st_size, entry.st_mtime_ns // 1_000_000)
