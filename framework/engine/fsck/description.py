"""What describes a table: properties, metadata table, state file, bootstrap index, source."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from framework.engine.fsck.findings import Check, Repair, Severity, TableFinding, of_error
from framework.engine.fsck.listing import Listed, OpenedTable
from framework.engine.inspect.observe import source_drift
from framework.engine.inspect.status import Danger, Slices, dangers
from framework.engine.reading.table_memory import TableMemory, read_memory
from framework.errors import FrameworkError
from framework.hudi.bootstrap.index import BootstrapIndex
from framework.hudi.commit.state_files import StateRef
from framework.hudi.storage.port import Storage
from framework.hudi.table.layout import METADATA_TABLE, PROPERTIES, PROPERTIES_BACKUP
from framework.hudi.table.properties import TableProperties, read_properties_file
from framework.plan.observation import SourceDrift, TableState

__all__ = [
    "check_dangers",
    "check_index",
    "check_properties",
    "check_state",
    "check_version",
    "state_segments",
]

_WARNINGS: Final = frozenset({"source/grown"})


def check_properties(storage: Storage) -> Iterator[TableFinding]:
    """Yield what is wrong with the properties file and its backup, one of which is readable."""
    found: list[TableProperties | None] = []
    for path in (PROPERTIES, PROPERTIES_BACKUP):
        try:
            found.append(read_properties_file(storage, path))
        except FrameworkError as error:
            yield of_error(Check.PROPERTIES, error, storage.location, Severity.WARNING)
            return
    main, backup = found
    if main is None and backup is not None:
        yield TableFinding(
            check=Check.PROPERTIES,
            severity=Severity.WARNING,
            condition="fsck/only-backup",
            message="hoodie.properties is missing; readers use its backup",
            remedy="Copy hoodie.properties.backup to hoodie.properties.",
            file=PROPERTIES,
        )
    if main is not None and backup is not None and main.raw != backup.raw:
        is_ours = bool(backup.metadata_partitions and not main.metadata_partitions)
        yield TableFinding(
            check=Check.PROPERTIES,
            severity=Severity.WARNING,
            condition="fsck/stale-backup",
            message="a writer that died left a backup of hoodie.properties with other entries",
            remedy="Compare the two files, and delete the backup.",
            file=PROPERTIES_BACKUP,
            repair=Repair.METADATA_TABLE if is_ours else None,
        )


def check_state(storage: Storage, table: OpenedTable, *, deep: bool) -> Iterator[TableFinding]:
    """Yield what is wrong with the table's state file and, if `deep`, its segments.

    Otherwise the size of each segment is compared.
    """
    try:
        memory = read_memory(storage, table.timeline)
    except FrameworkError as error:
        yield of_error(Check.STATE, error, storage.location)
        return
    for segment in () if memory is None else state_segments(memory):
        try:
            entry = storage.stat(segment.path)
            if deep or entry is None or entry.size != segment.size:
                segment.read(storage)
        except FrameworkError as error:
            yield of_error(Check.STATE, error, storage.location)


def check_index(storage: Storage, listed: Listed) -> Iterator[TableFinding]:
    """Yield skeletons without a mapping, and differences between the two files of the index.

    Reads both files.
    """
    try:
        index = BootstrapIndex.open(storage)
    except FrameworkError:
        return  # the caller has opened it before
    if index is None:
        yield from _unmapped(listed, {})
        return
    with index:
        try:
            mapped = {path: index.mappings(path) for path in index.partitions()}
            yield from _unmapped(listed, {path: set(found) for path, found in mapped.items()})
            there = set(mapped)
            for path, by_id in index.by_file_id():
                there.discard(path)
                if mapped.get(path) != by_id:
                    yield _differs(path)
            yield from map(_differs, sorted(there))
        except FrameworkError as error:
            yield of_error(Check.INDEX, error, storage.location)


def _unmapped(listed: Listed, mapped: dict[str, set[str]]) -> Iterator[TableFinding]:
    for path, file_ids in listed.skeletons.items():
        for file_id in sorted(file_ids - mapped.get(path, set())):
            yield TableFinding(
                check=Check.INDEX,
                severity=Severity.ERROR,
                condition="fsck/not-mapped",
                message=f"the bootstrap index has no source file for the skeleton {file_id}: "
                "Apache Hudi reads nulls",
                remedy="Restore the index files from a copy.",
                partition=path,
            )


def _differs(path: str) -> TableFinding:
    return TableFinding(
        check=Check.INDEX,
        severity=Severity.ERROR,
        condition="fsck/index-differs",
        message="the two files of the bootstrap index differ: some readers read other files",
        remedy="Restore both files from the same copy.",
        partition=path,
    )


def check_dangers(table: OpenedTable, listed: Listed, *, drifts: bool) -> Iterator[TableFinding]:
    """Yield the dangers that `status` reports too: version, metadata table, source.

    Args:
        table: the table.
        listed: its files.
        drifts: whether state and index are sound, so that the source can be compared.
    """
    storage, properties = table.storage, table.properties
    state = TableState(
        location=storage.location,
        properties=properties,
        metadata_table=storage.stat(METADATA_TABLE) is not None
        or bool(properties.metadata_partitions),
        drift=_drift(table) if drifts else None,
    )
    yield from map(_of_danger, dangers(state, _slices(listed), None))


def check_version(storage: Storage, properties: TableProperties) -> Iterator[TableFinding]:
    """Yield the dangers of a table at another version, of which nothing else can be checked."""
    state = TableState(location=storage.location, properties=properties)
    yield from map(_of_danger, dangers(state, None, None))


def _of_danger(danger: Danger) -> TableFinding:
    is_source = danger.condition.startswith("source/")
    is_metadata = danger.condition == "table/metadata-table"
    return TableFinding(
        check=Check.SOURCE if is_source else Check.TIMELINE,
        severity=Severity.WARNING if danger.condition in _WARNINGS else Severity.ERROR,
        condition=danger.condition,
        message=danger.message,
        remedy=danger.remedy,
        file=METADATA_TABLE if is_metadata else "",
        repair=Repair.METADATA_TABLE if is_metadata else None,
    )


def _drift(table: OpenedTable) -> SourceDrift | None:
    memory = read_memory(table.storage, table.timeline)
    facts = None if memory is None else memory.facts
    if facts is None:
        return None
    levels = len(table.properties.partition_fields)
    return source_drift(table.storage, table.timeline, facts, levels)


def state_segments(memory: TableMemory) -> Iterator[StateRef]:
    """Yield the files that a state file refers to."""
    for each in (*memory.loaded.values(), memory.run_ids):
        yield from each.segments


def _slices(listed: Listed) -> Slices:
    skeletons = sum(each.bootstrap is not None for each in listed.slices)
    full = sum(each.base is not None for each in listed.slices) - skeletons
    return Slices(
        partitions=len(listed.partitions),
        skeletons=skeletons,
        full=full,
        log_only=sum(each.base is None for each in listed.slices),
        with_logs=sum(bool(each.logs) for each in listed.slices),
        bytes=sum(each.total_size_bytes for each in listed.slices),
    )
