"""Observes which source files a bootstrapped table still needs. Changes nothing."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping

from framework.engine.reading.table import Table
from framework.hudi.bootstrap.index import BootstrapIndex
from framework.hudi.filegroup.slices import BaseFileName
from framework.hudi.table.layout import BOOTSTRAP_INSTANT
from framework.hudi.timeline.action_metadata import read_savepoint
from framework.hudi.timeline.instant import Action
from framework.hudi.view.changes import read_changes
from framework.hudi.view.listing_view import ListingView
from framework.plan.services.source_use import SkeletonFacts, SourceUse, source_uses

__all__ = ["Savepoints", "observe_sources", "read_savepoints"]

Savepoints = Mapping[str, Mapping[str, frozenset[str]]]
"""Names of the files that each savepoint holds, by its instant and by partition path."""


def observe_sources(table: Table) -> Iterator[SourceUse]:
    """Yield the adopted source files with a skeleton by partition and file id; none without one.

    Costs one listing of each partition, and a read of each clean and savepoint on the timeline;
    memory holds one partition.

    Raises:
        CorruptFileError: see `BootstrapIndex.open`, `read_changes` and `read_savepoint`.
    """
    index = BootstrapIndex.open_adopted(table.storage)
    if index is None:
        return
    with index:
        view = ListingView(table.storage, table.timeline, index)
        cleaned, held = _cleaned(table), _held(read_savepoints(table))
        for path in index.partitions():
            yield from source_uses(
                path,
                index.mappings(path),
                view.groups(path),
                view.facts,
                SkeletonFacts(cleaned=cleaned.get(path, ()), held=held.get(path, ())),
            )


def read_savepoints(table: Table) -> Savepoints:
    """Return what each savepoint holds; one small read for each.

    Raises:
        CorruptFileError: see `read_savepoint`.
    """
    return {
        each.requested_time: read_savepoint(table.storage, each.path)
        for each in table.timeline.completed
        if each.action is Action.SAVEPOINT
    }


def _cleaned(table: Table) -> Mapping[str, set[str]]:
    """Return the file ids whose skeletons cleans removed, by partition path."""
    found: dict[str, set[str]] = defaultdict(set)
    for each in table.timeline.completed:
        if each.action is Action.CLEAN:
            for path, part in read_changes(table.storage, each).partitions.items():
                found[path] |= _skeletons(part.gone)
    return found


def _held(savepoints: Savepoints) -> Mapping[str, set[str]]:
    """Return the file ids whose skeletons a savepoint holds, by partition path."""
    found: dict[str, set[str]] = defaultdict(set)
    for parts in savepoints.values():
        for path, names in parts.items():
            found[path] |= _skeletons(names)
    return found


def _skeletons(names: set[str] | frozenset[str]) -> set[str]:
    """Return the file ids of the skeletons among some files."""
    parsed = filter(None, map(BaseFileName.parse, names))
    return {each.file_id for each in parsed if each.instant == BOOTSTRAP_INSTANT}
