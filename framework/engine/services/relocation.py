"""Relocation: a table's source is at another location, with the same files (ADR 0044)."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from framework.engine.places import canonical
from framework.engine.reading.table_memory import relocated_to
from framework.engine.services.service_run import require_moves, require_table, service_run
from framework.engine.services.slice_sources import check_skeletons
from framework.engine.tasks import Tasks
from framework.errors import (
    CommitConflictError,
    PlanError,
    SourceDriftError,
    UnsupportedTableError,
    Where,
)
from framework.hudi.bootstrap.index import BootstrapIndex
from framework.hudi.commit.relocation import Relocation, relocate
from framework.hudi.filegroup.slices import SourceFile
from framework.hudi.storage.locations import open_storage
from framework.hudi.storage.port import Storage
from framework.hudi.table.layout import BOOTSTRAP_INSTANT
from framework.hudi.timeline.clock import Clock, SystemClock
from framework.hudi.timeline.timeline import load_timeline
from framework.hudi.view.listing_view import ListingView
from framework.plan.services.relocation import RelocationPlan, moved_uri, plain_path

__all__ = ["observe_relocation", "run_relocation"]


def observe_relocation(
    location: str, to: str, tasks: Tasks, *, storage: Storage | None = None
) -> RelocationPlan:
    """Return the plan to name another location of a source; changes nothing.

    Lists each partition of the index. Compares each source file that a skeleton needs, also one of
    an old slice, with the table's record of it: size, modification time, and footer.

    Args:
        location: the table's.
        to: the new location of the source's base folder.
        tasks: compare the files.
        storage: the table's; None opens it.

    Raises:
        PlanError: `relocate/no-index`: there is no bootstrap index.
        SourceDriftError: `relocate/differs`: a file is missing at the new location, or not the
            same; names the first one found.
        UnsupportedTableError: `relocate/outside`; see also `require_table`.
    """
    storage, new = storage or open_storage(location), canonical(to)
    properties = require_table(storage)
    index = BootstrapIndex.open(storage)
    if index is None:
        raise PlanError(
            "relocate/no-index",
            "the table needs no source: it has no bootstrap index",
            where=Where(table=storage.location),
            remedy="Nothing is to be done.",
        )
    with index:
        old = plain_path(index.base_uri)
        places = {index.base_uri, properties.bootstrap_base_path or ""}
        found = list(_needed(storage, index, partial(_moved, old=old, new=new)))
        is_done = {*map(plain_path, places), relocated_to(storage)} == {new} and all(
            each.uri == _moved(each.uri, old, new) for _, each in _listed(index)
        )
    try:
        check_skeletons(tasks, storage.location, found)
    except SourceDriftError as error:
        raise SourceDriftError(
            "relocate/differs",
            f"the file there is not the one that the table adopted: {error.message}",
            where=error.where,
            remedy="Copy it again with its modification time (cp -p, rsync -t). Or bring the old "
            "location back, and run `run-pipeline materialize`. Nothing was changed.",
        ) from error
    return RelocationPlan(
        location=storage.location,
        old=old,
        new=new,
        files=len(found),
        bytes=sum(each.size for _, each in found),
        is_done=is_done,
    )


def run_relocation(
    plan: RelocationPlan, tasks: Tasks, clock: Clock | None = None, storage: Storage | None = None
) -> RelocationPlan | None:
    """Write the new location into the table; return the plan, None where that was done.

    The files are compared again under the lease. A run that was killed is finished by the same
    call; until then each reader finds the source at either location.

    Raises:
        LeaseHeldError: another run is at work on the table.
        CommitConflictError: `relocate/pending`: a pending instant may name the old location.
        SourceDriftError, UnsupportedTableError: as of `observe_relocation`.
    """
    storage = storage or open_storage(plan.location)
    require_moves(storage, "relocation of a source")
    with service_run(storage, clock or SystemClock()) as run:
        now = observe_relocation(plan.location, plan.new, tasks, storage=storage)
        if now.is_done:
            return None
        if load_timeline(storage).pending:
            raise CommitConflictError(
                "relocate/pending",
                "an instant is pending, whose plan may name source files",
                where=Where(table=storage.location),
                remedy="Complete it, or roll it back with its writer, then run again.",
            )
        relocation = Relocation(
            source=now.new,
            base_uri=now.new if "://" in now.new else f"file://{now.new}",
            move=partial(_moved, old=now.old, new=now.new),
        )
        relocate(storage, run.lease, require_table(storage), relocation)
    return now


def _moved(uri: str, old: str, new: str) -> str:
    """Return where a source file is now.

    Raises:
        UnsupportedTableError: `relocate/outside`.
    """
    moved = moved_uri(uri, old, new)
    if moved is None:
        raise UnsupportedTableError(
            "relocate/outside",
            "the bootstrap index names a source file outside of the source's folder",
            where=Where(file=uri),
            remedy="Run `run-pipeline materialize` while the old location is there.",
        )
    return moved


def _listed(index: BootstrapIndex) -> Iterator[tuple[str, SourceFile]]:
    """Yield the entries of the fileids file, by partition path."""
    for path, files in index.by_file_id():
        for each in files.values():
            yield path, SourceFile(each.uri, each.size, each.mtime_ms)


def _needed(
    storage: Storage, index: BootstrapIndex, move: partial[str]
) -> Iterator[tuple[str, SourceFile]]:
    """Yield each skeleton that exists, by its path, with its source file at the new location."""
    view = ListingView(storage, load_timeline(storage), index)
    for path in index.partitions():
        mappings = index.mappings(path)
        for group in view.groups(path):
            mapping = mappings.get(group.group.file_id)
            for base in group.bases if mapping else ():
                if base.name.instant == BOOTSTRAP_INSTANT and mapping is not None:
                    yield base.path, SourceFile(move(mapping.uri), mapping.size, mapping.mtime_ms)
