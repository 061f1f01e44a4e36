"""Plans of pending actions on file groups (format sheet, sections 2.4 and 2.7)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from framework.errors import CorruptFileError, StorageError, Where
from framework.hudi.codecs.avro import AVRO_MAGIC, read_container
from framework.hudi.filegroup.slices import FileGroupId
from framework.hudi.storage.port import Storage
from framework.hudi.timeline.instant import Action, Instant, InstantState
from framework.hudi.timeline.timeline import Timeline

__all__ = [
    "CompactionOperation",
    "compaction_operations",
    "planned_groups",
    "read_clustered_groups",
    "read_compaction_plan",
    "requested_compaction",
]

_NO_PLAN: Final[Mapping[str, Any]] = {}


@dataclass(frozen=True, slots=True, kw_only=True)
class CompactionOperation:
    """The planned compaction of one file group.

    Attributes:
        instant: the compaction's instant.
        group: the group whose logs are compacted.
        base_instant: base instant of the compacted slice.
        base_file: its base file's name, None if it has none.
        logs: names or paths of its log files, as in the plan.
        source: path of its skeleton's source file, None if it has none.
        metrics: inputs of the compaction strategy.
    """

    instant: str
    group: FileGroupId
    base_instant: str
    base_file: str | None
    logs: tuple[str, ...]
    source: str | None
    metrics: Mapping[str, float]


def read_compaction_plan(
    storage: Storage, path: str, instant: str
) -> tuple[CompactionOperation, ...]:
    """Return the operations of a requested compaction or log compaction; one small read.

    Raises:
        CorruptFileError: `avro/corrupt`, `timeline/corrupt-plan`.
    """
    plan = _plan(storage, path)
    try:
        return tuple(_operation(each, instant) for each in plan.get("operations") or ())
    except (AttributeError, KeyError, TypeError) as error:
        raise _corrupt(storage, path, error) from error


def compaction_operations(
    storage: Storage, path: str, data: bytes, instant: str
) -> tuple[CompactionOperation, ...]:
    """Return the operations of a requested compaction, of which `data` are the bytes.

    Raises:
        CorruptFileError: `avro/corrupt`, `timeline/corrupt-plan`; also for a file without a plan.
    """
    if not data.startswith(AVRO_MAGIC):
        raise _corrupt(storage, path, ValueError("it is not an Avro file"))
    plan = read_container(data, where=Where(file=f"{storage.location}/{path}"))
    try:
        return tuple(_operation(each, instant) for each in plan.get("operations") or ())
    except (AttributeError, KeyError, TypeError) as error:
        raise _corrupt(storage, path, error) from error


def planned_groups(storage: Storage, timelines: Iterable[Timeline]) -> dict[FileGroupId, str]:
    """Return the instant at which the next log file's slice starts, of groups under compaction.

    Log files for such a group belong to the slice of the pending compaction; in the slice before,
    they would be lost when it completes. Costs one small read per pending compaction.

    Args:
        storage: the table.
        timelines: looks at the same timeline; a compaction that is pending in any of them counts.

    Raises:
        CorruptFileError: `avro/corrupt`, `timeline/corrupt-plan`.
        StorageError: a plan was removed meanwhile.
    """
    times = {
        each.requested_time
        for timeline in timelines
        for each in timeline.pending
        if each.action is Action.COMPACTION
    }
    found: dict[FileGroupId, str] = {}
    for time in sorted(times):
        path = requested_compaction(time).path
        with storage.open_input(path) as source:
            data = bytes(source.read())
        operations = compaction_operations(storage, path, data, time)
        found.update((each.group, time) for each in operations)
    return found


def requested_compaction(time: str) -> Instant:
    """Return the instant whose file holds the plan of a compaction."""
    return Instant(requested_time=time, action=Action.COMPACTION, state=InstantState.REQUESTED)


def read_clustered_groups(storage: Storage, path: str) -> frozenset[FileGroupId]:
    """Return the groups that a requested replacecommit will cluster; empty if it clusters none.

    Raises:
        CorruptFileError: `avro/corrupt`, `timeline/corrupt-plan`.
    """
    plan = _plan(storage, path).get("clusteringPlan") or _NO_PLAN
    try:
        return frozenset(_clustered(plan))
    except (AttributeError, KeyError, TypeError) as error:
        raise _corrupt(storage, path, error) from error


def _plan(storage: Storage, path: str) -> Mapping[str, Any]:
    """Return a plan's record.

    A file that is missing, empty or not Avro, as for other actions, plans nothing.
    """
    try:
        with storage.open_input(path) as source:
            data = bytes(source.read())
    except StorageError as error:
        if error.condition != "storage/not-found":
            raise
        return _NO_PLAN
    if not data.startswith(AVRO_MAGIC):
        return _NO_PLAN
    return read_container(data, where=Where(file=f"{storage.location}/{path}"))


def _operation(said: Mapping[str, Any], instant: str) -> CompactionOperation:
    return CompactionOperation(
        instant=instant,
        group=FileGroupId(partition_path=said["partitionPath"] or "", file_id=said["fileId"]),
        base_instant=said["baseInstantTime"],
        base_file=said.get("dataFilePath") or None,
        logs=tuple(said.get("deltaFilePaths") or ()),
        source=said.get("bootstrapFilePath"),
        metrics=said.get("metrics") or {},
    )


def _clustered(plan: Mapping[str, Any]) -> Iterator[FileGroupId]:
    for group in plan.get("inputGroups") or ():
        for each in group.get("slices") or ():
            yield FileGroupId(
                partition_path=each.get("partitionPath") or "", file_id=each["fileId"]
            )


def _corrupt(storage: Storage, path: str, error: Exception) -> CorruptFileError:
    """Return the error for an invalid plan."""
    return CorruptFileError(
        "timeline/corrupt-plan",
        f"the plan cannot be used: {error!r}",
        where=Where(file=f"{storage.location}/{path}"),
        remedy="The file is damaged; restore it from a copy, nothing was changed.",
    )
