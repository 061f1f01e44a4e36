"""The bootstrap index in tasks: which partitions each gets, and what their parts hold."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from framework.engine.bootstrap.index import IndexTask, index_parts, index_ranges
from framework.engine.bootstrap.job import WorkRange
from framework.engine.bootstrap.write import Ledger, write_files
from framework.engine.tasks import InProcessTasks
from framework.errors import FrameworkError
from framework.hudi.bootstrap.index import BootstrapIndex, IndexWriter, fileids_key
from framework.hudi.storage.local import LocalStorage
from framework.hudi.table.layout import BOOTSTRAP_FILEIDS_INDEX, BOOTSTRAP_PARTITIONS_INDEX
from framework.plan.partitions import PartitionPlan
from framework.vocabulary import BootstrapMode
from tests.support.sources import ids, source_context
from tests.support.storage_suite import put

SKELETONS, FULL = BootstrapMode.METADATA_ONLY, BootstrapMode.FULL_RECORD


def planned(*partitions: tuple[str, int, BootstrapMode]) -> list[PartitionPlan]:
    """Return partitions of so many files, numbered in this order."""
    plans, first = [], 0
    for path, files, mode in partitions:
        stop = first + files
        plans.append(
            PartitionPlan(
                partition_path=path,
                mode=mode,
                files=files,
                rows=0,
                bytes=0,
                first=first,
                stop=stop,
            )
        )
        first = stop
    return plans


@pytest.mark.property
@given(st.sets(st.text("p=1-/;0:é", min_size=1, max_size=6)), st.integers(1, 4))
def test_index_ranges_of_any_partitions_keep_the_order_of_both_files(
    paths: set[str], files_per_task: int
) -> None:
    """All partitions once, and no key of a later range before one of an earlier range."""
    names = sorted((path for path in paths if ";fileid=" not in path), key=str.encode)
    plans = planned(*((name, 1, SKELETONS) for name in names))
    ranges = index_ranges(plans, files_per_task)
    assert [n for start, stop in ranges for n in range(start, stop)] == list(range(len(names)))
    keys = [[fileids_key(names[n]) for n in range(start, stop)] for start, stop in ranges]
    assert [key for part in keys for key in sorted(part)] == sorted(map(fileids_key, names))


def test_index_ranges_are_of_the_asked_size_and_skip_full_partitions() -> None:
    """A partition is not divided, and full records do not count."""
    plans = planned(
        ("p=a", 3, SKELETONS),
        ("p=b", 9, FULL),
        ("p=c", 2, SKELETONS),
        ("p=d", 8, SKELETONS),
        ("p=e", 1, SKELETONS),
        ("p=f", 1, FULL),
    )
    assert index_ranges(plans, 5) == [(0, 14), (14, 22), (22, 23)]
    assert index_ranges([], 5) == []


def test_index_of_several_tasks_holds_skeletons_only(tmp_path: Path) -> None:
    """Full files are ordinary files; a partition without skeletons is not indexed."""
    files = {"p=1/a": ids(1), "p=1/b": ids(2), "p=10/a": ids(3), "p=2/a": ids(4), "p=3/a": ids(5)}
    setup = source_context(tmp_path, files)
    modes = [SKELETONS, FULL, SKELETONS, FULL, SKELETONS]
    ranges = [WorkRange(start=n, stop=n + 1, mode=mode) for n, mode in enumerate(modes)]
    written = write_files(setup.tasks, setup.job, ranges, Ledger(journal=lambda _: None))
    storage = LocalStorage(setup.table)
    put(storage, "fence", b"")
    tasks = [
        IndexTask(
            table=setup.table,
            fence="fence",
            folder="parts",
            source_uri="file:///source",
            segments=tuple(written.segments),
            start=start,
            stop=stop,
        )
        for start, stop in ((0, 4), (4, 5))
    ]
    parts = index_parts(InProcessTasks(2), tasks)
    outs = io.BytesIO(), io.BytesIO()
    writer = IndexWriter(*outs)
    for each in parts:
        paths = (each.partitions, each.fileids)
        streams = (io.BytesIO(Path(setup.table, path).read_bytes()) for path in paths)
        writer.add(each.part, *streams)
    writer.finish(base_uri="file:///source", created_ms=0)
    put(storage, BOOTSTRAP_PARTITIONS_INDEX, outs[0].getvalue())
    put(storage, BOOTSTRAP_FILEIDS_INDEX, outs[1].getvalue())
    index = BootstrapIndex.open(storage)
    assert index is not None
    with index:
        assert list(index.partitions()) == ["p=1", "p=10", "p=3"]
        (file,) = index.mappings("p=1").values()
        assert index.mapping("p=1", file.file_id) == file
    entry = (tmp_path / "source" / "p=1" / "a").stat()
    assert file.uri == "file:///source/p=1/a"
    assert (file.size, file.mtime_ms) == (entry.st_size, entry.st_mtime_ns // 1_000_000)


def test_index_task_of_a_run_that_is_over_is_fenced(tmp_path: Path) -> None:
    """No file is left in the table."""
    task = IndexTask(
        table=str(tmp_path),
        fence="fence",
        folder="parts",
        source_uri="",
        segments=(),
        start=0,
        stop=1,
    )
    with pytest.raises(FrameworkError) as caught:
        index_parts(InProcessTasks(1), [task])
    assert caught.value.condition == "commit/fenced"
    assert not any(tmp_path.rglob("*.*"))
