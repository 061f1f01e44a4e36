"""Which files of a table still hold given record keys: the proof of a deletion.

Every base and log file in the partitions is searched, of any slice, completed or not. A bloom
filter excludes a base file; all others have their keys read, so that no holder is missed. Bounds of
keys are not used: writers compare texts in different orders. Every block of a log file is searched,
also those of instants that were rolled back.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from framework.engine.reading.slice_rows import SliceFiles, SliceTable, slice_columns
from framework.engine.reading.table import Table
from framework.engine.services.source_use import Savepoints, observe_sources, read_savepoints
from framework.engine.tasks import Tasks, decode, encode, shared
from framework.hudi.bootstrap.index import BootstrapIndex
from framework.hudi.filegroup.base_file import read_key_footer
from framework.hudi.filegroup.group import FileGroup
from framework.hudi.filegroup.log_changes import every_change
from framework.hudi.filegroup.merge import MergeRule
from framework.hudi.filegroup.slices import BaseFile, BaseFileName, LogFile, LogFileName
from framework.hudi.storage.locations import open_storage
from framework.hudi.table.layout import BOOTSTRAP_INSTANT, MetaField, name_of, parent_of
from framework.hudi.view.facts import TableFacts
from framework.hudi.view.listing_view import ListingView
from framework.hudi.view.selection import latest_slice
from framework.plan.services.source_use import SourceState

__all__ = ["DeleteReport", "HoldingSlice", "delete_report", "search_task"]


@dataclass(frozen=True, slots=True, kw_only=True)
class HoldingSlice:
    """A slice that holds some of the keys.

    Attributes:
        partition_path: its partition.
        file_id: its file group.
        base_instant: its instant.
        state: `latest`, `older`, `replaced`, or `uncommitted` where its instant is not completed.
        keys: those that it holds, sorted.
        base_file: name of its base file or skeleton if that holds one, else None.
        log_files: names of its log files that hold one.
        source: location of the file behind a skeleton that holds one, else None.
        savepoints: instants of the savepoints that hold one of these files.
    """

    partition_path: str
    file_id: str
    base_instant: str
    state: str
    keys: tuple[str, ...]
    base_file: str | None
    log_files: tuple[str, ...]
    source: str | None
    savepoints: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class DeleteReport:
    """Where keys are held.

    Attributes:
        slices: by partition path, file id and instant.
        searched: number of files that were searched.
        torn: log files with bytes that are not a block, which may hold any key.
        unsearched: files that were not searched and may hold any key: source files that exist
            although no skeleton leads to them any more, and files of change data.
    """

    slices: tuple[HoldingSlice, ...]
    searched: int
    torn: tuple[str, ...]
    unsearched: tuple[str, ...]


def delete_report(table: Table, keys: Collection[str], tasks: Tasks) -> DeleteReport:
    """Return every slice that holds one of these record keys; changes nothing.

    Lists each partition once. Reads the footer of each base file, the key column of those whose
    bloom filter may hold a key, and every log file.

    Args:
        table: the table.
        keys: record keys as `_hoodie_record_key` has them.
        tasks: search the files.

    Raises:
        UnsupportedTableError: `read/no-meta-columns`, or a log block cannot be read here.
        CorruptFileError: a file cannot be read.
    """
    table.require_meta_columns("which files hold a key")
    with BootstrapIndex.open(table.storage) or nullcontext() as index:
        view = ListingView(table.storage, table.timeline, index)
        entries = {path: view.entries(path) for path in view.partitions()}
        groups = [each for path, found in entries.items() for each in view.groups_of(path, found)]
        facts = view.facts
    files = {each.path: each.size for group in groups for each in _files(group)}
    parameters = SliceTable.of(
        table.storage,
        table.timeline,
        table.schema,
        in_folders=[each.name for each in table.partition],
        rule=MergeRule(),
    )
    held = _search_keys(tasks, parameters, sorted(set(keys)), files)
    savepoints = read_savepoints(table)
    names = (each.path for found in entries.values() for each in found if _is_cdc(each.name))
    return DeleteReport(
        slices=tuple(each for group in groups for each in _slices(group, facts, held, savepoints)),
        searched=len(files),
        torn=tuple(sorted(path for path, each in held.items() if each.is_torn)),
        unsearched=(*_unneeded_sources(table), *names),
    )


def _files(group: FileGroup) -> Iterator[BaseFile | LogFile]:
    """Yield all files of a group."""
    yield from group.bases
    yield from group.logs


def _slices(
    group: FileGroup, facts: TableFacts, held: Mapping[str, Held], savepoints: Savepoints
) -> Iterator[HoldingSlice]:
    """Yield the slices of a group that hold a key, oldest first."""
    by_instant: dict[str, list[BaseFile | LogFile]] = defaultdict(list)
    for file in _files(group):
        name = file.name
        at = name.instant if isinstance(name, BaseFileName) else name.base_instant
        by_instant[at].append(file)
    partition, file_id = group.group
    for instant in sorted(by_instant):
        found = [each for each in by_instant[instant] if each.path in held]
        keys = {key for each in found for key in held[each.path].keys}
        if not keys:
            continue
        holding = [each for each in found if held[each.path].keys]
        names = [name_of(each.path) for each in holding]
        base_file = next((str(e.name) for e in holding if isinstance(e, BaseFile)), None)
        is_skeleton = base_file is not None and instant == BOOTSTRAP_INSTANT
        yield HoldingSlice(
            partition_path=partition,
            file_id=file_id,
            base_instant=instant,
            state=_state(group, instant, facts),
            keys=tuple(sorted(keys)),
            base_file=base_file,
            log_files=tuple(str(each.name) for each in holding if isinstance(each, LogFile)),
            source=group.source.uri if is_skeleton and group.source else None,
            savepoints=_holding(savepoints, partition, names),
        )


def _state(group: FileGroup, instant: str, facts: TableFacts) -> str:
    """Return the state of a slice, see `HoldingSlice`."""
    if facts.replaced_at(*group.group) is not None:
        return "replaced"
    if not facts.timeline.is_completed(instant):
        return "uncommitted"
    latest = latest_slice(group, facts)
    return "latest" if latest is not None and latest.base_instant == instant else "older"


def _holding(savepoints: Savepoints, partition: str, names: Sequence[str]) -> tuple[str, ...]:
    """Return the savepoints that hold one of the files."""
    return tuple(
        instant
        for instant, parts in sorted(savepoints.items())
        if not parts.get(partition, frozenset()).isdisjoint(names)
    )


def _is_cdc(name: str) -> bool:
    log = LogFileName.parse(name)
    return log is not None and log.is_cdc


def _unneeded_sources(table: Table) -> Iterator[str]:
    """Yield the source files that exist although no skeleton leads to them."""
    gone = {SourceState.SAFE, SourceState.UNKNOWN}
    for uri in (each.uri for each in observe_sources(table) if each.state in gone):
        if open_storage(parent_of(uri)).stat(name_of(uri)) is not None:
            yield uri


_KEY = MetaField.RECORD_KEY.value


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchTask:
    """Files to search, by their paths in the table, and the keys."""

    slices: SliceTable
    keys: tuple[str, ...]
    files: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Held:
    """A file that holds some of the keys, or may.

    Attributes:
        path: of the file.
        keys: those that it holds, in the order of the search.
        is_torn: whether it is a log file with bytes that are not a block.
    """

    path: str
    keys: tuple[str, ...]
    is_torn: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundKeys:
    """The files of a task that hold a key, or may."""

    files: tuple[Held, ...]


def _search_keys(
    tasks: Tasks, table: SliceTable, keys: Sequence[str], files: Mapping[str, int]
) -> dict[str, Held]:
    """Return the files that hold one of the keys, or may, by path.

    Args:
        tasks: search the files, shared among them by bytes.
        table: the parameters of their table.
        keys: record keys, each once.
        files: sizes by path in the table; of base and log files.

    Raises:
        CorruptFileError, UnsupportedTableError: a file cannot be read.
    """
    parts = shared(list(files), files.__getitem__, tasks.parallelism) if files else []
    descriptors = [
        encode(SearchTask(slices=table, keys=tuple(keys), files=tuple(part))) for part in parts
    ]
    found = (decode(FoundKeys, each) for each in tasks.run(search_task, descriptors))
    return {each.path: each for part in found for each in part.files}


def search_task(descriptor: str) -> str:
    """Search the files of a `SearchTask`; return the `FoundKeys` as JSON.

    Raises:
        CorruptFileError, UnsupportedTableError: a file cannot be read.
    """
    task = decode(SearchTask, descriptor)
    keys = pa.array(task.keys, pa.string())
    found = (_searched(task.slices, path, keys) for path in task.files)
    return encode(FoundKeys(files=tuple(each for each in found if each.keys or each.is_torn)))


def _searched(table: SliceTable, path: str, keys: pa.Array) -> Held:
    """Return what one file holds."""
    if BaseFileName.parse(name_of(path)) is not None:
        return Held(path=path, keys=_in_base(table, path, keys))
    names = pa.array([], pa.string())
    is_torn = False
    for change in _blocks(table, path):
        is_torn = is_torn or change is None
        names = pa.concat_arrays([names, change]) if change is not None else names
    return Held(path=path, keys=_met(keys, names), is_torn=is_torn)


def _in_base(table: SliceTable, path: str, keys: pa.Array) -> tuple[str, ...]:
    """Return the keys that a base file holds."""
    may = read_key_footer(open_storage(table.location), path).might_contain(keys)
    left = keys if may is None else keys.filter(pa.array(np.asarray(may, dtype=bool)))
    if not len(left):
        return ()
    rows = slice_columns(table, SliceFiles(base=path), [_KEY])
    return _met(left, rows[_KEY])


def _blocks(table: SliceTable, path: str) -> Iterator[pa.Array | None]:
    """Yield the keys of each block of a log file, written or deleted; None for a torn one."""
    schema = pa.schema([pa.field(_KEY, pa.string())])
    for change in every_change(open_storage(table.location), path, schema):
        if change is None:
            yield None
        elif change.rows is None:
            yield pa.array([each.record_key for each in change.deleted], pa.string())
        else:
            yield change.rows[_KEY].combine_chunks()


def _met(keys: pa.Array, there: pa.Array | pa.ChunkedArray) -> tuple[str, ...]:
    """Return which keys are among others."""
    found: tuple[str, ...] = tuple(keys.filter(pc.is_in(keys, value_set=_flat(there))).to_pylist())
    return found


def _flat(texts: pa.Array | pa.ChunkedArray) -> pa.Array:
    return texts.combine_chunks() if isinstance(texts, pa.ChunkedArray) else texts
