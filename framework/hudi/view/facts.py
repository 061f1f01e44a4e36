"""Facts of file groups from the timeline: which are replaced, compacted or clustered.

Facts are kept by instant, so that the next timeline reuses those it shares with the previous one;
only new instants are read. Groups that are compacted or clustered are named by the plans of pending
actions (format sheet, sections 2.4 and 2.7).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from types import MappingProxyType
from typing import Any, Final, TypeAlias

from framework.errors import CorruptFileError, StorageError, Where
from framework.hudi.codecs.avro import AVRO_MAGIC, read_container
from framework.hudi.filegroup.slices import FileGroupId
from framework.hudi.storage.port import Storage
from framework.hudi.timeline.commit_body import read_commit_body
from framework.hudi.timeline.instant import COMPACTIONS, Action, Instant, InstantState
from framework.hudi.timeline.timeline import Timeline

__all__ = [
    "CompactionOperation",
    "TableFacts",
    "compaction_operations",
    "planned_groups",
    "read_facts",
    "requested_compaction",
]

Plans: TypeAlias = "Mapping[Instant, tuple[CompactionOperation, ...]]"


@dataclass(frozen=True, kw_only=True)
class TableFacts:
    """One timeline, and its instants' facts of file groups.

    Attributes:
        timeline: the timeline.
        replacing: file ids by partition path, of each completed replacecommit that counts.
        plans: operations of each pending compaction and log compaction.
        clustering: groups of each pending replacecommit.
    """

    timeline: Timeline
    replacing: Mapping[Instant, Mapping[str, frozenset[str]]] = field(
        default_factory=lambda: MappingProxyType({})
    )
    plans: Plans = field(default_factory=lambda: MappingProxyType({}))
    clustering: Mapping[Instant, frozenset[FileGroupId]] = field(
        default_factory=lambda: MappingProxyType({})
    )

    @cached_property
    def replaced(self) -> Mapping[str, Mapping[str, str]]:
        """The latest instant that replaced each file group, by partition path and file id."""
        found: dict[str, dict[str, str]] = defaultdict(dict)
        for instant in sorted(self.replacing):
            for partition, file_ids in self.replacing[instant].items():
                found[partition].update(dict.fromkeys(file_ids, instant.requested_time))
        return dict(found)

    @cached_property
    def compactions(self) -> Mapping[FileGroupId, CompactionOperation]:
        """Pending compactions by group."""
        return self._operations(Action.COMPACTION)

    @cached_property
    def log_compactions(self) -> Mapping[FileGroupId, CompactionOperation]:
        """Pending log compactions by group."""
        return self._operations(Action.LOGCOMPACTION)

    @cached_property
    def compacting(self) -> frozenset[str]:
        """Instants of pending compactions."""
        return frozenset(
            each.requested_time
            for each in self.timeline.pending
            if each.action is Action.COMPACTION
        )

    @cached_property
    def pending_clusterings(self) -> Mapping[FileGroupId, Instant]:
        """The pending replacecommit that will cluster each group."""
        return {
            group: instant
            for instant in sorted(self.clustering)
            for group in self.clustering[instant]
        }

    @cached_property
    def planned_groups(self) -> frozenset[FileGroupId]:
        """Groups with a pending compaction, whose slices do not follow from their files alone."""
        return frozenset(self.compactions)

    def replaced_at(self, partition_path: str, file_id: str) -> str | None:
        """Return the instant that replaced a file group, None if none did."""
        return self.replaced.get(partition_path, {}).get(file_id)

    def _operations(self, action: Action) -> Mapping[FileGroupId, CompactionOperation]:
        """Return the operations of an action's pending plans; a group's latest plan counts."""
        return {
            each.group: each
            for instant in sorted(self.plans)
            if instant.action is action
            for each in self.plans[instant]
        }


def read_facts(
    storage: Storage, timeline: Timeline, before: TableFacts | None = None
) -> TableFacts:
    """Return the facts of a timeline; read each instant with facts that is not in `before`.

    Costs one small read for each such instant: completed replacecommits, pending compactions and
    pending replacecommits.

    Raises:
        CorruptFileError: `timeline/corrupt-commit`, `timeline/corrupt-plan`,
            `timeline/corrupt-json`, `avro/corrupt`.
        StorageError: a replacecommit disappeared meanwhile; list the timeline again.
    """
    replacing = [each for each in timeline.completed if each.action is Action.REPLACECOMMIT]
    planned = [each for each in timeline.pending if each.action in COMPACTIONS]
    clustering = [each for each in timeline.pending if each.action is Action.REPLACECOMMIT]
    known = before or TableFacts(timeline=timeline)
    # A plan's file may have been read before it was written, so an empty one is read again.
    return TableFacts(
        timeline=timeline,
        replacing={
            each: known.replacing[each]
            if each in known.replacing
            else read_commit_body(storage, each.path).replaced
            for each in replacing
        },
        plans={each: known.plans.get(each) or _plan(storage, each) for each in planned},
        clustering={
            each: known.clustering.get(each)
            or _read_clustered_groups(storage, _requested(each).path)
            for each in clustering
        },
    )


def _plan(storage: Storage, instant: Instant) -> tuple[CompactionOperation, ...]:
    """Read the plan of a pending compaction."""
    return _read_compaction_plan(storage, _requested(instant).path, instant.requested_time)


def _requested(instant: Instant) -> Instant:
    """Return the requested state of an instant, whose file holds the plan."""
    return Instant(
        requested_time=instant.requested_time,
        action=instant.action,
        state=InstantState.REQUESTED,
    )


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


def _read_compaction_plan(
    storage: Storage, path: str, instant: str
) -> tuple[CompactionOperation, ...]:
    """Return the operations of a requested compaction or log compaction; one small read.

    Raises:
        CorruptFileError: `avro/corrupt`, `timeline/corrupt-plan`.
    """
    plan = _content(storage, path)
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


def _read_clustered_groups(storage: Storage, path: str) -> frozenset[FileGroupId]:
    """Return the groups that a requested replacecommit will cluster; empty if it clusters none.

    Raises:
        CorruptFileError: `avro/corrupt`, `timeline/corrupt-plan`.
    """
    plan = _content(storage, path).get("clusteringPlan") or _NO_PLAN
    try:
        return frozenset(_clustered(plan))
    except (AttributeError, KeyError, TypeError) as error:
        raise _corrupt(storage, path, error) from error


def _content(storage: Storage, path: str) -> Mapping[str, Any]:
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
