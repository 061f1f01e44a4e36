"""The rows that a run quarantined: named just before its commit, removed if there is none."""

from __future__ import annotations

from contextlib import suppress
from datetime import UTC, datetime
from typing import Final

from framework.engine.audit.screen import Screened
from framework.engine.places import canonical
from framework.engine.quarantine.datasets import clear_place
from framework.engine.quarantine.quarantined_batch import (
    QuarantinedBatch,
    gathering_place,
    name_batch,
    withdraw,
)
from framework.engine.run.context import RunContext
from framework.errors import FrameworkError
from framework.hudi.commit.intent import Intent

__all__ = ["name_quarantined_rows", "quarantine_place", "withdraw_quarantined_rows"]

_BOOTSTRAP: Final = "bootstrap"


def quarantine_place(ctx: RunContext, intent: Intent) -> str:
    """Return where a run collects rows, after removing earlier leftovers; "" if it collects none.

    Raises:
        PlanError: `quarantine/of-another-table`.
    """
    location = ctx.plan.target.quality.quarantine
    if location is None:
        return ""
    table = ctx.storage.location
    clear_place(location, table, intent.write_id)
    return gathering_place(location, table, intent.write_id)


def name_quarantined_rows(ctx: RunContext, intent: Intent, screened: Screened) -> None:
    """Name the rows that were quarantined; does nothing if there are none.

    Raises:
        StorageError, CorruptFileError, PlanError: see `name_batch`; nothing may be published.
    """
    quality, load = ctx.plan.target.quality, ctx.plan.load
    if quality.quarantine is None or not screened.quarantined:
        return
    at = datetime.fromtimestamp(ctx.clock.now_ms() / 1000, tz=UTC)
    batch = QuarantinedBatch(
        table=canonical(ctx.storage.location),
        instant=intent.requested_time,
        run_id=intent.write_id,
        rows=screened.quarantined,
        by_rule={name: count for name, count in screened.by_rule.items() if count},
        at=at.strftime("%Y-%m-%dT%H:%M:%SZ"),
        operation=_BOOTSTRAP if load is None else load.operation.value,
        redacted=quality.redacted,
    )
    name_batch(quality.quarantine, batch)


def withdraw_quarantined_rows(ctx: RunContext, intent: Intent) -> None:
    """Remove the rows that an unpublished run quarantined; the next run sweeps any rest."""
    location = ctx.plan.target.quality.quarantine
    if location is not None:
        with suppress(FrameworkError):
            withdraw(location, ctx.storage.location, intent.write_id, intent.requested_time)
