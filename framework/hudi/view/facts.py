"""Facts of file groups from the timeline: which are replaced, compacted or clustered.

Facts are kept by instant, so that the next timeline reuses those it shares with the previous one;
only new instants are read.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from types import MappingProxyType
from typing import TypeAlias

from framework.hudi.filegroup.slices import FileGroupId
from framework.hudi.storage.port import Storage
from framework.hudi.timeline.commit_body import read_commit_body
from framework.hudi.timeline.instant import COMPACTIONS, Action, Instant, InstantState
from framework.hudi.timeline.timeline import Timeline
from framework.hudi.view.plans import (
    CompactionOperation,
    read_clustered_groups,
    read_compaction_plan,
)

__all__ = ["TableFacts", "read_facts"]

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
            or read_clustered_groups(storage, _requested(each).path)
            for each in clustering
        },
    )


def _plan(storage: Storage, instant: Instant) -> tuple[CompactionOperation, ...]:
    """Read the plan of a pending compaction."""
    return read_compaction_plan(storage, _requested(instant).path, instant.requested_time)


def _requested(instant: Instant) -> Instant:
    """Return the requested state of an instant, whose file holds the plan."""
    return Instant(
        requested_time=instant.requested_time,
        action=instant.action,
        state=InstantState.REQUESTED,
    )
