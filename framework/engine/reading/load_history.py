"""What the commit of a load says of it, and the history of a table: one summary per instant."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from framework.engine.tasks import decode, encode
from framework.errors import CorruptFileError, Where
from framework.hudi.commit.intent import AUDIT_KEY, WRITE_ID_KEY
from framework.hudi.keygen.rule import KeyRule
from framework.hudi.storage.locations import open_storage
from framework.hudi.storage.port import Storage
from framework.hudi.timeline.commit_body import read_commit
from framework.hudi.timeline.commit_metadata import read_commit_head
from framework.hudi.timeline.instant import DATA_ACTIONS, Instant
from framework.hudi.timeline.timeline import load_timeline
from framework.plan.load import LoadPlan
from framework.plan.target import Target

__all__ = [
    "LOAD_KEY",
    "Event",
    "LoadFacts",
    "history",
    "load_facts",
    "read_load",
]

LOAD_KEY: Final = "lakestrap.load"
_VERSION: Final = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadFacts:
    """The record of a load in its commit.

    Attributes:
        version: of these facts.
        operation: a value of `WriteOperation`.
        source: id of the source, which remembered files belong to.
        files: of the input.
        bytes: their total size.
        run_id: of the run, None without one.
        released: the instant whose quarantined rows were loaded; None for other loads.
        key_rule: the table's.
        immutable: fields that cannot change, key path in the spec to value as text.
    """

    version: int
    operation: str
    source: str
    files: int
    bytes: int
    run_id: str | None
    released: str | None
    key_rule: KeyRule
    immutable: dict[str, str]


def load_facts(target: Target, plan: LoadPlan) -> dict[str, str]:
    """Return the entries of `lakestrap.*` that record a load in its commit."""
    facts = LoadFacts(
        version=_VERSION,
        operation=plan.operation,
        source=plan.source_id,
        files=plan.files,
        bytes=plan.bytes,
        run_id=plan.run_id,
        released=plan.releases,
        key_rule=target.key_rule,
        immutable=dict(target.immutable),
    )
    return {LOAD_KEY: encode(facts)}


def read_load(extra: Mapping[str, str], *, where: Where | None = None) -> LoadFacts | None:
    """Return a commit's record of its load; None if the commit is not Lakestrap's.

    Raises:
        CorruptFileError: `load/facts-not-readable`.
    """
    text = extra.get(LOAD_KEY)
    if text is None:
        return None
    try:
        facts = decode(LoadFacts, text)
    except ValueError as error:
        raise _not_readable(str(error), where) from error
    if facts.version != _VERSION:
        raise _not_readable("it is of another release", where)
    return facts


def _not_readable(message: str, where: Where | None) -> CorruptFileError:
    """Return the error for a commit that was changed."""
    return CorruptFileError(
        "load/facts-not-readable",
        f"the commit's record of its load is not readable: {message}",
        where=where,
        remedy="The commit file was changed after it was written; restore it.",
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """One instant.

    Attributes:
        instant: its requested time.
        action: its action.
        state: its state.
        operation: Hudi's name of the write operation; "" for actions that write no records.
        files: files that its commit names.
        rows: rows in them.
        bytes: their total size.
        write_id: the Lakestrap run; None if another writer made it.
        audit: the audit's proof; empty if there is none.
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
