"""The contents of files, read whole: footers, pages, log blocks, and sources of skeletons.

A task is a pure function of its descriptor; a damaged file is a finding, not an error. So is a log
block of an instant that neither the timeline nor a rollback block knows: readers skip it now, but
once the timeline has moved past the instant they would take it for an archived one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

from framework.engine.fsck.findings import Check, Severity, TableFinding, of_error
from framework.engine.fsck.listing import ListedFile
from framework.engine.reading.slice_rows import SliceTable, stored_schema
from framework.engine.reading.verified_files import verify_base_file, verify_source
from framework.engine.tasks import Tasks, decode, encode, shared
from framework.errors import CorruptFileError, FrameworkError, UnsupportedTableError, Where
from framework.hudi.codecs.log_format import BlockKind, HeaderKey, read_blocks
from framework.hudi.codecs.parquet_seal import UNREADABLE
from framework.hudi.filegroup.log_changes import LogPart, read_changes
from framework.hudi.filegroup.slices import LogFileName
from framework.hudi.storage.locations import open_storage
from framework.hudi.storage.port import Storage
from framework.hudi.table.layout import name_of, parent_of
from framework.hudi.timeline.timeline import Timeline

__all__ = ["ContentsRead", "check_contents", "read_task"]

_LEAST_BYTES: Final = 1 << 20
"""Bytes that are worth a task of their own."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadTask:
    """Some files to read, and how their table is read."""

    slices: SliceTable
    files: tuple[ListedFile, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ContentsRead:
    """What a task found: rows of base files, and findings."""

    rows: int
    findings: tuple[TableFinding, ...]


def check_contents(
    tasks: Tasks, slices: SliceTable, files: Sequence[ListedFile]
) -> Iterator[ContentsRead]:
    """Yield what is in files, in tasks shared by bytes, in no defined order."""
    parts = shared(files, lambda each: each.size, tasks.parallelism, least=_LEAST_BYTES)
    descriptors = [encode(ReadTask(slices=slices, files=tuple(part))) for part in parts]
    for status in tasks.run(read_task, descriptors):
        yield decode(ContentsRead, status)


def read_task(descriptor: str) -> str:
    """Read the files of a `ReadTask`; return `ContentsRead` as JSON."""
    task = decode(ReadTask, descriptor)
    storage = open_storage(task.slices.location)
    rows = 0
    findings: list[TableFinding] = []
    for file in task.files:
        try:
            rows += _read(storage, task.slices, file, findings)
        except FrameworkError as error:
            severity = Severity.ERROR
            if isinstance(error, UnsupportedTableError):  # not damaged, but not checked either
                severity = Severity.WARNING
            found = of_error(Check.CONTENTS, error, storage.location, severity)
            findings.append(replace(found, partition=file.partition_path))
    return encode(ContentsRead(rows=rows, findings=tuple(findings)))


def _read(
    storage: Storage, slices: SliceTable, file: ListedFile, findings: list[TableFinding]
) -> int:
    """Read one file; return its rows, 0 for a log file.

    Raises:
        FrameworkError: it is damaged.
    """
    if name_of(file.path).startswith("."):
        parts = [LogPart(file.path, file.extents)]
        for _ in read_changes(storage, parts, stored_schema(slices), slices.timeline.is_completed):
            pass
        findings += _unknown_blocks(storage, slices.timeline, file.path, file.partition_path)
        return 0
    rows = _rows(storage, file.path)
    if file.rows is not None and rows != file.rows:
        findings.append(
            TableFinding(
                check=Check.CONTENTS,
                severity=Severity.ERROR,
                condition="fsck/rows-differ",
                message=f"the file has {rows:,} rows, but its commit recorded {file.rows:,}",
                remedy="Restore it from a copy, or restore the table to an instant before.",
                file=file.path,
                partition=file.partition_path,
            )
        )
    if file.source:
        folder = open_storage(parent_of(file.source))
        source = f"{folder.location}/{name_of(file.source)}"
        verify_source(source, f"{storage.location}/{file.path}", every_page=True)
    return rows


def _rows(storage: Storage, path: str) -> int:
    """Return the rows of a base file after reading all of it.

    Raises:
        CorruptFileError: `file/not-readable`.
    """
    try:
        with storage.open_input(path) as source:
            rows: int = verify_base_file(source, every_page=True).num_rows
    except UNREADABLE as error:
        raise CorruptFileError(
            "file/not-readable",
            f"the file cannot be read: {error}",
            where=Where(file=f"{storage.location}/{path}"),
            remedy="Restore the file from a copy.",
        ) from error
    return rows


def _unknown_blocks(
    storage: Storage, timeline: Timeline, path: str, partition_path: str
) -> Iterator[TableFinding]:
    """Yield a finding for each unknown instant in a log file.

    Reads the headers of its blocks, and only if one is unknown also those of its slice's other log
    files, for rollback blocks.

    Raises:
        CorruptFileError: a log file is damaged.
    """
    with storage.open_input(path) as source:
        data = [block for block in read_blocks(source) if block.kind is not BlockKind.COMMAND]
    instants = filter(None, (block.header.get(HeaderKey.INSTANT_TIME) for block in data))
    unknown = {e for e in instants if not timeline.is_completed(e) and not timeline.find(e)}
    if not unknown:
        return
    for instant in sorted(unknown - _rolled_back(storage, path)):
        yield TableFinding(
            check=Check.CONTENTS,
            severity=Severity.WARNING,
            condition="fsck/unknown-block",
            message="a log file has blocks of an instant that is not on the timeline, and that no "
            "rollback block takes back: readers skip them until the timeline has moved past it",
            remedy="Merge the slice before that with `run-pipeline compact`; a clean then deletes "
            "the log file.",
            file=path,
            partition=partition_path,
            instant=instant,
        )


def _rolled_back(storage: Storage, path: str) -> set[str]:
    """Return the instants that rollback blocks in the slice of a log file take back."""
    mine = LogFileName.parse(name_of(path))
    found: set[str] = set()
    for entry in storage.list(parent_of(path)):
        log = LogFileName.parse(entry.name)
        if mine and log and (log.file_id, log.base_instant) == (mine.file_id, mine.base_instant):
            with storage.open_input(entry.path) as source:
                found.update(
                    block.header.get(HeaderKey.TARGET_INSTANT_TIME, "")
                    for block in read_blocks(source)
                    if block.kind is BlockKind.COMMAND
                )
    return found
