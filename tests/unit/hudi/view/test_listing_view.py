"""The view by listing: partitions, latest slices, skeletons, replaced groups, log files."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from uuid import uuid4

import pytest

from framework.hudi.filegroup.slices import FileSlice, SourceFile
from framework.hudi.storage.memory import MemoryStorage
from framework.hudi.timeline.timeline import load_timeline
from framework.hudi.view.listing_view import ListingView
from tests.support.storage_suite import put

BOOTSTRAP = "00000000000001"


@dataclass(frozen=True)
class AnIndex:
    """An index over values at hand."""

    sources: Mapping[str, Mapping[str, SourceFile]]

    def mappings(self, partition_path: str) -> Mapping[str, SourceFile]:
        """Return those of one partition."""
        return self.sources.get(partition_path, {})


@pytest.fixture
def storage() -> Iterator[MemoryStorage]:
    """Return an empty storage."""
    found = MemoryStorage(uuid4().hex)
    yield found
    found.forget()


def a_table(storage: MemoryStorage, *paths: str, index: AnIndex | None = None) -> ListingView:
    """Return the view of a table with these files, whose partition is `p`."""
    put(storage, "p/.hoodie_partition_metadata")
    for path in paths:
        put(storage, path, b"12")
    return ListingView(storage, load_timeline(storage), index)


def shown(view: ListingView, partition: str = "p") -> list[tuple[str, str | None, list[int]]]:
    """Return file id, base instant and log versions of each slice."""
    return [
        (s.group.file_id, s.base.name.instant if s.base else None, versions(s))
        for s in view.latest_slices(partition)
    ]


def versions(found: FileSlice) -> list[int]:
    """Return the versions of a slice's log files."""
    return [log.name.version for log in found.logs]


def test_partitions_are_folders_with_metadata(storage: MemoryStorage) -> None:
    """At any depth; neither `.hoodie` nor folders inside a partition are searched."""
    for path in ("b/c/", "a=1/", "b/c/d/", ".hoodie/x/"):
        put(storage, f"{path}.hoodie_partition_metadata")
    put(storage, "e/f/file")
    view = ListingView(storage, load_timeline(storage))
    assert list(view.partitions()) == ["a=1", "b/c"]
    assert view.listings == 6


def test_partitions_of_an_unpartitioned_table_are_its_root(storage: MemoryStorage) -> None:
    """The metadata is in the base folder."""
    put(storage, ".hoodie_partition_metadata")
    put(storage, "f_0-0-0_1.parquet")
    put(storage, ".hoodie/1.commit")
    view = ListingView(storage, load_timeline(storage))
    assert list(view.partitions()) == [""]
    assert shown(view, "") == [("f", "1", [])]


def test_latest_slices_are_of_completed_instants_only(storage: MemoryStorage) -> None:
    """A pending file and a file of no instant do not show; the slice before does."""
    view = a_table(
        storage,
        ".hoodie/1.commit",
        ".hoodie/2.commit",
        ".hoodie/3.inflight",
        "p/a_0-0-0_1.parquet",
        "p/a_0-0-0_2.parquet",
        "p/a_0-0-0_3.parquet",
        "p/b_0-0-0_3.parquet",
        "p/c_0-0-0_1.parquet",
        "p/d_0-0-0_9.parquet",
        "p/foreign.parquet",
    )
    assert shown(view) == [("a", "2", []), ("c", "1", [])]
    assert view.latest_slices("none") == []


def test_latest_slices_have_the_log_files_of_their_base(storage: MemoryStorage) -> None:
    """Oldest first by number; logs of other slices and change data are left out."""
    view = a_table(
        storage,
        ".hoodie/1.deltacommit",
        ".hoodie/2.commit",
        "p/a_0-0-0_1.parquet",
        "p/.a_1.log.1_0-0-0",
        "p/a_0-0-0_2.parquet",
        "p/.a_2.log.10_0-0-0",
        "p/.a_2.log.9_0-0-0",
        "p/.a_2.log.9_0-0-0.cdc",
        "p/.b_1.log.1_0-0-0",
        "p/.c_9.log.1_0-0-0",
    )
    assert shown(view) == [("a", "2", [9, 10]), ("b", None, [1])]


def test_latest_slice_under_a_pending_compaction_has_the_logs_after_it(
    storage: MemoryStorage,
) -> None:
    """Logs written after the plan name the plan's instant; they belong to what is latest."""
    view = a_table(
        storage,
        ".hoodie/1.deltacommit",
        ".hoodie/2.compaction.requested",
        ".hoodie/3.deltacommit",
        "p/a_0-0-0_1.parquet",
        "p/.a_1.log.1_0-0-0",
        "p/.a_2.log.1_0-0-1",
        "p/a_0-0-0_2.parquet",
        "p/.b_2.log.1_0-0-0",
    )
    (found,) = view.latest_slices("p")
    assert (found.base_instant, found.total_size_bytes) == ("1", 6)
    assert [log.name.base_instant for log in found.logs] == ["1", "2"]


def test_latest_slices_leave_out_replaced_groups(storage: MemoryStorage) -> None:
    """A completed replacecommit hides groups of its partition; a pending one hides nothing."""
    replaced = json.dumps({"partitionToReplaceFileIds": {"p": ["a"], "q": ["b"]}}).encode()
    put(storage, ".hoodie/2.replacecommit", replaced)
    put(storage, ".hoodie/3.replacecommit.inflight", b"")
    view = a_table(storage, ".hoodie/1.commit", "p/a_0-0-0_1.parquet", "p/b_0-0-0_1.parquet")
    assert shown(view) == [("b", "1", [])]


def test_latest_slices_of_skeletons_have_their_source(storage: MemoryStorage) -> None:
    """Only base files at the bootstrap instant are skeletons, and only those in the index."""
    source = SourceFile(uri="file:///s/a.parquet", size=7, mtime_ms=1)
    index = AnIndex({"p": {"a": source, "b": source, "gone": source}})
    view = a_table(
        storage,
        f".hoodie/{BOOTSTRAP}.commit",
        ".hoodie/20260101000000000.commit",
        f"p/a_0-0-0_{BOOTSTRAP}.parquet",
        f"p/b_0-0-0_{BOOTSTRAP}.parquet",
        "p/b_0-0-0_20260101000000000.parquet",
        f"p/c-0_2-0-0_{BOOTSTRAP}.parquet",
        index=index,
    )
    found = {s.group.file_id: s.bootstrap for s in view.latest_slices("p")}
    assert found == {"a": source, "b": None, "c-0": None}
    assert view.listings == 1
