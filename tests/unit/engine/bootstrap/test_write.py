"""Writing all files of a bootstrap, resuming it, and what a task leaves."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from framework.engine.bootstrap.begin import usable_segments
from framework.engine.bootstrap.commit import check_drift
from framework.engine.bootstrap.job import WorkRange
from framework.engine.bootstrap.write import Ledger, write_files
from framework.engine.events import Event, Progress
from framework.engine.run import durable_files
from framework.errors import SourceDriftError, StorageError
from framework.hudi.commit.segments import SegmentRef, merge_segments
from framework.hudi.commit.statuses import WrittenFiles
from framework.hudi.storage.checksum import file_crc32c
from framework.hudi.storage.local import LocalStorage
from framework.hudi.storage.port import Move
from framework.vocabulary import BootstrapMode
from tests.support.sources import SourceContext, a_source, ids, source_context

FILES = {"p=1/a": ids(1, 2), "p=1/b": ids(3), "p=2/a": ids(), "p=2/b": ids(9, 8)}


def write(
    context: SourceContext, mode: BootstrapMode = BootstrapMode.METADATA_ONLY
) -> WrittenFiles:
    """Write all files."""
    return write_files(
        context.tasks, context.job, context.ranges(mode), Ledger(journal=lambda _: None)
    )


def statuses(context: SourceContext, segments: tuple[SegmentRef, ...]) -> list[dict[str, object]]:
    """Return all statuses by number."""
    batches = merge_segments(LocalStorage(context.table), segments)
    return [row for batch in batches for row in batch.to_pylist()]


def test_write_files_statuses_are_true(tmp_path: Path) -> None:
    """Each status says what is in the staged file and where it came from."""
    context = source_context(tmp_path, FILES)
    written = write(context)
    assert (written.files, written.rows) == (4, 5)
    storage = LocalStorage(context.table)
    found = statuses(context, written.segments)
    assert [row["number"] for row in found] == [0, 1, 2, 3]
    for row in found:
        path = str(row["staged"])
        entry = storage.stat(path)
        assert entry is not None
        assert entry.size == row["size"]
        assert file_crc32c(storage, path) == row["crc32c"]
        assert path.endswith(f"/{row['name']}")
        assert pq.read_metadata(Path(context.table) / path).num_rows == row["rows"]
    assert sum(int(str(row["size"])) for row in found) == written.bytes
    assert [row["increasing"] for row in found] == [True, True, True, False]
    assert [row["source_path"] for row in found] == list(FILES)


def test_write_files_every_attempt_makes_the_same_files(tmp_path: Path) -> None:
    """Names, checksums and statuses do not depend on attempt or sharing."""
    first = source_context(tmp_path / "a", FILES)
    again = source_context(tmp_path / "b", FILES, parallelism=2)
    names = ("number", "file_id", "name", "rows", "min_key", "order_first", "null_keys")
    one, other = (
        [{name: row[name] for name in names} for row in statuses(b, write(b).segments)]
        for b in (first, again)
    )
    assert one == other
    twice = [row["crc32c"] for row in statuses(first, write(first).segments)]
    assert twice == [row["crc32c"] for row in statuses(first, write(first).segments)]


def test_write_files_many_files_are_stored_by_threads(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Checksums stay with their files, and few wait at a time."""
    monkeypatch.setattr(durable_files, "_MOST_WAITING", 3)
    monkeypatch.setattr(durable_files, "_INLINE_FILES", 2)
    context = source_context(tmp_path, {f"p=1/{n:03}": ids(n, n + 1000) for n in range(40)})
    for row in statuses(context, write(context).segments):
        assert file_crc32c(LocalStorage(context.table), str(row["staged"])) == row["crc32c"]


def test_write_files_failing_store_is_raised(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A full disk in a thread ends the task with its own error."""
    monkeypatch.setattr(durable_files, "_INLINE_FILES", 0)
    context = source_context(tmp_path, FILES)
    (Path(context.table)).mkdir()
    (Path(context.table) / "attempts").write_text("in the way")
    with pytest.raises(StorageError):
        write(context)


def test_write_files_full_records(tmp_path: Path) -> None:
    """Full files have the rows; the stage is named after them."""
    heard: list[Event] = []
    context = source_context(tmp_path, FILES)
    written = write_files(
        context.tasks,
        context.job,
        context.ranges(BootstrapMode.FULL_RECORD),
        Ledger(journal=lambda _: None),
        events=heard.append,
    )
    row = statuses(context, written.segments)[0]
    table = pq.read_table(Path(context.table) / str(row["staged"]))
    assert table.select(["id", "p"]).to_pylist() == [{"id": 1, "p": 1}, {"id": 2, "p": 1}]
    assert row["mode"] == BootstrapMode.FULL_RECORD
    assert [e.stage for e in heard if isinstance(e, Progress)] == ["full_records"]


def test_write_files_journals_before_it_continues(tmp_path: Path) -> None:
    """Each segment is recorded once; a journal that fails stops the run."""
    context = source_context(tmp_path, FILES)
    journaled: list[SegmentRef] = []
    written = write_files(
        context.tasks, context.job, context.ranges(), Ledger(journal=journaled.append)
    )
    assert tuple(journaled) == written.segments


def test_write_files_source_that_changed_is_refused(tmp_path: Path) -> None:
    """Between inventory and skeleton nothing may change."""
    context = source_context(tmp_path, FILES)
    a_source(tmp_path / "source", {"p=1/b": ids(4)})
    with pytest.raises(SourceDriftError):
        write(context)


def test_write_files_resumes_with_what_is_whole(tmp_path: Path) -> None:
    """Only what is missing is written; the result is as if nothing had happened."""
    context = source_context(tmp_path, FILES)
    storage = LocalStorage(context.table)
    part = [WorkRange(start=1, stop=3, mode=BootstrapMode.METADATA_ONLY)]
    first = write_files(context.tasks, context.job, part, Ledger(journal=lambda _: None))
    done = list(usable_segments(storage, first.segments, context.job))
    assert done == list(first.segments)
    journaled: list[SegmentRef] = []
    ledger = Ledger(journal=journaled.append, done=done)
    written = write_files(context.tasks, context.job, context.ranges(), ledger)
    assert sum(segment.files for segment in journaled) == 2
    assert [row["number"] for row in statuses(context, written.segments)] == [0, 1, 2, 3]
    nothing = Ledger(journal=journaled.append, done=written.segments)
    assert write_files(context.tasks, context.job, context.ranges(), nothing) == written
    assert len(journaled) == 1


def _damage(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)


@pytest.mark.parametrize("what", ["segment", "spill", "staged", "gone"])
def test_usable_segments_leave_out_what_is_damaged(tmp_path: Path, what: str) -> None:
    """A segment is kept whole or not at all."""
    context = source_context(tmp_path, FILES)
    (segment,) = write(context).segments
    table = Path(context.table)
    staged = table / str(statuses(context, (segment,))[0]["staged"])
    match what:
        case "segment":
            _damage(table / segment.path)
        case "spill":
            _damage(table / f"{segment.path}.spill")
        case "staged":
            _damage(staged)
        case _:
            staged.unlink()
    assert list(usable_segments(LocalStorage(context.table), [segment], context.job)) == []


def test_usable_segments_find_files_that_have_their_name_already(tmp_path: Path) -> None:
    """A run that died while linking continues with its linked files."""
    context = source_context(tmp_path, FILES)
    (segment,) = write(context).segments
    storage = LocalStorage(context.table)
    row = statuses(context, (segment,))[0]
    target = f"{row['partition_path']}/{row['name']}"
    storage.move([Move(source=str(row["staged"]), target=target)])
    assert list(usable_segments(storage, [segment], context.job)) == [segment]


def test_check_drift_sees_size_and_time(tmp_path: Path) -> None:
    """The last look, over the files that are part of the table only."""
    context = source_context(tmp_path, FILES)
    keys = context.job.keys
    check_drift(context.tasks, keys, context.ranges())
    path = tmp_path / "source" / "p=2" / "a"
    path.write_bytes(path.read_bytes())
    with pytest.raises(SourceDriftError):
        check_drift(context.tasks, keys, context.ranges())
    check_drift(context.tasks, keys, [WorkRange(start=0, stop=2, mode=BootstrapMode.METADATA_ONLY)])
    check_drift(context.tasks, keys, [])


def test_write_files_source_without_key_column_in_files(tmp_path: Path) -> None:
    """Columns of the folder alone can be the key; the text is the same in each row."""
    context = source_context(tmp_path, {"p=1/a": pa.table({"v": [1.5]})}, bits=0)
    assert context.rule.record_key == ("id",)
