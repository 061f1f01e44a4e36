"""Commits as JSON streams: ours, and those of Apache Hudi."""

from __future__ import annotations

import contextlib
import io
import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from framework.errors import CorruptFileError
from framework.hudi.codecs.avro import write_container
from framework.hudi.storage.local import LocalStorage
from framework.hudi.storage.memory import MemoryStorage
from framework.hudi.timeline.commit_body import read_commit, read_commit_body
from framework.hudi.timeline.commit_metadata import (
    CommitHead,
    LogAppend,
    WriteStat,
    read_commit_head,
    write_commit,
)
from framework.hudi.timeline.requested_plans import REQUESTED_REPLACE, requested_replace_bytes
from tests.golden.tables.opening import open_golden
from tests.support.storage_suite import put, read

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
    log=st.none() | st.builds(LogAppend, version=st.integers(0, 2**31 - 1), base_file=TEXTS),
)
REPLACED = st.dictionaries(TEXTS, st.lists(TEXTS, max_size=3), max_size=3)
MERGED = "written-merge-on-read-0.15.0"
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
        assert back == replace(stat, partition_path=partition)
    assert next(iter(document)) == "extraMetadata"
    assert list(document["partitionToWriteStats"]) == list(parts)


def golden_commit(number: int) -> dict[str, Any]:
    """Return the document of a commit of Apache Hudi 0.15.0 to a merge-on-read table."""
    folder = open_golden(MERGED).location / ".hoodie"
    document: dict[str, Any] = json.loads(sorted(folder.glob("*.deltacommit"))[number].read_text())
    return document


def test_write_stats_have_the_keys_of_apache_hudi_in_its_order(storage: MemoryStorage) -> None:
    """New base files, new versions and log files of a table that Hudi 0.15.0 wrote.

    Written again they are the same, but for the times that its tasks took.
    """
    logs = 0
    for number in range(2):
        path = f"c{number}"
        theirs = golden_commit(number)["partitionToWriteStats"]
        put(storage, path, json.dumps(golden_commit(number)).encode())
        stats = list(read_commit(storage, path))
        with storage.create(f"{path}-again") as out:
            write_commit(out, CommitHead(), [(s.partition_path, [s]) for s in stats])
        ours = json.loads(read(storage, f"{path}-again"))["partitionToWriteStats"]
        for partition, (stat,) in theirs.items():
            assert list(ours[partition][0].items()) == list((stat | {"runtimeStats": None}).items())
            logs += "logVersion" in stat
    assert logs == 1


def test_write_stat_of_a_log_file_says_which_base_file_it_belongs_to(
    storage: MemoryStorage,
) -> None:
    """As Hudi 0.15.0 wrote it; 1.2.0 says the same and leaves out the column statistics."""
    put(storage, "c", json.dumps(golden_commit(1)).encode())
    (stat,) = (each for each in read_commit(storage, "c") if each.log)
    group = "c2b03a94-2719-4110-a41b-3552c777f9dd-1"
    base = f"{group}_0-60-0_20261121042916678.parquet"
    assert stat.log == LogAppend(version=1, base_file=base)
    assert (stat.file_id, stat.previous) == (group, "20261121042916678")
    assert (stat.rows, stat.updates, stat.inserts) == (2, 2, 0)


def test_write_stat_of_a_new_group_has_the_text_null_for_its_slice_before(
    storage: MemoryStorage,
) -> None:
    """Readers want a text there."""
    stat = WriteStat(file_id="f", path="f.parquet", partition_path="", rows=1, size=2)
    with storage.create("c") as out:
        write_commit(out, CommitHead(), [("", [stat])])
    (written,) = json.loads(read(storage, "c"))["partitionToWriteStats"][""]
    assert written["prevCommit"] == "null"
    assert "logVersion" not in written


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
    assert read_commit_body(storage, "c").replaced == {}


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
    assert read_commit_body(storage, "c").replaced == {"p=1": {"a", "b"}, "p=2": set()}


@pytest.mark.property
@settings(deadline=None)
@given(REPLACED, st.lists(STATS, max_size=2))
def test_replaced_file_ids_that_are_written_are_read_back(
    replaced: dict[str, list[str]], stats: list[WriteStat]
) -> None:
    """Beside the files; a replacecommit that hides nothing says so, other commits say nothing."""
    storage = MemoryStorage(uuid4().hex)
    with storage.create("c") as out:
        assert write_commit(out, CommitHead(), [("", stats)], replaced=replaced) == len(stats)
    with storage.create("other") as out:
        write_commit(out, CommitHead(), [("", stats)])
    document = json.loads(read(storage, "c"))
    found = read_commit_body(storage, "c").replaced
    other = json.loads(read(storage, "other"))
    nothing = read_commit_body(storage, "other").replaced
    storage.forget()
    assert found == {partition: frozenset(ids) for partition, ids in replaced.items()}
    assert document.pop("partitionToReplaceFileIds") == replaced
    assert document == other
    assert nothing == {}


def test_head_of_a_plan_in_avro_is_read_by_the_same_names(storage: MemoryStorage) -> None:
    """A clustering's plan says what it is; others have neither of the two."""
    plan = {"operationType": "CLUSTER", "extraMetadata": {"a": "b"}}
    put(storage, "c", write_container(REQUESTED_REPLACE, plan))
    assert read_commit_head(storage, "c") == CommitHead(extra={"a": "b"}, operation="CLUSTER")
    fields = [{"name": "version", "type": "int"}]
    other = {"type": "record", "name": "HoodieRollbackPlan", "fields": fields}
    put(storage, "d", write_container(other, {"version": 1}))
    assert read_commit_head(storage, "d") == CommitHead()
    put(storage, "e", b"Obj\x01" + b"?" * 50)
    with pytest.raises(CorruptFileError) as caught:
        read_commit_head(storage, "e")
    assert caught.value.condition == "avro/corrupt"
    assert caught.value.where.file == f"{storage.location}/e"


@pytest.mark.parametrize("data", [b"", b"{}", b'{"extraMetadata":{"a":"b"}}'])
def test_head_of_a_file_on_disk_is_read_from_its_beginning(tmp_path: Path, data: bytes) -> None:
    """Looking what kind of file it is takes nothing away from it."""
    storage = LocalStorage(str(tmp_path))
    put(storage, "c", data)
    expected = {"a": "b"} if len(data) > 2 else {}
    assert dict(read_commit_head(storage, "c").extra) == expected
    put(storage, "d", requested_replace_bytes({"a": "b"}))
    assert dict(read_commit_head(storage, "d").extra) == {"a": "b"}


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


def test_head_with_another_schema_than_was_written_is_refused(tmp_path: Path) -> None:
    """One bit would rename a column, and it would be null in each row."""
    storage = LocalStorage(str(tmp_path))
    schema = '{"type":"record","fields":[{"name":"price"}]}'
    out = io.BytesIO()
    write_commit(out, CommitHead(extra={"schema": schema, "a": "ü"}, operation="UPSERT"), [])
    path = tmp_path / "1.commit"
    path.write_bytes(out.getvalue())
    assert read_commit_head(storage, "1.commit").extra == {"schema": schema, "a": "ü"}
    path.write_bytes(out.getvalue().replace(b"price", b"qrice"))
    with pytest.raises(CorruptFileError) as caught:
        read_commit_head(storage, "1.commit")
    assert caught.value.condition == "timeline/corrupt-commit"
    assert caught.value.where.file == str(path)
    path.write_bytes(out.getvalue().replace(b"lakestrap.checksum", b"lakestrap.chicksum"))
    assert read_commit_head(storage, "1.commit").extra["schema"] == schema
