"""What users call a point in time, as an instant."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta, timezone

import pytest

from framework.errors import PlanError
from framework.hudi.timeline.clock import Moment, instant_of
from framework.hudi.timeline.instant import Action, Instant, InstantState
from framework.hudi.timeline.timeline import Timeline

OLD = "00000000000001"
TIMELINE = Timeline(
    instants=(Instant(requested_time=OLD, action=Action.COMMIT, state=InstantState.COMPLETED),)
)


@pytest.mark.parametrize(
    ("moment", "instant"),
    [
        ("20261121093000123", "20261121093000123"),
        ("20261121093000", "20261121093000999"),
        (OLD, OLD),
        ("2026-11-21", "20261121000000000"),
        ("2026-11-21 09:30", "20261121093000000"),
        ("2026-11-21T09:30:00.5", "20261121093000500"),
        ("2026-11-21T09:30:00+02:00", "20261121073000000"),
        (date(2026, 11, 21), "20261121000000000"),
        (datetime(2026, 11, 21, 9, 30, 0, 123_999), "20261121093000123"),  # noqa: DTZ001
        (datetime(2026, 11, 21, 9, 30, tzinfo=UTC), "20261121093000000"),
        (
            datetime(2026, 11, 21, 1, tzinfo=timezone(timedelta(hours=3))),
            "20261120220000000",
        ),
    ],
)
def test_moment_in_any_form_is_an_instant(moment: Moment, instant: str) -> None:
    """Instants stay, seconds are whole, times without a zone are the table's."""
    assert instant_of(moment, TIMELINE, "UTC") == instant


@pytest.mark.parametrize("moment", ["2026", "yesterday", "", "2026-13-01", "202611210930001"])
def test_moment_that_is_none_is_refused(moment: str) -> None:
    """With the forms that are taken."""
    with pytest.raises(PlanError) as caught:
        instant_of(moment, TIMELINE, "UTC")
    assert caught.value.condition == "read/moment-not-readable"


def test_moment_with_a_zone_is_refused_where_instants_are_local() -> None:
    """The writer's zone is unknown; a time without a zone is in the writer's."""
    assert instant_of("2026-11-21 09:30", TIMELINE, "LOCAL") == "20261121093000000"
    with pytest.raises(PlanError) as caught:
        instant_of(datetime(2026, 11, 21, tzinfo=UTC), TIMELINE, "LOCAL")
    assert caught.value.condition == "read/moment-has-a-zone"
