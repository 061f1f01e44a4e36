"""The machine of the timeline, over the whole product of actions and states."""

from __future__ import annotations

from itertools import product

import pytest

from framework.errors import CommitConflictError, UnsupportedTableError
from framework.hudi.timeline.instant import TRANSITIONS, Action, Instant, InstantState, advance

REQUESTED, INFLIGHT, COMPLETED = InstantState
IRREGULAR = {
    (Action.COMPACTION, INFLIGHT): (Action.COMMIT, COMPLETED),
    (Action.LOGCOMPACTION, INFLIGHT): (Action.DELTACOMMIT, COMPLETED),
}


def expected(
    action: Action, state: InstantState, to: InstantState
) -> tuple[Action, InstantState] | None:
    """Return what should follow, in other words than the table."""
    if (state, to) not in {(REQUESTED, INFLIGHT), (INFLIGHT, COMPLETED)}:
        return None
    return IRREGULAR.get((action, state), (action, to))


@pytest.mark.parametrize(
    ("action", "state", "to"), list(product(Action, InstantState, InstantState))
)
def test_advance_over_the_whole_product_allows_only_the_next_step(
    action: Action, state: InstantState, to: InstantState
) -> None:
    """Each legal step gives the expected instant; each other one raises and changes nothing."""
    try:
        instant = Instant(requested_time="1", action=action, state=state)
    except UnsupportedTableError:
        assert (action, state) not in TRANSITIONS
        return
    wanted = expected(action, state, to)
    if wanted is None:
        with pytest.raises(CommitConflictError) as caught:
            advance(instant, to)
        assert caught.value.condition == "timeline/illegal-transition"
        assert instant == Instant(requested_time="1", action=action, state=state)
    else:
        result = advance(instant, to)
        assert (result.requested_time, (result.action, result.state)) == ("1", wanted)


def test_every_action_reaches_its_end() -> None:
    """From its first state each action gets to completed, and nothing leaves it."""
    for action in Action:
        state = INFLIGHT if action is Action.SAVEPOINT else REQUESTED
        instant = Instant(requested_time="1", action=action, state=state)
        while (instant.action, instant.state) in TRANSITIONS:
            instant = advance(instant, TRANSITIONS[instant.action, instant.state][1])
        assert instant.is_completed
