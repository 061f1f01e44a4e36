"""What an archival has to know of a table: what is archived already, cleaned, and replaced."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from framework.errors import Where
from framework.hudi.codecs.avro import read_container
from framework.hudi.commit.fence import earliest_arriving
from framework.hudi.commit.placement import read_bytes
from framework.hudi.filegroup.slices import BaseFileName, LogFileName
from framework.hudi.storage.port import Storage
from framework.hudi.table.properties import TableProperties
from framework.hudi.timeline.archive import archived_instants, newest_first
from framework.hudi.timeline.commit_body import read_commit_body
from framework.hudi.timeline.instant import Action, Instant, InstantState
from framework.hudi.timeline.timeline import Timeline
from framework.plan.services.archival import ArchivalFacts, ArchivalLimits, archivable
from framework.vocabulary import TableType

__all__ = ["observe_facts"]


def observe_facts(
    storage: Storage, properties: TableProperties, timeline: Timeline, limits: ArchivalLimits
) -> ArchivalFacts:
    """Return the facts for a plan by these limits.

    Raises:
        CorruptFileError: a file of the timeline or the archive is damaged.
    """
    facts = ArchivalFacts(
        instants=timeline.instants,
        archived=_archived(storage, properties.raw, timeline),
        retained=_retained(storage, timeline),
        is_merge_on_read=properties.table_type is TableType.MERGE_ON_READ,
        arriving=earliest_arriving(storage),
    )
    due = archivable(facts, limits)
    return replace(facts, replacing=_replacing(storage, due))


def _archived(
    storage: Storage, properties: Mapping[str, str], timeline: Timeline
) -> frozenset[tuple[str, Action]]:
    """Return active instants that are in the archive as completed.

    An archival that died did so with its newest file, so files are read newest first, up to one
    without an active instant: one file where no archival has died.
    """
    active = {(each.requested_time, each.action) for each in timeline.completed}
    found: set[tuple[str, Action]] = set()
    for path in newest_first(storage, properties):
        done = (
            (each.requested_time, each.action)
            for each in archived_instants(storage, (path,))
            if each.state is InstantState.COMPLETED
        )
        known = active.intersection(done)
        if not known:
            break
        found |= known
    return frozenset(found)


def _retained(storage: Storage, timeline: Timeline) -> str | None:
    """Return the earliest commit that the newest clean retained; None if it names none."""
    cleans = [each for each in timeline.completed if each.action is Action.CLEAN]
    if not cleans:
        return None
    path = cleans[-1].path
    where = Where(file=f"{storage.location}/{path}")
    found = read_container(read_bytes(storage, path), where=where)
    return str(found.get("earliestCommitToRetain") or "") or None


def _replacing(storage: Storage, due: tuple[Instant, ...]) -> frozenset[str]:
    """Return the replacecommits of which a replaced file is still there."""
    groups: dict[str, frozenset[str]] = {}
    found = set()
    for each in due:
        if each.action is Action.REPLACECOMMIT:
            for partition, replaced in read_commit_body(storage, each.path).replaced.items():
                if partition not in groups:
                    groups[partition] = _groups(storage, partition)
                if replaced & groups[partition]:
                    found.add(each.requested_time)
    return frozenset(found)


def _groups(storage: Storage, partition: str) -> frozenset[str]:
    """Return the ids of file groups that have a file in a partition; one listing."""
    names = (entry.name for entry in storage.list(partition) if not entry.is_folder)
    parsed = (BaseFileName.parse(name) or LogFileName.parse(name) for name in names)
    return frozenset(each.file_id for each in parsed if each is not None)
