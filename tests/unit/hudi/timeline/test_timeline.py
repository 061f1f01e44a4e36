"""The timeline as one listing sees it, and what it makes visible."""

from __future__ import annotations

from collections.abc import Iterator
from uuid import uuid4

import pytest

from framework.hudi.storage.memory import MemoryStorage
from framework.hudi.timeline.timeline import Timeline, load_timeline
from tests.support.storage_suite import put


@pytest.fixture
def storage() -> Iterator[MemoryStorage]:
    """Return an empty storage."""
    found = MemoryStorage(uuid4().hex)
    yield found
    found.forget()


def timeline_of(storage: MemoryStorage, *names: str) -> Timeline:
    """Return the timeline of a table with these files in `.hoodie`."""
    for name in names:
        put(storage, f".hoodie/{name}")
    return load_timeline(storage)


def test_timeline_of_no_table_is_empty(storage: MemoryStorage) -> None:
    """Nothing is there, nothing is completed."""
    timeline = load_timeline(storage)
    assert timeline == Timeline(instants=())
    assert timeline.last_requested_time is None
    assert timeline.first_active is None
    assert not timeline.is_completed("1")


def test_timeline_shows_each_action_in_its_furthest_state(storage: MemoryStorage) -> None:
    """Earlier states are folded in; other files and folders are not instants."""
    timeline = timeline_of(
        storage,
        "1.commit.requested",
        "1.inflight",
        "1.commit",
        "2.clean.requested",
        "2.clean.inflight",
        "3.deltacommit.requested",
        "hoodie.properties",
        ".1.commit.crc",
        "4.commit/folder",
    )
    assert [each.file_name for each in timeline.instants] == [
        "1.commit",
        "2.clean.inflight",
        "3.deltacommit.requested",
    ]
    assert [each.file_name for each in timeline.completed] == ["1.commit"]
    assert [each.requested_time for each in timeline.pending] == ["2", "3"]
    assert timeline.last_requested_time == "3"
    assert [each.file_name for each in timeline.find("2")] == ["2.clean.inflight"]


def test_timeline_of_a_finished_compaction_shows_the_commit_only(storage: MemoryStorage) -> None:
    """The plan's files stay behind, but the plan is no longer pending."""
    timeline = timeline_of(
        storage,
        "1.compaction.requested",
        "1.compaction.inflight",
        "1.commit",
        "2.logcompaction.inflight",
        "2.deltacommit",
        "3.compaction.requested",
    )
    assert [each.file_name for each in timeline.instants] == [
        "1.commit",
        "2.deltacommit",
        "3.compaction.requested",
    ]


@pytest.mark.parametrize(
    ("names", "visible", "hidden"),
    [
        ((), "", "12"),
        (("5.commit",), "12345", "69"),
        (("5.inflight",), "", "1256"),
        (("5.commit", "7.inflight"), "135", "67"),
        (("3.inflight", "5.commit"), "125", "346"),
        (("3.commit", "3.savepoint", "6.commit"), "1345 6", "7"),
        (("3.commit", "3.savepoint"), "123", "4"),
        (("3.commit", "3.savepoint", "6.commit", "6.savepoint"), "13456", "7"),
        (("2.clean", "5.commit"), "1235", "6"),
        (("2.rollback.inflight", "5.commit"), "1345", "26"),
        (("5.clean",), "", "15"),
    ],
)
def test_timeline_decides_by_membership_what_is_visible(
    storage: MemoryStorage, names: tuple[str, ...], visible: str, hidden: str
) -> None:
    """Completed, or archived: older than all data instants but savepointed and unfinished ones."""
    timeline = timeline_of(storage, *names)
    assert all(timeline.is_completed(time) for time in visible if time != " ")
    assert not any(timeline.is_completed(time) for time in hidden)


@pytest.mark.parametrize("until", "123456789")
@pytest.mark.parametrize(
    "names",
    [
        ("3.commit", "5.commit", "7.commit"),
        ("3.commit", "3.savepoint", "6.commit", "7.deltacommit.inflight"),
        ("3.commit", "3.savepoint", "6.commit", "6.savepoint"),
        ("4.inflight", "5.commit", "5.clean"),
    ],
)
def test_timeline_as_of_an_instant_hides_only_what_came_later(
    storage: MemoryStorage, names: tuple[str, ...], until: str
) -> None:
    """What was archived stays visible, also where nothing that is left is as old."""
    whole = timeline_of(storage, *names)
    past = whole.as_of(until)
    for time in "123456789":
        assert past.is_completed(time) == (whole.is_completed(time) and time <= until)
    assert past.completed == tuple(i for i in whole.completed if i.requested_time <= until)
    assert past.pending == tuple(i for i in whole.pending if i.requested_time <= until)
