"""Instants from the clock: UTC, and greater than everything on the timeline."""

from __future__ import annotations

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from framework.errors import CommitConflictError
from framework.hudi.timeline.clock import ManualClock, SystemClock, instant_at, next_instant
from framework.hudi.timeline.instant import Action, Instant, InstantState
from framework.hudi.timeline.timeline import Timeline

NOW_MS = 1_767_225_600_000
NOW = "20260101000000000"


def a_timeline(*times: str) -> Timeline:
    """Return a timeline with a pending commit at each time."""
    return Timeline(
        instants=tuple(
            Instant(requested_time=each, action=Action.COMMIT, state=InstantState.INFLIGHT)
            for each in sorted(times)
        )
    )


@pytest.mark.parametrize(
    ("times", "expected"),
    [
        ((), NOW),
        (("00000000000001",), NOW),
        (("20251231235959999",), NOW),
        ((NOW,), "20260101000000001"),
        (("20260101000000999",), "20260101000001000"),
        (("20260101000000",), NOW),
        (("20260101000001",), "20260101000002000"),
        (("20260101000059999",), "20260101000100000"),
    ],
)
def test_next_instant_is_greater_than_all(times: tuple[str, ...], expected: str) -> None:
    """The present, or one millisecond after the last instant; 14 digits count as their end."""
    found = next_instant(ManualClock(NOW_MS), a_timeline(*times))
    assert found == expected
    assert all(found > each for each in times)


@pytest.mark.parametrize("last", ["20260101000100001", "20360101000000000", "99999999999999999"])
def test_next_instant_with_a_clock_far_behind_raises_with_both_times(last: str) -> None:
    """More than the allowed skew is refused, and so is an instant that is no time at all."""
    with pytest.raises(CommitConflictError) as caught:
        next_instant(ManualClock(NOW_MS), a_timeline(last))
    assert caught.value.condition == "timeline/clock-behind"
    assert NOW in caught.value.message
    assert last in caught.value.message


def test_next_instant_with_a_stopped_clock_never_repeats() -> None:
    """Each instant is greater than the previous one, even if the clock stops or moves back."""
    clock, times = ManualClock(NOW_MS), ["00000000000001"]
    for _ in range(50):
        times.append(next_instant(clock, a_timeline(*times)))
        clock.advance(-100)
    assert times == sorted(set(times))


def test_instant_at_does_not_depend_on_the_time_zone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Instants are UTC in every time zone of the machine."""
    monkeypatch.setenv("TZ", "Asia/Kathmandu")
    time.tzset()
    try:
        assert instant_at(NOW_MS) == NOW
    finally:
        monkeypatch.undo()
        time.tzset()


@pytest.mark.property
@settings(deadline=None)
@given(
    st.integers(-62_135_596_800_000, 253_402_300_799_998),
)
def test_instant_at_keeps_the_order_of_moments(epoch_ms: int) -> None:
    """Text order is time order, and the text always has 17 digits."""
    one, two = instant_at(epoch_ms), instant_at(epoch_ms + 1)
    assert len(one) == 17
    assert one < two


def test_system_clock_returns_the_current_time() -> None:
    """Milliseconds since the epoch."""
    assert abs(SystemClock().now_ms() - time.time() * 1000) < 10_000
