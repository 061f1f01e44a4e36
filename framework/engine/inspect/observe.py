"""Observation of table and source before planning; changes nothing but a scratch folder."""

from __future__ import annotations

import time
from contextlib import nullcontext
from pathlib import Path
from typing import Final

from framework.engine.bootstrap.source import sample_source, take_inventory
from framework.engine.events import Events, StageFinished, StageStarted, silent
from framework.engine.inspect.adoption import AdoptedGroups, Adoption, find_drift, needed
from framework.engine.load.input_listing import list_input
from framework.engine.places import canonical, obstacle
from framework.engine.reading.table_memory import TableMemory, read_memory
from framework.engine.run.state import lean_arrow
from framework.engine.tasks import Tasks
from framework.errors import CorruptFileError
from framework.hudi.bootstrap.index import BootstrapIndex
from framework.hudi.commit.drop import is_half_dropped
from framework.hudi.commit.lease import current_lease
from framework.hudi.commit.pending import Pending, PendingKind, find_pending
from framework.hudi.commit.segments import Journal
from framework.hudi.commit.staging import Staging
from framework.hudi.commit.state_files import STATE
from framework.hudi.storage.locations import open_storage
from framework.hudi.storage.port import Storage
from framework.hudi.table.layout import HOODIE, LAKESTRAP, METADATA_TABLE, PROPERTIES, name_of
from framework.hudi.table.properties import read_properties
from framework.hudi.timeline.clock import SystemClock
from framework.hudi.timeline.timeline import Timeline, load_timeline
from framework.hudi.view.listing_view import ListingView
from framework.plan import observation
from framework.plan.facts import INVENTORY_FACT, SPEC_FACT, BootstrapFacts
from framework.plan.load import LoadRequest
from framework.plan.target import Target

__all__ = ["observe", "observe_table", "source_drift"]

_SAMPLES: Final = 5
_UNKNOWN: Final = "unknown"


def observe(
    target: Target,
    tasks: Tasks,
    scratch: Path,
    *,
    request: LoadRequest | None = None,
    events: Events = silent,
) -> observation.Observation:
    """Return table, source and earlier run as they are now.

    If no table exists yet, the source of a bootstrap is inventoried (one read of each footer, in
    tasks) and rows of a few files are sampled; else it is listed and compared with the index.
    The source of a load is listed and compared with the table's commits. The run is a load if
    there is a request for one and no bootstrap comes before it.

    Raises:
        PlanError, EngineError: the source is missing or unreadable, the table corrupt.
    """
    storage = open_storage(canonical(target.location))
    pending = find_pending(storage)
    levels = len(target.key_rule.partition)
    table, memory = _observed(target.location, levels, pending)
    if request is not None and (table.exists or target.source is None):
        return observation.Observation(
            table=table,
            pending=_pending_run(storage, pending),
            request=request,
            input=list_input(storage, request, memory, scratch),
        )
    source = None
    if target.source is not None and not table.exists:
        source = _inventory(tasks, (canonical(target.source), levels, str(scratch)), events)
    return observation.Observation(
        table=table,
        source=source,
        pending=_pending_run(storage, pending),
        sample=None if source is None else sample_source(source, target.key_rule, target.bloom),
    )


def _inventory(
    tasks: Tasks, place: tuple[str, int, str], events: Events
) -> observation.SourceInventory:
    """Take the inventory of a source, as the stage `source`."""
    source, levels, scratch = place
    begun = time.monotonic()
    events(StageStarted(stage="source"))
    with lean_arrow():
        found = take_inventory(tasks, source, levels, scratch, events=events)
    files, rows = found.handle.files, found.handle.rows
    summary = f"{files:,} files, {rows:,} rows"
    events(StageFinished(stage="source", seconds=time.monotonic() - begun, summary=summary))
    return found


def observe_table(location: str, *, levels: int | None = None) -> observation.TableState:
    """Return the state of the target at a location.

    Args:
        location: the table's.
        levels: folder levels of a partition; None for those of the table's properties.
    """
    return _observed(location, levels, find_pending(open_storage(canonical(location))))[0]


def _observed(
    location: str, levels: int | None, pending: Pending | None
) -> tuple[observation.TableState, TableMemory | None]:
    """Return the state of the target, and what Lakestrap remembers of it."""
    storage = open_storage(canonical(location))
    if is_half_dropped(storage):  # what is left of it is removed before anything else
        return observation.TableState(location=storage.location, obstacle=obstacle(location)), None
    # before the timeline: a new table gets its properties after its commit
    properties = read_properties(storage)
    timeline = load_timeline(storage)
    memory = read_memory(storage, timeline)
    facts = None if memory is None else memory.facts
    if levels is None:
        levels = len(properties.partition_fields) if properties else 0
    state = observation.TableState(
        location=storage.location,
        properties=properties,
        completed=tuple(each.requested_time for each in timeline.completed),
        foreign_pending=_foreign(pending),
        foreign_content=_foreign_content(storage, is_table=bool(properties or timeline.instants)),
        obstacle=obstacle(location),
        metadata_table=storage.stat(METADATA_TABLE) is not None
        or bool(properties and properties.metadata_partitions),
        facts=facts,
        begun={} if memory is None else dict(memory.immutable),
        drift=source_drift(storage, timeline, facts, levels) if facts else None,
    )
    return state, memory


def _foreign(found: Pending | None) -> tuple[str, ...]:
    """Return the names of other writers' pending instants."""
    if found is None or found.kind is not PendingKind.FOREIGN or found.instant is None:
        return ()
    return (name_of(found.instant.path),)


def _foreign_content(storage: Storage, *, is_table: bool) -> tuple[str, ...]:
    """Return a few names at the root of a folder without a table or a Lakestrap run."""
    if is_table or any(True for _ in storage.list(HOODIE)):
        return ()
    names = (entry.name for entry in storage.list("") if entry.name != HOODIE)
    return tuple(name for name, _ in zip(names, range(_SAMPLES), strict=False))


def source_drift(
    storage: Storage, timeline: Timeline, facts: BootstrapFacts, levels: int
) -> observation.SourceDrift | None:
    """Return how the source of an adopted table differs now; None if nothing depends on it."""
    source = open_storage(facts.source)
    view = ListingView(storage, timeline)
    with BootstrapIndex.open_adopted(storage) or nullcontext() as index:
        if source.stat("") is None:
            return _without_source(facts, index, view)
        adoption = Adoption(
            source=source,
            levels=levels,
            skipped=frozenset(facts.skipped),
            has_full=facts.full > 0,
            written=AdoptedGroups(storage, timeline, facts.instant).of,
        )
        return find_drift(adoption, index, view)


def _without_source(
    facts: BootstrapFacts, index: BootstrapIndex | None, view: ListingView
) -> observation.SourceDrift | None:
    """Return how a source differs that does not exist; None if no skeleton needs it."""
    gone = facts.skeletons
    if index is not None:
        gone = sum(len(needed(view, path)) for path in index.partitions())
    if not gone:
        return None
    return observation.SourceDrift(missing_files=gone, samples_missing=(facts.source,))


def _pending_run(storage: Storage, pending: Pending | None) -> observation.PendingRun | None:
    """Return the unfinished earlier Lakestrap run, and whether it is alive."""
    if pending is None:
        return _dead_lease(storage)
    if pending.kind is PendingKind.FOREIGN:
        return None
    write_id = pending.write_id or (pending.intent.write_id if pending.intent else None)
    held = _holder(storage)
    if write_id is None:
        first = pending.folders[0] if pending.folders else ""
        write_id = first.rsplit("/", 1)[-1].removeprefix("dead-").split("-")[0]
    done = _files_done(storage, write_id) if pending.can_resume else None
    return observation.PendingRun(
        write_id=write_id,
        instant=pending.instant.requested_time if pending.instant else None,
        published=pending.kind is PendingKind.UNFINISHED,
        spec_hash=None if done is None else pending.facts.get(SPEC_FACT),
        inventory_sha256=None if done is None else pending.facts.get(INVENTORY_FACT),
        files_done=done or 0,
        held_by=held,
    )


def _files_done(storage: Storage, write_id: str) -> int | None:
    """Return the files in a run's journal; None if it is damaged, so the run is rolled back."""
    try:
        records = list(Journal(storage, Staging(write_id=write_id)).records())
    except CorruptFileError:
        return None
    return sum(int(record.get("files", 0)) for record in records)


def _dead_lease(storage: Storage) -> observation.PendingRun | None:
    """Return the run that died while releasing its lease; releasing the next one removes it.

    If the lease is already removed, empty folders of a finished table remain.
    """
    lease = current_lease(storage)
    if lease is None:
        there = storage.stat(LAKESTRAP) is not None and storage.stat(PROPERTIES) is not None
        left = there and [each.path for each in storage.list(LAKESTRAP)] != [STATE]
        return observation.PendingRun(write_id=_UNKNOWN) if left else None
    if not lease.is_over(SystemClock()):
        return None
    return observation.PendingRun(write_id=lease.owner.write_id)


def _holder(storage: Storage) -> str | None:
    """Return the holder of the lease, if a live run."""
    lease = current_lease(storage)
    if lease is None or lease.is_over(SystemClock()):
        return None
    return f"process {lease.owner.pid} on {lease.owner.host}"
