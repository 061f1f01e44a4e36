"""State files that no commit in reach of a restore needs (ADR 0034, ADR 0038).

A restore goes back to an active instant at most. Then the state of the newest Lakestrap commit up
to it counts, and that may be an archived one. So the files of all active commits stay, and those of
the newest archived Lakestrap commit, with all segments that they name. Files of instants that are
still active or newer stay too, whether a commit names them or not.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from framework.engine.reading.table_memory import decode_memory
from framework.errors import Where
from framework.hudi.commit.placement import read_bytes
from framework.hudi.commit.state_files import STATE, STATE_KEY, StateRef
from framework.hudi.storage.port import Storage
from framework.hudi.table.layout import name_of
from framework.hudi.timeline.archive import archived_instants
from framework.hudi.timeline.archive_writer import newest_first
from framework.hudi.timeline.commit_metadata import read_commit_head
from framework.hudi.timeline.instant import DATA_ACTIONS, Instant, InstantState

__all__ = ["unused_state_files"]

_STATE_FILE = "-state.json"


def unused_state_files(
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
