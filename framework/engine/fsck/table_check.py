"""The check of a whole table: one report from all checks. Changes nothing."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Final

from framework.engine.fsck.contents import check_contents
from framework.engine.fsck.description import (
    check_dangers,
    check_index,
    check_properties,
    check_state,
    check_version,
)
from framework.engine.fsck.findings import Check, Checked, Severity, TableFinding, of_error
from framework.engine.fsck.leftovers import check_leftovers
from framework.engine.fsck.listing import Listed, OpenedTable, check_listing
from framework.engine.fsck.unique_keys import prove_keys
from framework.engine.inspect.adoption import folders_apart, sources_of
from framework.engine.reading.slice_rows import SliceTable
from framework.engine.reading.table import open_table
from framework.engine.reading.table_memory import read_memory
from framework.engine.tasks import Tasks
from framework.errors import FrameworkError, PlanError, Where
from framework.hudi.bootstrap.index import BootstrapIndex
from framework.hudi.commit.drop import is_half_dropped
from framework.hudi.commit.lease import current_lease
from framework.hudi.filegroup.merge import MergeRule
from framework.hudi.filegroup.slices import FileSlice
from framework.hudi.storage.locations import open_storage
from framework.hudi.storage.port import Storage
from framework.hudi.table.layout import TABLE_VERSION
from framework.hudi.table.properties import TableProperties, read_properties
from framework.hudi.timeline.clock import Clock, SystemClock
from framework.hudi.timeline.timeline import load_timeline
from framework.hudi.view.recorded import RecordedFiles
from framework.vocabulary import KeyScope

__all__ = ["TableReport", "check_table", "opened", "table_properties"]

_LOOKS: Final = 3
_ORDER: Final = {check: place for place, check in enumerate(Check)}


@dataclass(frozen=True, slots=True, kw_only=True)
class TableReport:
    """The result of a check.

    Attributes:
        location: the table.
        deep: whether contents were read.
        checked: how much was checked.
        findings: errors first, then in the order of the checks.
    """

    location: str
    deep: bool
    checked: Checked
    findings: tuple[TableFinding, ...]


def check_table(
    location: str, tasks: Tasks, *, deep: bool = False, clock: Clock | None = None
) -> TableReport:
    """Check a table and return the report; changes nothing.

    Costs one listing of each folder of the table and of its source, and reads each active commit
    and the bootstrap index; the archive if a file is of an unknown old instant. With `deep` every
    file is read, and that of the source, keys twice where their hashes are equal. What a writer
    changes meanwhile is no finding: the check is repeated, a few times at most.

    Args:
        location: the table.
        tasks: read contents.
        deep: whether to read contents.
        clock: the time; None means the system's.

    Raises:
        PlanError: `table/missing`, `drop/unfinished`.
        StorageError: a folder or file cannot be read.
    """
    storage = open_storage(location)
    clock = clock or SystemClock()
    for _ in range(_LOOKS - 1):
        before = load_timeline(storage).instants
        report = _checked(storage, tasks, clock, deep=deep)
        if not report.findings or load_timeline(storage).instants == before:
            return report
    return _checked(storage, tasks, clock, deep=deep)


def opened(storage: Storage, clock: Clock, properties: TableProperties) -> OpenedTable:
    """Return a table as its checks need it; reads each completed commit.

    Raises:
        CorruptFileError: a commit is damaged.
    """
    timeline = load_timeline(storage)
    lease = current_lease(storage)
    return OpenedTable(
        storage=storage,
        properties=properties,
        timeline=timeline,
        recorded=RecordedFiles(storage, timeline),
        apart=folders_apart(storage, sources_of(storage, properties, timeline)),
        is_live=lease is not None and not lease.is_over(clock),
    )


def _checked(storage: Storage, tasks: Tasks, clock: Clock, *, deep: bool) -> TableReport:
    """Check once."""
    findings = list(check_properties(storage))
    listed, rows, keys, instants = Listed(), 0, 0, 0
    try:
        properties = table_properties(storage)
        if properties.version != TABLE_VERSION:
            findings += check_version(storage, properties)
        else:
            table = opened(storage, clock, properties)
            instants = len(table.timeline.completed)
            findings += _shallow(table, listed, clock, deep=deep)
            if deep:
                rows, keys = _deep(table, listed, tasks, findings)
    except FrameworkError as error:
        if isinstance(error, PlanError) or error.condition.startswith("storage/"):
            raise
        findings.append(of_error(Check.TIMELINE, error, storage.location))
    checked = Checked(
        instants=instants,
        partitions=len(listed.partitions),
        files=len(listed.files),
        bytes=sum(each.size for each in listed.files),
        rows=rows,
        keys=keys,
    )
    return TableReport(
        location=storage.location, deep=deep, checked=checked, findings=_ordered(findings)
    )


def table_properties(storage: Storage) -> TableProperties:
    """Return the table's properties.

    Raises:
        PlanError: `table/missing`, `drop/unfinished`.
        CorruptFileError: neither file is readable.
    """
    if is_half_dropped(storage):
        raise PlanError(
            "drop/unfinished",
            "the table is dropped, but not all of its files are deleted",
            where=Where(table=storage.location),
            remedy="Run `run-pipeline drop` again; it deletes the rest.",
        )
    found = read_properties(storage)
    if found is None:
        raise PlanError(
            "table/missing",
            "there is no table",
            where=Where(table=storage.location),
            remedy="Check the location.",
        )
    return found


def _shallow(
    table: OpenedTable, listed: Listed, clock: Clock, *, deep: bool
) -> Iterator[TableFinding]:
    """Yield what listings and small files show."""
    storage = table.storage
    found: list[TableFinding] = []
    try:
        index = BootstrapIndex.open(storage)
    except FrameworkError as error:
        index = None
        found.append(of_error(Check.INDEX, error, storage.location))
    with index or nullcontext():
        try:
            yield from check_listing(table, index, listed)
        except FrameworkError as error:
            yield of_error(Check.TIMELINE, error, storage.location)
    if not found:
        found += check_index(storage, listed)
    found += check_state(storage, table, deep=deep)
    yield from found
    yield from check_leftovers(table, clock)
    yield from check_dangers(table, listed, drifts=not found)


def _deep(
    table: OpenedTable, listed: Listed, tasks: Tasks, findings: list[TableFinding]
) -> tuple[int, int]:
    """Read contents, add findings, and return rows and keys."""
    storage = table.storage
    try:
        known = open_table(storage.location)
        known.require_meta_columns("proving keys")
    except FrameworkError as error:
        same = {each.condition for each in findings}
        if error.condition not in same:
            findings.append(of_error(Check.CONTENTS, error, storage.location, Severity.WARNING))
        return 0, 0
    slices = SliceTable.of(
        storage,
        known.timeline,
        known.schema,
        in_folders=[each.name for each in known.partition],
        rule=MergeRule.of(known.properties),
    )
    bad = {each.file for each in findings}
    rows = 0
    for read in check_contents(tasks, slices, [e for e in listed.files if e.path not in bad]):
        rows += read.rows
        findings += read.findings
    unread = {each.file for each in findings if each.condition != "fsck/rows-differ"}
    sound = _sound(listed.slices, unread)
    with tempfile.TemporaryDirectory() as scratch:
        try:
            proven = prove_keys(tasks, slices, sound, _scope(table), scratch)
        except FrameworkError as error:
            findings.append(of_error(Check.KEYS, error, storage.location))
            return rows, 0
    findings += proven.findings
    return rows, proven.keys


def _sound(slices: list[FileSlice], unread: set[str]) -> list[FileSlice]:
    """Return the slices all of whose files could be read."""
    return [
        each
        for each in slices
        if not unread & {each.base.path if each.base else "", *(log.path for log in each.logs)}
    ]


def _scope(table: OpenedTable) -> KeyScope:
    """Return where keys are unique; for another writer's table, in each partition."""
    try:
        memory = read_memory(table.storage, table.timeline)
    except FrameworkError:
        return KeyScope.PARTITION
    return KeyScope.PARTITION if memory is None else memory.key_rule.scope


def _ordered(findings: list[TableFinding]) -> tuple[TableFinding, ...]:
    """Return the findings, errors first, then by check and file; each once."""
    return tuple(
        sorted(
            dict.fromkeys(findings),
            key=lambda each: (
                each.severity is not Severity.ERROR,
                _ORDER[each.check],
                each.condition,
                each.file,
            ),
        )
    )
