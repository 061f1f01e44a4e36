"""Archival: old completed instants leave the active timeline for Apache Hudi's archive (ADR 0038).

State files that no commit in reach of a restore needs go too (ADR 0034). A restore goes back to an
active instant at most. Then the state of the newest Lakestrap commit up to it counts, and that may
be an archived one. So the files of all active commits stay, and those of the newest archived
Lakestrap commit, with all segments that they name. Files of instants that are still active or newer
stay too, whether a commit names them or not.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final

from framework.engine.reading.table_memory import decode_memory
from framework.engine.services.archival_facts import observe_facts
from framework.engine.services.service_run import ServiceRun, require_table, service_run
from framework.errors import Where
from framework.hudi.commit.lease import require
from framework.hudi.commit.placement import place_bytes, read_bytes
from framework.hudi.commit.staging import Staging
from framework.hudi.commit.state_files import STATE, STATE_KEY, StateRef
from framework.hudi.storage.locations import open_storage
from framework.hudi.storage.port import Entry, Storage
from framework.hudi.table.layout import HOODIE, TEMP, crc_sidecar, name_of, temp_folder
from framework.hudi.table.properties import TableProperties
from framework.hudi.timeline.archive import (
    InstantFile,
    archive_bytes,
    archive_entries,
    archived_instants,
    newest_first,
    next_archive_file,
)
from framework.hudi.timeline.clock import Clock, SystemClock, instant_at
from framework.hudi.timeline.commit_metadata import read_commit_head
from framework.hudi.timeline.instant import DATA_ACTIONS, Action, Instant, InstantState
from framework.hudi.timeline.timeline import load_timeline
from framework.plan.services.archival import ArchivalLimits, ArchivalPlan, plan_archival

__all__ = ["Archived", "observe_archival", "run_archival"]

_MOST_BYTES: Final = 32 << 20
"""Bytes of instants that go into one archive file; it is made in memory."""

_RESULTS: Final = {Action.COMPACTION: Action.COMMIT, Action.LOGCOMPACTION: Action.DELTACOMMIT}
_STATES: Final = tuple(InstantState)


@dataclass(frozen=True, slots=True, kw_only=True)
class Archived:
    """A finished archival.

    Attributes:
        instants: that left the active timeline.
        commits: of these, instants of data.
        state_files: state files that were deleted.
    """

    instants: int
    commits: int
    state_files: int


def observe_archival(location: str, limits: ArchivalLimits | None = None) -> ArchivalPlan:
    """Return what an archival would do; changes nothing.

    Costs two listings, one read of the newest archive file and, where state files may be unused, a
    small read of each active commit and its state file. A replacecommit that is due costs a listing
    of each partition that it replaced files in.

    Raises:
        UnsupportedTableError: see `require_table`.
        CorruptFileError: a file of the timeline, of the archive or of the state is damaged.
    """
    storage = open_storage(location)
    properties = require_table(storage)
    return _observed(storage, properties, limits or ArchivalLimits())


def run_archival(
    plan: ArchivalPlan, clock: Clock | None = None, storage: Storage | None = None
) -> Archived | None:
    """Archive what the plan's limits let go, planned again after dead runs are recovered.

    Args:
        plan: names the table and the limits.
        clock: the time; None means the system's.
        storage: the table's; None opens it.

    Returns:
        What was archived; None if there was nothing to do.

    Raises:
        LeaseHeldError: another run is at work on the table.
        UnsupportedTableError, CorruptFileError: as of `observe_archival`.
    """
    if plan.is_empty and plan.hold is None:
        return None
    storage = storage or open_storage(plan.location)
    with service_run(storage, clock or SystemClock()) as run:
        properties = require_table(storage)
        plan = _observed(storage, properties, plan.limits)
        for batch in _batches(storage, plan.instants):
            _archive(run, properties, batch, plan.archived)
            _delete(run, batch)
        if plan.state_files:
            require(storage, run.lease)
            storage.delete(*plan.state_files)
        Staging(write_id=run.lease.owner.write_id).remove(storage)
    if plan.is_empty:
        return None
    return Archived(
        instants=len(plan.instants), commits=plan.commits, state_files=len(plan.state_files)
    )


def _observed(
    storage: Storage, properties: TableProperties, limits: ArchivalLimits
) -> ArchivalPlan:
    """Return the plan for the table as it is now."""
    timeline = load_timeline(storage)
    facts = observe_facts(storage, properties, timeline, limits)
    plan = plan_archival(storage.location, facts, limits)
    staying = set(timeline.completed) - set(plan.instants)
    unused = _unused_state_files(storage, properties.raw, tuple(staying), plan.instants)
    return replace(plan, state_files=unused)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Files:
    """The files of one completed instant, from requested to completed."""

    instant: Instant
    states: tuple[tuple[Instant, Entry], ...]

    @property
    def size(self) -> int:
        return sum(entry.size for _, entry in self.states)


def _batches(storage: Storage, instants: Sequence[Instant]) -> Iterator[list[_Files]]:
    """Yield the instants with their files, as many at once as go into one archive file."""
    batch: list[_Files] = []
    size = 0
    for each in _files(storage, instants) if instants else ():
        if batch and size + each.size > _MOST_BYTES:
            yield batch
            batch, size = [], 0
        batch.append(each)
        size += each.size
    if batch:
        yield batch


def _files(storage: Storage, instants: Iterable[Instant]) -> Iterator[_Files]:
    """Yield the files of instants, in the order of the instants; one listing."""
    found: Mapping[tuple[str, Action], list[tuple[Instant, Entry]]] = defaultdict(list)
    for entry in storage.list(HOODIE):
        instant = None if entry.is_folder else Instant.parse(entry.name)
        if instant is not None:
            action = _RESULTS.get(instant.action, instant.action)
            found[instant.requested_time, action].append((instant, entry))
    for each in instants:
        states = found[each.requested_time, each.action]
        ordered = sorted(states, key=lambda pair: _STATES.index(pair[0].state))
        yield _Files(instant=each, states=tuple(ordered))


def _archive(
    run: ServiceRun,
    properties: TableProperties,
    batch: Sequence[_Files],
    archived: frozenset[tuple[str, Action]],
) -> None:
    """Make one archive file of the instants that are in none yet."""
    storage = run.storage
    entries = [
        each
        for files in batch
        if (files.instant.requested_time, files.instant.action) not in archived
        for each in archive_entries(
            [_read(storage, *state, properties.timezone) for state in files.states]
        )
    ]
    if entries:
        data = archive_bytes(entries, where=Where(table=storage.location))
        staging = Staging(write_id=run.lease.owner.write_id)
        require(storage, run.lease)
        target = next_archive_file(storage, properties.raw)
        place_bytes(storage, staging, target, data, has_begun=False)


def _read(storage: Storage, instant: Instant, entry: Entry, timezone: str) -> InstantFile:
    """Return an instant's file with the time at which it was made, in the table's zone."""
    epoch_ms = entry.mtime_ns // 1_000_000
    changed = instant_at(epoch_ms)
    if timezone != "UTC":
        local = datetime.fromtimestamp(epoch_ms // 1000)  # noqa: DTZ006 - the table's own zone
        changed = f"{local:%Y%m%d%H%M%S}{epoch_ms % 1000:03}"
    return InstantFile(
        instant=instant,
        data=read_bytes(storage, entry.path),
        changed=changed,
        where=Where(table=storage.location, file=f"{storage.location}/{entry.path}"),
    )


def _delete(run: ServiceRun, batch: Sequence[_Files]) -> None:
    """Delete archived instants from the active timeline, with markers that were left of them.

    The lease is checked before each delete, which cannot be fenced.
    """
    storage = run.storage
    states = [instant for files in batch for instant, _ in files.states]
    pending = [each.path for each in states if not each.is_completed]
    mine = {temp_folder(each.requested_time) for each in states}
    markers = [entry.path for entry in storage.list(TEMP) if entry.path in mine]
    if pending or markers:
        require(storage, run.lease)
        storage.delete(*markers, *pending, *map(crc_sidecar, pending))
    for each in states:
        if each.is_completed:
            require(storage, run.lease)
            storage.delete(each.path, crc_sidecar(each.path))


_STATE_FILE = "-state.json"


def _unused_state_files(
    storage: Storage,
    properties: Mapping[str, str],
    staying: Sequence[Instant],
    going: Sequence[Instant],
) -> tuple[str, ...]:
    """Return the paths of state files that are not needed once `going` is archived.

    Costs one listing, and a small read of each active commit and its state file. Archive files are
    read only if no commit that is going is Lakestrap's: newest first, up to the first that has one.

    Args:
        storage: the table.
        properties: of the table, as they are in its file.
        staying: completed instants that stay active.
        going: completed instants that are about to be archived.

    Raises:
        CorruptFileError, UnsupportedTableError: a state file, a commit or an archive file is not
            readable.
    """
    active = sorted(each for each in staying if each.action in DATA_ACTIONS)
    first = active[0].requested_time if active else ""
    listed = (entry.path for entry in storage.list(STATE) if not entry.is_folder)
    old = [path for path in listed if _instant(path) < first]
    archived = _newest_archived(storage, properties, going) if old else None
    if archived is None:
        return ()
    roots = {archived, *_named(storage, active)}
    roots.add(max((path for path in old if path.endswith(_STATE_FILE)), default=archived))
    needed = roots | _segments(storage, roots)
    return tuple(path for path in old if path not in needed)


def _instant(path: str) -> str:
    """Return the instant in a state file's name."""
    return name_of(path).partition("-")[0]


def _newest_archived(
    storage: Storage, properties: Mapping[str, str], going: Sequence[Instant]
) -> str | None:
    """Return the state file that the newest archived Lakestrap commit names, if there is one."""
    data = sorted((each for each in going if each.action in DATA_ACTIONS), reverse=True)
    found = next(_named(storage, data), None)
    paths = iter(newest_first(storage, properties))
    while found is None and (path := next(paths, None)) is not None:
        states = [
            (each.requested_time, text)
            for each in archived_instants(storage, (path,))
            if each.state is InstantState.COMPLETED and (text := each.extra.get(STATE_KEY))
        ]
        found = _path(max(states)[1], path) if states else None
    return found


def _named(storage: Storage, instants: Iterable[Instant]) -> Iterator[str]:
    """Yield the state files that commits name, in the order of the commits."""
    for each in instants:
        text = read_commit_head(storage, each.path).extra.get(STATE_KEY)
        if text is not None:
            yield _path(text, each.path)


def _path(text: str, file: str) -> str:
    return StateRef.from_json(text, Where(file=file)).path


def _segments(storage: Storage, paths: Iterable[str]) -> frozenset[str]:
    """Return the segments that state files name; a lost file names none."""
    found: set[str] = set()
    for path in paths:
        if storage.stat(path) is not None:
            memory = decode_memory(read_bytes(storage, path), f"{storage.location}/{path}")
            found |= memory.segments()
    return frozenset(found)
