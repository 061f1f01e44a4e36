"""A table's state file: what Lakestrap must remember of a table when its commits are archived.

Archival moves commits out of the active timeline, with all that only they record. So each Lakestrap
commit names one immutable file below `.hoodie/.lakestrap/state`, with size and checksum, under
`lakestrap.state`. The newest completed Lakestrap commit determines which file is valid: a commit
that was rolled back or removed by a restore takes its state with it. An archived commit is
completed too, and its archived record still names the file (ADR 0034).
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Final

import google_crc32c

from framework.errors import CorruptFileError, StorageError, Where
from framework.hudi.commit.intent import Intent
from framework.hudi.commit.placement import place_bytes, read_bytes
from framework.hudi.storage.port import Storage
from framework.hudi.table.layout import LAKESTRAP, join
from framework.hudi.timeline.archive import archive_files, archived_instants
from framework.hudi.timeline.commit_metadata import read_commit_head
from framework.hudi.timeline.instant import DATA_ACTIONS, InstantState
from framework.hudi.timeline.timeline import Timeline

__all__ = ["STATE", "STATE_KEY", "StateRef", "delete_state_of", "find_state", "place_state"]

STATE: Final = join(LAKESTRAP, "state")
STATE_KEY: Final = "lakestrap.state"


@dataclass(frozen=True, slots=True, kw_only=True)
class StateRef:
    """An immutable file: `path` below the table, `size` in bytes, `crc32c` of all of them."""

    path: str
    size: int
    crc32c: int

    def as_json(self) -> str:
        """Return the text that a commit has under `STATE_KEY`."""
        return json.dumps(asdict(self), sort_keys=True)

    @classmethod
    def from_json(cls, text: str, where: Where) -> StateRef:
        """Return the reference in a commit.

        Raises:
            CorruptFileError: `state/reference-not-readable`.
        """
        try:
            found = json.loads(text)
            return cls(
                path=str(found["path"]), size=int(found["size"]), crc32c=int(found["crc32c"])
            )
        except (ValueError, KeyError, TypeError) as error:
            raise CorruptFileError(
                "state/reference-not-readable",
                f"the commit's '{STATE_KEY}' is not readable: {error}",
                where=where,
                remedy="The commit file was changed after it was written; restore it.",
            ) from error

    def read(self, storage: Storage) -> bytes:
        """Return the bytes of the file.

        Raises:
            CorruptFileError: `state/lost` where it is missing, `state/damaged` where it has other
                bytes.
        """
        where = Where(table=storage.location, file=f"{storage.location}/{self.path}")
        try:
            data = read_bytes(storage, self.path)
        except StorageError as error:
            if error.condition != "storage/not-found":
                raise
            raise CorruptFileError(
                "state/lost",
                "the state file that the newest Lakestrap commit names is missing",
                where=where,
                remedy="Restore the file from a copy. Without it, loaded files and adopted facts "
                "are not known; nothing was changed.",
            ) from error
        if len(data) != self.size or google_crc32c.value(data) != self.crc32c:
            raise CorruptFileError(
                "state/damaged",
                "the state file does not have the recorded size and checksum",
                where=where,
                remedy="Restore the file from a copy; nothing was changed.",
            )
        return data


def place_state(storage: Storage, intent: Intent, name: str, data: bytes) -> StateRef:
    """Create a state file of a run, durably, and return its reference.

    Args:
        storage: the table.
        intent: of the run; its instant and write id are part of the file's name.
        name: distinguishes the files of one run, such as `state.json`.
        data: the bytes; a second call with the same name must pass the same bytes.

    Raises:
        CommitConflictError: `commit/fenced`, `commit/name-taken`.
    """
    path = join(STATE, f"{intent.requested_time}-{intent.write_id}-{name}")
    place_bytes(storage, intent.staging, path, data)
    return StateRef(path=path, size=len(data), crc32c=google_crc32c.value(data))


def delete_state_of(storage: Storage, write_id: str) -> None:
    """Delete the state files of a run that was rolled back; costs one listing."""
    mine = [entry.path for entry in storage.list(STATE) if f"-{write_id}-" in entry.name]
    if mine:
        storage.delete(*mine)
        storage.delete(STATE, only_empty=True)


def find_state(
    storage: Storage,
    timeline: Timeline,
    properties: Mapping[str, str],
    *,
    only_with_folder: bool = False,
) -> StateRef | None:
    """Return the state of the newest completed Lakestrap commit; None if there is none.

    Reads heads of commits from the newest back to the first Lakestrap commit. The whole archive is
    read only if it may hold a newer one: if no active commit is Lakestrap's, or only one that a
    savepoint kept active.

    Args:
        storage: the table.
        timeline: of the table, whole.
        properties: of the table, as they are in its file.
        only_with_folder: return None if the folder `STATE` is missing, at the cost of one stat. For
            readers, whose rows are correct without a state; a load must detect a lost one.

    Raises:
        CorruptFileError: `state/reference-not-readable`, and as of `archived_instants` and
            `read_commit_head`.
    """
    if only_with_folder and storage.stat(STATE) is None:
        return None
    active = _newest_active(storage, timeline)
    first = timeline.first_active
    if first is None or (active is not None and active[0] >= first):
        return None if active is None else active[1]
    archived = _newest(_archived(storage, properties))
    found = max(filter(None, (active, archived)), default=None, key=lambda each: each[0])
    return None if found is None else found[1]


def _newest_active(storage: Storage, timeline: Timeline) -> tuple[str, StateRef] | None:
    """Return the newest active Lakestrap commit with its state."""
    for instant in reversed(timeline.completed):
        if instant.action in DATA_ACTIONS:
            text = read_commit_head(storage, instant.path).extra.get(STATE_KEY)
            if text is not None:
                where = Where(file=f"{storage.location}/{instant.path}")
                return instant.requested_time, StateRef.from_json(text, where)
    return None


def _archived(storage: Storage, properties: Mapping[str, str]) -> Iterable[tuple[str, StateRef]]:
    """Yield the archived Lakestrap commits with their states."""
    for each in archived_instants(storage, archive_files(storage, properties)):
        text = each.extra.get(STATE_KEY)
        if text is not None and each.state is InstantState.COMPLETED:
            where = Where(table=storage.location, instant=each.requested_time)
            yield each.requested_time, StateRef.from_json(text, where)


def _newest(found: Iterable[tuple[str, StateRef]]) -> tuple[str, StateRef] | None:
    """Return the pair with the greatest instant."""
    return max(found, default=None, key=lambda each: each[0])
