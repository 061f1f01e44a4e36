"""The read-back: what storages lose after a successful write is never published."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from framework.engine.audit import stored
from framework.engine.audit.gate import audit
from framework.engine.audit.stored import read_back, sample
from framework.engine.bootstrap import write as bootstrap_write
from framework.engine.bootstrap.write import Ledger, write_files
from framework.engine.load import job as load_job
from framework.errors import CorruptFileError, FrameworkError
from framework.hudi.commit.segments import merge_segments, write_segment
from framework.hudi.commit.statuses import WrittenFiles, written_files
from framework.hudi.storage.locations import open_storage
from framework.hudi.storage.port import Entry
from framework.hudi.timeline.timeline import load_timeline
from framework.vocabulary import AuditDepth, BootstrapMode, TableType, WriteOperation
from tests.support.lossy_storage import LossyStorage
from tests.support.sources import SourceContext, ids, source_context
from tests.support.writing import Lake, load, rows_of

FILES = {f"p={n}/a": ids(2 * n, 2 * n + 1) for n in range(6)}
DIFFERS = "audit/stored-differs"


def cut(data: bytes) -> bytes:
    """Lose the end."""
    return data[:-9]


def turned(data: bytes) -> bytes:
    """Turn one bit in the middle."""
    middle = len(data) // 2
    return data[:middle] + bytes([data[middle] ^ 1]) + data[middle + 1 :]


def zeroed(data: bytes) -> bytes:
    """Keep the size, as file systems do that lose pages."""
    return bytes(len(data))


def lost(data: bytes) -> None:
    """Keep nothing."""
    del data


def wrote(context: SourceContext, mode: BootstrapMode = BootstrapMode.METADATA_ONLY) -> Any:
    """Write all files."""
    return write_files(
        context.tasks, context.job, context.ranges(mode), Ledger(journal=lambda _: None)
    )


def condition(action: Callable[[], object]) -> str:
    """Return the condition of the refusal."""
    with pytest.raises(CorruptFileError) as caught:
        action()
    return caught.value.condition


@pytest.mark.parametrize("mode", [BootstrapMode.METADATA_ONLY, BootstrapMode.FULL_RECORD])
@pytest.mark.parametrize("damage", [cut, turned, zeroed, lost])
def test_audit_of_files_that_a_storage_altered_after_writing_refuses(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    damage: Callable[[bytes], bytes | None],
    mode: BootstrapMode,
) -> None:
    """Every write succeeded, and every status is right about what was in memory."""
    context = source_context(tmp_path, FILES)
    lossy = LossyStorage(inner=open_storage(context.table), damage=damage)
    opened = {context.table: lossy}
    monkeypatch.setattr(
        bootstrap_write, "open_storage", lambda at: opened.get(at) or open_storage(at)
    )
    written = wrote(context, mode)
    assert len(lossy.damaged) == written.files == len(FILES)
    assert condition(lambda: audit(context.tasks, written, context.place)) == DIFFERS


def test_audit_of_stored_files_records_what_was_read(tmp_path: Path) -> None:
    """A small table is read whole."""
    context = source_context(tmp_path, FILES)
    written = wrote(context)
    proof = audit(context.tasks, written, context.place).proof
    assert proof["read_back"] == {
        "depth": "sample",
        "files": len(FILES),
        "rows": written.rows,
        "bytes": written.bytes,
    }
    assert (proof["unique"], proof["not_null"]) == (True, True)


@pytest.mark.parametrize(
    ("column", "value"),
    [("rows", 3), ("min_key", "0"), ("max_key", "9"), ("size", 1), ("crc32c", 1)],
)
def test_read_back_of_a_status_that_differs_in_one_fact_refuses(
    tmp_path: Path, column: str, value: object
) -> None:
    """The facts are compared one by one: the bytes are as they were written."""
    context = source_context(tmp_path, {"p=1/a": ids(5, 6)})
    told = with_statuses(context, wrote(context), column, value)
    with pytest.raises(CorruptFileError) as caught:
        read_back(context.tasks, told, context.table, AuditDepth.SAMPLE)
    assert caught.value.condition == DIFFERS
    assert caught.value.where.partition == "p=1"


def test_read_back_of_a_status_of_a_lost_attempt_refuses(tmp_path: Path) -> None:
    """The status names files of an attempt that was swept; those of another do not replace them."""
    context = source_context(tmp_path, FILES)
    first, second = wrote(context), wrote(context)
    storage = open_storage(context.table)
    gone = staged_folder(context, first)
    storage.delete(gone)
    assert storage.stat(gone) is None
    assert read_back(context.tasks, second, context.table, AuditDepth.DEEP).files == len(FILES)
    refused = condition(lambda: read_back(context.tasks, first, context.table, AuditDepth.DEEP))
    assert refused == DIFFERS


def test_read_back_of_a_status_with_the_files_of_another_attempt_refuses(tmp_path: Path) -> None:
    """Files of the same name and rows, written for another instant, are other files."""
    context = source_context(tmp_path, FILES)
    other = replace(context, job=replace(context.job, instant="20260101000000000"))
    mine, theirs = wrote(context), wrote(other)
    told = with_statuses(context, mine, "staged", None, of=theirs)
    assert staged_folder(context, told) == staged_folder(context, theirs)
    refused = condition(lambda: read_back(context.tasks, told, context.table, AuditDepth.SAMPLE))
    assert refused == DIFFERS


@pytest.mark.parametrize("deleted", [False, True])
def test_read_back_with_a_storage_that_describes_files_falsely_refuses(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, deleted: bool
) -> None:
    """It denies files that are there, or describes files that are gone."""
    context = source_context(tmp_path, FILES)
    written = wrote(context)
    inner = open_storage(context.table)
    if deleted:
        lossy: LossyStorage = Remembering(inner=inner)
        inner.delete(staged_folder(context, written))
    else:
        lossy = LossyStorage(inner=inner, lie=lambda _: None)

    def opened(location: str) -> Any:
        assert location == context.table
        return lossy

    monkeypatch.setattr(stored, "open_storage", opened)
    with pytest.raises(FrameworkError) as caught:
        read_back(context.tasks, written, context.table, AuditDepth.DEEP)
    assert caught.value.condition == DIFFERS
    assert lossy.lies


class Remembering(LossyStorage):
    """Says that every file is there, as a cache of attributes does."""

    def stat(self, path: str) -> Entry | None:
        """Return what was there."""
        self.lies.append(path)
        return Entry(path=path, is_folder=False, size=1, mtime_ns=1)


def test_sample_reads_some_files_of_every_task_and_the_same_ones_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It depends on nothing but the statuses; a damaged file outside it needs `deep`."""
    context = source_context(tmp_path, FILES, parallelism=2)
    written = wrote(context)
    monkeypatch.setattr(stored, "_SAMPLE_FILES", 2)
    chosen = sample(written, context.table)
    assert chosen == sample(written, context.table)
    assert sum(map(len, chosen.values())) == 2
    assert len(chosen) == min(2, len(written.segments))
    numbers = {number for each in chosen.values() for number in each}
    status = next(s for s in statuses(context, written) if s["number"] not in numbers)
    path = Path(context.table) / status["staged"]
    path.write_bytes(turned(path.read_bytes()))
    found = read_back(context.tasks, written, context.table, AuditDepth.SAMPLE)
    assert found.files == 2
    refused = condition(lambda: read_back(context.tasks, written, context.table, AuditDepth.DEEP))
    assert refused == DIFFERS


@pytest.mark.parametrize("damage", [cut, turned, lost])
@pytest.mark.parametrize("kind", TableType)
def test_load_through_a_storage_that_alters_files_publishes_nothing(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    kind: TableType,
    damage: Callable[[bytes], bytes | None],
) -> None:
    """Base files and log files alike; the table is as it was before."""
    lake = Lake(folder=tmp_path, type=kind, ordering="ts")
    load(lake, WriteOperation.INSERT, [{"id": n, "day": "mon", "ts": 1} for n in range(3)])
    before = rows_of(lake.location)
    lossy = LossyStorage(inner=open_storage(lake.location), damage=damage)
    monkeypatch.setattr(load_job, "open_storage", lambda _: lossy)
    changed = [{"id": 0, "day": "mon", "ts": 2}]
    assert condition(lambda: load(lake, WriteOperation.UPSERT, changed)) == DIFFERS
    assert len(lossy.damaged) == 1
    assert (".log." in lossy.damaged[0]) is (kind is TableType.MERGE_ON_READ)
    monkeypatch.undo()
    assert rows_of(lake.location) == before
    assert len(load_timeline(open_storage(lake.location)).completed) == 1


def statuses(context: SourceContext, written: WrittenFiles) -> list[dict[str, Any]]:
    """Return all statuses."""
    batches = merge_segments(open_storage(context.table), written.segments)
    return [row for batch in batches for row in batch.to_pylist()]


def staged_folder(context: SourceContext, written: WrittenFiles) -> str:
    """Return the folder of the attempt that wrote the files."""
    (folder,) = {each["staged"].rpartition("/")[0] for each in statuses(context, written)}
    return str(folder)


def with_statuses(
    context: SourceContext,
    written: WrittenFiles,
    column: str,
    value: object,
    of: WrittenFiles | None = None,
) -> WrittenFiles:
    """Return the files with another value in their statuses, or that of other files."""
    rows = statuses(context, written)
    values = [value] * len(rows) if of is None else [e[column] for e in statuses(context, of)]
    table = pa.Table.from_batches(
        list(merge_segments(open_storage(context.table), written.segments))
    )
    at = table.schema.get_field_index(column)
    field = table.schema.field(at)
    table = table.set_column(at, field, pa.array(values, field.type))
    return written_files([write_segment(open_storage(context.table), "told.arrow", table)])
