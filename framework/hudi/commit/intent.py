"""The intent of a run, and the transaction it works with."""

from __future__ import annotations

import base64
import io
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from types import MappingProxyType
from typing import Any, Final

from framework.errors import CorruptFileError, Where
from framework.hudi.commit.lease import Lease
from framework.hudi.commit.placement import read_bytes
from framework.hudi.commit.staging import Staging
from framework.hudi.storage.port import Storage
from framework.hudi.table.layout import join
from framework.hudi.timeline.clock import Clock
from framework.hudi.timeline.commit_metadata import CommitHead, write_commit
from framework.hudi.timeline.instant import Action, Instant, InstantState, advance
from framework.hudi.timeline.requested_plans import requested_replace_bytes

__all__ = [
    "AUDIT_KEY",
    "BEGIN_FILE",
    "PROPERTIES_KEY",
    "SCHEDULED_KEY",
    "WRITE_ID_KEY",
    "Intent",
    "Transaction",
    "least_intent",
    "read_intent",
]

WRITE_ID_KEY: Final = "lakestrap.write_id"
SCHEDULED_KEY: Final = "lakestrap.scheduled"
"""In a requested compaction that Lakestrap scheduled; no run owns it, so none rolls it back."""
PROPERTIES_KEY: Final = "lakestrap.properties"
AUDIT_KEY: Final = "lakestrap.audit"
BEGIN_FILE: Final = "begin.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class Intent:
    """One write, as recorded in its pending instant and its staging folder.

    Attributes:
        write_id: the run.
        requested_time: its instant.
        action: its action.
        operation: Hudi's name of the write operation.
        is_new_table: True where the table's properties are made by this very write.
        facts: what the pending instant says under `lakestrap.*`, such as the spec's hash.
        plan: the requested file of an action that is no write, as base64; its own `extraMetadata`
            says whose it is. "" for writes.
        executes: the requested file of a pending compaction that this run executes, as base64; it
            was there before the run, and stays when the run is rolled back. Else "".
    """

    write_id: str
    requested_time: str
    action: Action
    operation: str
    is_new_table: bool
    facts: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    plan: str = ""
    executes: str = ""

    @property
    def staging(self) -> Staging:
        """The run's own folder."""
        return Staging(write_id=self.write_id)

    @property
    def requested(self) -> Instant:
        """The instant in state REQUESTED."""
        return Instant(
            requested_time=self.requested_time, action=self.action, state=InstantState.REQUESTED
        )

    @property
    def inflight(self) -> Instant:
        """The instant in state INFLIGHT, while files are written."""
        return Instant(
            requested_time=self.requested_time, action=self.action, state=InstantState.INFLIGHT
        )

    @property
    def completed(self) -> Instant:
        """The instant in state COMPLETED, when it is visible."""
        return advance(self.inflight, InstantState.COMPLETED)

    def pending_files(self) -> tuple[tuple[Instant, bytes], ...]:
        """Return the requested and the inflight instant with the bytes of their files.

        Both hold our facts and no statistics, or the plan. The first file of a replacecommit must
        be an Avro plan, its second one must not. The same bytes for equal intents, also for one
        that was read back.
        """
        plan = base64.b64decode(self.plan)
        if plan and self.action is not Action.REPLACECOMMIT:
            before = base64.b64decode(self.executes) if self.executes else plan
            return (self.requested, before), (self.inflight, plan)
        extra = dict(sorted({**self.facts, WRITE_ID_KEY: self.write_id}.items()))
        out = io.BytesIO()
        write_commit(out, CommitHead(extra=extra, operation=self.operation), ())
        inflight = requested = out.getvalue()
        if self.action is Action.REPLACECOMMIT:
            requested = plan or requested_replace_bytes(extra)
        return (self.requested, requested), (self.inflight, inflight)

    def own_files(self) -> tuple[tuple[Instant, bytes], ...]:
        """Return those of `pending_files` that the run itself creates."""
        return self.pending_files()[1 if self.executes else 0 :]

    def begin_bytes(self) -> bytes:
        """Return the bytes of the staging folder's first file."""
        fields = {**asdict(self, dict_factory=_plain), "facts": dict(self.facts)}
        return json.dumps(fields, sort_keys=True, ensure_ascii=False).encode()


@dataclass(frozen=True, slots=True, kw_only=True)
class Transaction:
    """A write in progress: its storage, intent, lease and clock."""

    storage: Storage
    intent: Intent
    lease: Lease
    clock: Clock


def least_intent(instant: Instant, write_id: str) -> Intent:
    """Return what an instant itself says of a run whose own record is missing."""
    return Intent(
        write_id=write_id,
        requested_time=instant.requested_time,
        action=instant.action,
        operation="UNKNOWN",
        is_new_table=False,
        facts={},
    )


def read_intent(storage: Storage, folder: str, *, name: str = BEGIN_FILE) -> Intent | None:
    """Return the intent of the run of a staging folder, renamed or not, or in a tombstone.

    None if the run never recorded one.

    Raises:
        CorruptFileError: `commit/corrupt-intent`.
    """
    path = join(folder, name)
    if storage.stat(path) is None:
        return None
    try:
        fields: dict[str, Any] = json.loads(read_bytes(storage, path))
        return Intent(**{**fields, "action": Action(fields["action"])})
    except (ValueError, KeyError, TypeError) as error:
        raise CorruptFileError(
            "commit/corrupt-intent",
            "a run's own record cannot be read",
            where=Where(file=path),
            remedy="Inspect the folder; if it belongs to no run of yours, delete it by hand.",
        ) from error


def _plain(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return the fields without `facts`, which `asdict` cannot copy."""
    return {name: value for name, value in pairs if name != "facts"}
