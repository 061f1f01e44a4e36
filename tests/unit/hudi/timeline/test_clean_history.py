"""A past state is accepted only if all its slices certainly exist."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from uuid import uuid4

import pytest

from framework.errors import UnsupportedTableError
from framework.hudi.codecs.avro import write_container
from framework.hudi.storage.memory import MemoryStorage
from framework.hudi.timeline.clean_metadata import check_not_cleaned
from framework.hudi.timeline.timeline import load_timeline
from tests.support.storage_suite import put

_FILES = {"type": "array", "items": "string"}
SCHEMA: dict[str, Any] = {
    "type": "record",
    "name": "HoodieCleanMetadata",
    "namespace": "org.apache.hudi.avro.model",
    "fields": [
        {"name": "startCleanTime", "type": "string"},
        {"name": "earliestCommitToRetain", "type": "string"},
        {"name": "lastCompletedCommitTimestamp", "type": "string", "default": ""},
        {
            "name": "partitionMetadata",
            "type": {
                "type": "map",
                "values": {
                    "type": "record",
                    "name": "HoodieCleanPartitionMetadata",
                    "fields": [{"name": "successDeleteFiles", "type": _FILES}],
                },
            },
        },
    ],
}


@pytest.fixture
def table() -> Iterator[MemoryStorage]:
    """Return a table with commits at 20, 30 and 40."""
    made = MemoryStorage(uuid4().hex)
    for time in ("20", "30", "40"):
        put(made, f".hoodie/{time}.commit")
    yield made
    made.forget()


def clean(table: MemoryStorage, *, earliest: str, last: str = "", deleted: bool = True) -> None:
    """Add a completed clean at 45."""
    files = ["a_0-0-0_10.parquet"] if deleted else []
    record = {
        "startCleanTime": "45",
        "earliestCommitToRetain": earliest,
        "lastCompletedCommitTimestamp": last,
        "partitionMetadata": {"p=1": {"successDeleteFiles": files}},
    }
    put(table, ".hoodie/45.clean", write_container(SCHEMA, record))


def refusal(table: MemoryStorage, instant: str) -> str | None:
    """Return why an instant is refused, None where it is not."""
    try:
        check_not_cleaned(table, load_timeline(table), instant)
    except UnsupportedTableError as error:
        return error.condition
    return None


def test_past_without_cleaning_is_accepted(table: MemoryStorage) -> None:
    """Down to the oldest instant; before it, the state is unknown or there was no table."""
    assert [refusal(table, t) for t in ("20", "25", "40", "99")] == [None] * 4
    assert refusal(table, "19") == "read/before-table"


def test_past_before_the_commit_that_a_clean_kept_is_refused(table: MemoryStorage) -> None:
    """From that commit on all slices exist."""
    clean(table, earliest="30", last="40")
    assert [refusal(table, t) for t in ("20", "29", "30", "40")] == [
        "read/cleaned",
        "read/cleaned",
        None,
        None,
    ]


@pytest.mark.parametrize(("last", "bound"), [("40", "40"), ("", "45")])
def test_past_before_a_clean_by_versions_is_refused(
    table: MemoryStorage, last: str, bound: str
) -> None:
    """It names no commit to keep, so only states from its last commit on are certain."""
    clean(table, earliest="", last=last)
    assert refusal(table, "30") == "read/cleaned"
    assert refusal(table, bound) is None


def test_past_before_a_clean_that_deleted_nothing_is_accepted(table: MemoryStorage) -> None:
    """All slices are still there."""
    clean(table, earliest="40", deleted=False)
    assert refusal(table, "20") is None


def test_newest_instant_is_accepted_whatever_was_cleaned(table: MemoryStorage) -> None:
    """A restore went back to it, over the commit that a clean had kept."""
    clean(table, earliest="43", last="43")
    assert [refusal(table, each) for each in ("39", "40", "42")] == ["read/cleaned", None, None]


def test_past_that_a_savepoint_holds_is_accepted(table: MemoryStorage) -> None:
    """Its slices are never cleaned, and its instant is never archived."""
    put(table, ".hoodie/20.savepoint")
    clean(table, earliest="40")
    assert refusal(table, "20") is None
    assert refusal(table, "21") == "read/archived"
