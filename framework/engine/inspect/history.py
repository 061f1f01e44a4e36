"""The instants of a table, each with what its commit says of it."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

from framework.hudi.commit.intent import AUDIT_KEY, WRITE_ID_KEY
from framework.hudi.storage.locations import open_storage
from framework.hudi.storage.port import Storage
from framework.hudi.timeline.commit_body import read_commit
from framework.hudi.timeline.commit_metadata import read_commit_head
from framework.hudi.timeline.instant import DATA_ACTIONS, Instant
from framework.hudi.timeline.timeline import load_timeline

__all__ = ["Event", "history"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """One instant.

    Attributes:
        instant: its requested time.
        action: its action.
        state: how far it has come.
        operation: Hudi's name of the write operation; "" for actions that write no records.
        files: files that its commit names.
        rows: rows in them.
        bytes: their sizes.
        write_id: the run of ours, None where another writer made it.
        audit: the audit's proof; empty where there is none.
    """

    instant: str
    action: str
    state: str
    operation: str = ""
    files: int = 0
    rows: int = 0
    bytes: int = 0
    write_id: str | None = None
    audit: dict[str, Any] = field(default_factory=dict)


def history(location: str) -> tuple[Event, ...]:
    """Return the instants of the active timeline, ascending; reads each completed commit."""
    storage = open_storage(location)
    return tuple(_event(storage, each) for each in load_timeline(storage).instants)


def _event(storage: Storage, instant: Instant) -> Event:
    plain = Event(
        instant=instant.requested_time, action=instant.action.value, state=instant.state.value
    )
    if instant.action not in DATA_ACTIONS or not instant.is_completed:
        return plain
    head = read_commit_head(storage, instant.path)
    files = rows = size = 0
    for stat in read_commit(storage, instant.path):
        files, rows, size = files + 1, rows + stat.rows, size + stat.size
    return Event(
        instant=plain.instant,
        action=plain.action,
        state=plain.state,
        operation=head.operation,
        files=files,
        rows=rows,
        bytes=size,
        write_id=head.extra.get(WRITE_ID_KEY),
        audit=json.loads(head.extra.get(AUDIT_KEY, "{}")),
    )
