"""The files of a partition that a kept view includes, mostly decided by names alone."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from uuid import uuid4

from hypothesis import given
from hypothesis import strategies as st

from framework.hudi.filegroup.group import FileGroup, decode_group, encode_group
from framework.hudi.filegroup.slices import FileGroupId, SourceFile
from framework.hudi.storage.memory import MemoryStorage
from framework.hudi.table.layout import BOOTSTRAP_INSTANT
from framework.hudi.timeline.timeline import load_timeline
from framework.hudi.view.counted import load_records
from framework.hudi.view.listing_view import ListingView
from tests.support.storage_suite import put

IDS = ("a", "b-0", "ä")
SKELETON, DONE, PENDING, NEWER = BOOTSTRAP_INSTANT, "20261101000000001", "5" * 17, "9" * 17
TIMES = (SKELETON, "1", DONE, PENDING, NEWER)
TIMELINE = (f"{SKELETON}.commit", f"{DONE}.commit", f"{PENDING}.inflight")
FILES = st.sets(
    st.one_of(
        st.builds(
            "{}_0-0-{}_{}.parquet".format,
            st.sampled_from(IDS),
            st.integers(0, 1),
            st.sampled_from(TIMES),
        ),
        st.builds(
            ".{}_{}.log.{}_0-0-0{}".format,
            st.sampled_from(IDS),
            st.sampled_from(TIMES),
            st.integers(1, 2),
            st.sampled_from(("", ".cdc")),
        ),
        st.sampled_from((".hoodie_partition_metadata", "_SUCCESS", "notes.txt", "a.parquet")),
    ),
    max_size=7,
)


class Sources:
    """An index that knows a source of every group.

    Attributes:
        reads: how often a partition was asked for.
    """

    def __init__(self) -> None:
        self.reads = 0

    def mappings(self, partition_path: str) -> Mapping[str, SourceFile]:
        """Return one for each file id."""
        self.reads += 1
        return {
            each: SourceFile(uri=f"file:/{partition_path}/{each}", size=7, mtime_ms=8)
            for each in IDS
        }


def counted(group: FileGroup) -> FileGroup:
    """Return a group without what is under way or newer than the timeline."""
    return replace(
        group,
        bases=tuple(each for each in group.bases if each.name.instant <= DONE),
        logs=tuple(each for each in group.logs if each.name.base_instant <= DONE),
    )


def with_a_skeleton(group: FileGroup) -> FileGroup:
    """Return a group without a source where none of its files is a skeleton."""
    has = any(each.name.instant == SKELETON for each in group.bases)
    return group if has else replace(group, source=None)


@given(FILES)
def test_records_of_a_partition_are_those_of_its_groups(names: set[str]) -> None:
    """A group of one base file is read from its name, and means the same as by the long way."""
    storage = MemoryStorage(uuid4().hex)
    for each in TIMELINE:
        put(storage, f".hoodie/{each}", b"{}")
    for number, name in enumerate(sorted(names)):
        put(storage, f"p/{name}", b"x" * number)
    sources = Sources()
    listing = ListingView(storage, load_timeline(storage), sources)
    records = load_records(listing, listing.facts, "p")
    assert (listing.listings, sources.reads <= 1) == (1, True)
    found = {
        file_id: decode_group(FileGroupId(partition_path="p", file_id=file_id), record)
        for file_id, record in records.items()
    }
    groups = {
        each.group.file_id: with_a_skeleton(each)
        for each in map(counted, listing.groups("p"))
        if not each.is_empty
    }
    assert {file_id: with_a_skeleton(each) for file_id, each in found.items()} == groups
    assert {file_id: encode_group(each) for file_id, each in found.items()} == records
    storage.forget()
