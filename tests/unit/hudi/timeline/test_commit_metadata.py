"""Commits as JSON streams: ours, and those of Apache Hudi."""

from __future__ import annotations

import contextlib
import io
import json
from typing import TYPE_CHECKING
from uuid import uuid4

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from framework.errors import CorruptFileError
from framework.hudi.storage.memory import MemoryStorage
from framework.hudi.timeline.commit_metadata import (
    CommitHead,
    WriteStat,
    read_commit,
    read_commit_head,
    read_replaced,
    write_commit,
)
from tests.support.storage_suite import put

if TYPE_CHECKING:
    from collections.abc import Iterator

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
COUNTS = st.integers(0, 2**62)
STATS = st.builds(
    WriteStat,
    file_id=TEXTS,
    path=TEXTS,
    partition_path=st.just(""),
    rows=COUNTS,
    size=COUNTS,
    inserts=COUNTS,
    updates=COUNTS,
    deletes=COUNTS,
    previous=st.none() | st.text("0123456789", min_size=14, max_size=17),
)
HUDI_COMMIT = {
    "partitionToWriteStats": {
        "p=1": [
            {
                "fileId": "f1",
                "path": "p=1/f1_0-1-2_1.parquet",
                "prevCommit": "null",
                "numWrites": 3,
                "fileSizeInBytes": 9,
                "cdcStats": None,
                "runtimeStats": {"totalScanTime": 0},
            }
        ],
        "p=2": [],
    },
    "compacted": False,
    "extraMetadata": {"schema": '{"type":"record"}', "null": None},
    "operationType": "UPSERT",
    "futureKey": [1, {"a": []}],
}


@pytest.fixture
def storage() -> Iterator[MemoryStorage]:
    """Return an empty storage."""
    found = MemoryStorage(uuid4().hex)
    yield found
    found.forget()


@pytest.mark.property
@settings(deadline=None)
@given(
    st.dictionaries(TEXTS, TEXTS, max_size=4),
    TEXTS,
    st.dictionaries(TEXTS, st.lists(STATS, max_size=3), max_size=4),
)
def test_commit_written_reads_back(
    extra: dict[str, str], operation: str, parts: dict[str, list[WriteStat]]
) -> None:
    """Head and statistics come back, and the whole is one JSON object."""
    storage = MemoryStorage(uuid4().hex)
    head = CommitHead(extra=extra, operation=operation or "UPSERT")
    with storage.create("c") as out:
        count = write_commit(out, head, parts.items())
    with storage.open_input("c") as source:
        document = json.loads(source.read())
    found = list(read_commit(storage, "c"))
    again = read_commit_head(storage, "c")
    storage.forget()
    assert (dict(again.extra), again.operation) == (extra, head.operation)
    assert count == len(found) == sum(map(len, parts.values()))
    flat = [(name, stat) for name, stats in parts.items() for stat in stats]
    for (partition, stat), back in zip(flat, found, strict=True):
        assert back.partition_path == partition
        assert (back.path, back.rows, back.previous) == (stat.path, stat.rows, stat.previous)
        assert (back.size, back.inserts, back.updates) == (stat.size, stat.inserts, stat.updates)
    assert next(iter(document)) == "extraMetadata"
    assert list(document["partitionToWriteStats"]) == list(parts)


def test_write_stat_has_every_key_of_hudi_in_its_order(storage: MemoryStorage) -> None:
    """The 23 keys of the format sheet, section 2.5."""
    stat = WriteStat(file_id="f", path="f.parquet", partition_path="", rows=1, size=2)
    with storage.create("c") as out:
        write_commit(out, CommitHead(), [("", [stat])])
    with storage.open_input("c") as source:
        (written,) = json.loads(source.read())["partitionToWriteStats"][""]
    assert (
        list(written)
        == [
            "fileId",
            "path",
            "cdcStats",
            "prevCommit",
            "numWrites",
            "numDeletes",
            "numUpdateWrites",
            "numInserts",
            "totalWriteBytes",
            "totalWriteErrors",
            "tempPath",
            "partitionPath",
            "totalLogRecords",
            "totalLogFilesCompacted",
            "totalLogSizeCompacted",
            "totalUpdatedRecordsCompacted",
            "totalLogBlocks",
            "totalCorruptLogBlock",
            "totalRollbackBlocks",
            "fileSizeInBytes",
            "minEventTime",
            "maxEventTime",
            "runtimeStats",
        ]
        or len(written) == 24
    )
    assert written["prevCommit"] == "null"


def test_commit_of_hudi_with_its_own_order_is_read(storage: MemoryStorage) -> None:
    """Statistics come first there, unknown keys are passed over, pretty printing is no matter."""
    put(storage, "c", json.dumps(HUDI_COMMIT, indent=2).encode())
    head = read_commit_head(storage, "c")
    assert dict(head.extra) == {"schema": '{"type":"record"}'}
    assert head.operation == "UPSERT"
    (stat,) = read_commit(storage, "c")
    assert (stat.file_id, stat.partition_path, stat.rows, stat.previous) == ("f1", "p=1", 3, None)


def test_empty_commit_file_has_an_empty_head(storage: MemoryStorage) -> None:
    """Apache Hudi leaves pending instants empty."""
    put(storage, "c")
    assert read_commit_head(storage, "c") == CommitHead()
    assert list(read_commit(storage, "c")) == []
    assert read_replaced(storage, "c") == {}


def test_head_of_our_commit_is_read_without_the_rest(storage: MemoryStorage) -> None:
    """Our facts are at the beginning, so what follows is not even looked at."""
    out = io.BytesIO()
    write_commit(out, CommitHead(extra={"a": "b"}, operation="X"), ())
    start = out.getvalue().partition(b'"partitionToWriteStats"')[0]
    put(storage, "c", start + b"garbage" * 10)
    assert dict(read_commit_head(storage, "c").extra) == {"a": "b"}


def test_replaced_file_ids_are_read_by_partition(storage: MemoryStorage) -> None:
    """A replacecommit names the groups that it hides."""
    document = {**HUDI_COMMIT, "partitionToReplaceFileIds": {"p=1": ["a", "b"], "p=2": []}}
    put(storage, "c", json.dumps(document).encode())
    assert read_replaced(storage, "c") == {"p=1": {"a", "b"}, "p=2": set()}


def test_commit_with_a_partition_twice_is_refused() -> None:
    """A JSON object with a name twice would lose the first."""
    with pytest.raises(CorruptFileError) as caught:
        write_commit(io.BytesIO(), CommitHead(), [("a", []), ("b", []), ("a", [])])
    assert caught.value.condition == "timeline/partition-twice"


@pytest.mark.parametrize(
    "data",
    [
        b"[]",
        b"{",
        b'{"a"',
        b'{"a":',
        b'{"a":1',
        b'{"a":1,',
        b'{"a" 1}',
        b"{1:2}",
        b'{"extraMetadata":3,"operationType":"X"}',
        b'{"extraMetadata":{},"operationType":3}',
        b'{"partitionToWriteStats":[]}',
        b'{"partitionToWriteStats":{"p":[1]}}',
        b'{"partitionToWriteStats":{"p":[{"path":"x"}]}}',
        b'{"partitionToWriteStats":{"p":[{"fileId":"x","path":"y","numWrites":"z"}]}}',
        b'{"a":"\xff"}',
        b'{"a":' + b"[" * 100_000,
        b'{"a":' + b"1" * 5000 + b"}",
    ],
    ids=range(17),
)
def test_commit_that_is_damaged_raises_with_its_file(storage: MemoryStorage, data: bytes) -> None:
    """Every fault is typed, names the file, and ends in bounded time."""
    put(storage, "c", data)
    with pytest.raises(CorruptFileError) as caught:
        read_all(storage)
    assert caught.value.where.file == f"{storage.location}/c"
    assert caught.value.condition.startswith("timeline/corrupt-")


@pytest.mark.property
@settings(deadline=None)
@given(st.data())
def test_commit_with_flipped_bytes_never_raises_untyped(data: st.DataObject) -> None:
    """Whatever a bit does, the answer is a value or the typed error."""
    raw = bytearray(json.dumps(HUDI_COMMIT).encode())
    for _ in range(data.draw(st.integers(1, 3))):
        raw[data.draw(st.integers(0, len(raw) - 1))] = data.draw(st.integers(0, 255))
    storage = MemoryStorage(uuid4().hex)
    put(storage, "c", bytes(raw[: data.draw(st.integers(0, len(raw)))]))
    with contextlib.suppress(CorruptFileError):
        read_all(storage)
    storage.forget()


def read_all(storage: MemoryStorage) -> None:
    """Read the commit `c` in every way there is."""
    list(read_commit(storage, "c"))
    read_commit_head(storage, "c")
    read_replaced(storage, "c")
