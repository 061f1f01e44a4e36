"""Rows set aside by a run: named just before its commit, gone where there is none."""

from __future__ import annotations

from contextlib import suppress
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from framework.engine.course import begun
from framework.engine.quarantine.datasets import Aside, settle_aside, withdraw
from framework.errors import FrameworkError

if TYPE_CHECKING:
    from framework.engine.course import Course, Run

__all__ = ["settle_rows_aside", "withdraw_rows_aside"]


def settle_rows_aside(work: Run, course: Course) -> None:
    """Give the rows that were set aside their name; does nothing where there are none.

    Raises:
        StorageError: they could not be named, and nothing is to be published.
    """
    location, screened = work.plan.target.quality.quarantine, course.screened
    if location is None or not screened.quarantined:
        return
    intent = begun(course).intent
    at = datetime.fromtimestamp(work.clock.now_ms() / 1000, tz=UTC)
    told = Aside(
        table=work.storage.location,
        instant=intent.requested_time,
        run_id=intent.write_id,
        rows=screened.quarantined,
        by_rule={name: count for name, count in screened.by_rule.items() if count},
        at=at.strftime("%Y-%m-%dT%H:%M:%SZ"),
    )
    settle_aside(location, intent.write_id, told)


def withdraw_rows_aside(work: Run, course: Course) -> None:
    """Remove what a run set aside that publishes nothing; what stays is swept by the next run."""
    location = work.plan.target.quality.quarantine
    if location is None or course.transaction is None:
        return
    intent = course.transaction.intent
    with suppress(FrameworkError):
        withdraw(location, intent.write_id, intent.requested_time)
