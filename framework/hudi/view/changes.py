"""Files that an instant added and removed, from its metadata without listing folders.

A commit names the files it wrote, a clean those it deleted. A rollback names both: the files it
deleted, and the log files that it kept or appended to (format sheet, sections 2.5 and 2.7). An
inexact entry, such as a file without a size, makes its partition unclear: it must be listed again.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, TypeAlias

from framework.errors import CorruptFileError, Where
from framework.hudi.codecs.avro import AVRO_MAGIC, read_container
from framework.hudi.filegroup.slices import BaseFile, BaseFileName, LogFile, LogFileName
from framework.hudi.storage.port import Storage
from framework.hudi.table.layout import name_of, parent_of
from framework.hudi.timeline.commit_body import read_commit
from framework.hudi.timeline.instant import Action, Instant

__all__ = ["InstantChanges", "PartitionChanges", "read_changes"]

File: TypeAlias = BaseFile | LogFile


@dataclass(slots=True, kw_only=True)
class PartitionChanges:
    """Changes of an instant in one partition.

    Attributes:
        added: files added by it, by name; includes existing files that grew.
        gone: names of removed files.
        is_unclear: whether the changes are not completely known.
        is_dropped: whether the partition itself was removed.
    """

    added: dict[str, File] = field(default_factory=dict)
    gone: set[str] = field(default_factory=set)
    is_unclear: bool = False
    is_dropped: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class InstantChanges:
    """Changes of an instant.

    Attributes:
        partitions: changes by partition path.
        undone: instants that it rolled back, which are no longer on the timeline.
    """

    partitions: Mapping[str, PartitionChanges] = field(default_factory=lambda: MappingProxyType({}))
    undone: frozenset[str] = frozenset()


_NOTHING = InstantChanges()


def read_changes(storage: Storage, instant: Instant) -> InstantChanges:
    """Return the file changes of a completed instant; reads its file, a commit as a stream.

    Savepoints and indexing change no files.

    Raises:
        CorruptFileError: `timeline/corrupt-commit`, `timeline/corrupt-json`,
            `timeline/empty-commit`, `timeline/corrupt-metadata`, `avro/corrupt`: its changes are
            unknown.
        StorageError: its file cannot be read.
    """
    handler = _HANDLERS.get(instant.action)
    if handler is None:
        return _NOTHING
    try:
        return handler(storage, instant)
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise CorruptFileError(
            "timeline/corrupt-metadata",
            f"the changes of the {instant.action} are unknown: {error!r}",
            where=Where(file=f"{storage.location}/{instant.path}", instant=instant.requested_time),
            remedy="The file is damaged; restore it from a copy, nothing was changed.",
        ) from error


def _written(storage: Storage, instant: Instant) -> InstantChanges:
    """Return the files written by a commit, deltacommit or replacecommit."""
    found: dict[str, PartitionChanges] = defaultdict(PartitionChanges)
    for stat in read_commit(storage, instant.path):
        if parent_of(stat.path) != stat.partition_path:
            raise ValueError(f"{stat.path!r} is not in {stat.partition_path!r}")
        _add(found[stat.partition_path], stat.path, stat.size)
    return InstantChanges(partitions=found)


def _cleaned(storage: Storage, instant: Instant) -> InstantChanges:
    """Return the files deleted by a clean; files it failed to delete still exist."""
    found: dict[str, PartitionChanges] = {}
    for partition, said in _record(storage, instant)["partitionMetadata"].items():
        found[partition] = PartitionChanges(
            gone={name_of(path) for path in said["successDeleteFiles"]},
            is_dropped=bool(said.get("isPartitionDeleted")),
        )
    return InstantChanges(partitions=found)


def _rolled_back(storage: Storage, instant: Instant) -> InstantChanges:
    """Return the files that a rollback deleted, kept and wrote."""
    found: dict[str, PartitionChanges] = defaultdict(PartitionChanges)
    return InstantChanges(partitions=found, undone=_roll_back(_record(storage, instant), found))


def _restored(storage: Storage, instant: Instant) -> InstantChanges:
    """Return the changes of a restore: its rollbacks, in their order."""
    record = _record(storage, instant)
    found: dict[str, PartitionChanges] = defaultdict(PartitionChanges)
    undone = set(record["instantsToRollback"])
    for rollbacks in record["hoodieRestoreMetadata"].values():
        for each in filter(None, rollbacks):
            undone |= _roll_back(each, found)
    return InstantChanges(partitions=found, undone=frozenset(undone))


def _roll_back(record: Mapping[str, Any], found: dict[str, PartitionChanges]) -> frozenset[str]:
    """Add the changes of one rollback; return the instants that it rolled back.

    A file that could not be deleted is not part of the table either.
    """
    for partition, said in record["partitionMetadata"].items():
        part = found[partition]
        for member in ("successDeleteFiles", "failedDeleteFiles"):
            part.gone |= {name_of(path) for path in said[member]}
        for member in ("logFilesFromFailedCommit", "rollbackLogFiles"):
            for path, size in (said.get(member) or {}).items():
                _add(part, f"{partition}/{name_of(path)}" if partition else name_of(path), size)
    return frozenset(record["commitsRollback"])


def _add(part: PartitionChanges, path: str, size: int) -> None:
    """Add a file; skip change-data files; an unknown file or size makes the partition unclear."""
    name = name_of(path)
    base = BaseFileName.parse(name)
    log = None if base else LogFileName.parse(name)
    if log is not None and log.is_cdc:
        return
    if size <= 0 or (base is None and log is None):
        part.is_unclear = True
    elif base is not None:
        part.added[name] = BaseFile(name=base, path=path, size=size)
    elif log is not None:
        part.added[name] = LogFile(name=log, path=path, size=size)


def _record(storage: Storage, instant: Instant) -> Mapping[str, Any]:
    """Return the Avro record of an instant's file."""
    with storage.open_input(instant.path) as source:
        data = bytes(source.read())
    if not data.startswith(AVRO_MAGIC):
        raise ValueError("it is not an Avro file")
    return read_container(data, where=Where(file=f"{storage.location}/{instant.path}"))


_Handler: TypeAlias = "Callable[[Storage, Instant], InstantChanges]"
_HANDLERS: Mapping[Action, _Handler] = MappingProxyType(
    {
        Action.COMMIT: _written,
        Action.DELTACOMMIT: _written,
        Action.REPLACECOMMIT: _written,
        Action.CLEAN: _cleaned,
        Action.ROLLBACK: _rolled_back,
        Action.RESTORE: _restored,
    }
)
