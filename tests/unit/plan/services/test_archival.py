"""Which instants leave the active timeline, and which one stops it."""

from __future__ import annotations

import pytest

from framework.errors import PlanError
from framework.hudi.timeline.instant import Action, Instant, InstantState
from framework.plan.services.archival import (
    ArchivalFacts,
    ArchivalLimits,
    ArchivalPlan,
    archivable,
    plan_archival,
)

LIMITS = ArchivalLimits(keep_min=3, keep_max=5)


def an_instant(
    time: int, action: Action = Action.COMMIT, state: InstantState = InstantState.COMPLETED
) -> Instant:
    """Return an instant whose time is this number."""
    return Instant(requested_time=f"{time:017}", action=action, state=state)


def timeline(*others: Instant, commits: int, action: Action = Action.COMMIT) -> tuple[Instant, ...]:
    """Return commits at 10, 20, 30 and so on, with other instants."""
    own = (an_instant(10 * number, action) for number in range(1, commits + 1))
    return tuple(sorted((*own, *others)))


def planned(facts: ArchivalFacts, limits: ArchivalLimits = LIMITS) -> ArchivalPlan:
    """Return the plan."""
    return plan_archival("t", facts, limits)


def times(plan: ArchivalPlan) -> list[int]:
    """Return the times of what leaves, as numbers."""
    return [int(each.requested_time) for each in plan.instants]


def gone(*others: Instant, commits: int = 9, retained: int | None = None) -> list[int]:
    """Return the times of what leaves a copy-on-write table."""
    kept = None if retained is None else f"{retained:017}"
    return times(planned(ArchivalFacts(instants=timeline(*others, commits=commits), retained=kept)))


def test_commits_are_archived_when_more_than_the_maximum_are_active() -> None:
    """Down to the minimum, oldest first; none where the maximum is not exceeded."""
    assert gone(commits=5) == []
    assert gone(commits=6) == [10, 20, 30]
    plan = planned(ArchivalFacts(instants=timeline(commits=6)))
    assert (plan.active, plan.commits, plan.hold) == (6, 3, None)
    assert planned(ArchivalFacts(instants=())).is_empty


@pytest.mark.parametrize(("keep_min", "keep_max"), [(0, 5), (5, 5), (6, 5)])
def test_limits_that_leave_nothing_are_refused(keep_min: int, keep_max: int) -> None:
    """As in Apache Hudi the maximum is greater; and one commit always stays."""
    with pytest.raises(PlanError) as refused:
        ArchivalLimits(keep_min=keep_min, keep_max=keep_max)
    assert refused.value.condition == "archive/limits"


def test_savepoint_holds_its_commit_and_all_later_ones() -> None:
    """A commit in between would be a gap."""
    savepoint = an_instant(30, Action.SAVEPOINT)
    assert gone(savepoint, an_instant(50, Action.SAVEPOINT)) == [10, 20]
    plan = planned(ArchivalFacts(instants=timeline(savepoint, commits=9)))
    assert plan.hold is not None
    assert plan.hold.reason == f"the savepoint of {30:017}"


@pytest.mark.parametrize(
    "action", [Action.COMMIT, Action.COMPACTION, Action.CLEAN, Action.ROLLBACK]
)
def test_pending_instant_holds_the_commit_before_it(action: Action) -> None:
    """A run that died is never passed: its files would count as completed."""
    assert gone(an_instant(35, action, InstantState.INFLIGHT)) == [10, 20]
    assert gone(an_instant(5, action, InstantState.REQUESTED)) == []
    assert gone(an_instant(85, action, InstantState.REQUESTED)) == [10, 20, 30, 40, 50, 60]


def test_newest_clean_holds_what_it_retained_and_the_commit_before() -> None:
    """The next clean begins there; one that retained archived commits holds nothing."""
    assert gone(retained=40) == [10, 20]
    assert gone(retained=10) == []
    assert gone(retained=5) == [10, 20, 30, 40, 50, 60]
    assert gone(retained=90) == [10, 20, 30, 40, 50, 60]


def test_replacecommit_stays_while_a_file_that_it_replaced_is_there() -> None:
    """Without it, readers would count the rows of both."""
    replaced = an_instant(25, Action.REPLACECOMMIT)
    instants = timeline(replaced, commits=9)
    facts = ArchivalFacts(instants=instants, replacing=frozenset({replaced.requested_time}))
    assert times(planned(facts)) == [10, 20]
    assert times(planned(ArchivalFacts(instants=instants))) == [10, 20, 25, 30, 40, 50, 60]


def test_deltacommits_for_the_next_compaction_stay() -> None:
    """From the last compaction, or the last five deltacommits after it."""

    def left(instants: tuple[Instant, ...]) -> list[int]:
        return times(planned(ArchivalFacts(instants=instants, is_merge_on_read=True)))

    assert left(timeline(commits=9, action=Action.DELTACOMMIT)) == [10, 20, 30, 40]
    assert left(timeline(an_instant(35), commits=9, action=Action.DELTACOMMIT)) == [
        *(10, 20, 30, 35, 40)
    ]
    assert left(timeline(an_instant(55), commits=9, action=Action.DELTACOMMIT)) == [
        *(10, 20, 30, 40, 50)
    ]
    assert left(timeline(an_instant(5), commits=4, action=Action.DELTACOMMIT)) == []
    assert left(()) == []


def test_cleans_and_rollbacks_go_with_the_commits_around_them() -> None:
    """The newest clean stays, and without a commit that goes none does."""
    others = [an_instant(10 * n + 5, Action.CLEAN) for n in (1, 2)]
    others += [an_instant(10 * n + 6, Action.ROLLBACK) for n in (1, 7)]
    assert gone(*others) == [10, 15, 16, 20, 30, 40, 50, 60]
    assert gone(*others, commits=5) == []


def test_cleans_and_rollbacks_have_limits_of_their_own() -> None:
    """As in Apache Hudi; a pending instant stops them too."""
    many = [an_instant(1000 + n, Action.ROLLBACK) for n in range(6)]
    assert gone(*many, commits=2) == [1000, 1001, 1002]
    cleans = [an_instant(1000 + n, Action.CLEAN) for n in range(6)]
    assert gone(*cleans, commits=2) == [1000, 1001, 1002]
    pending = an_instant(1001, Action.COMMIT, InstantState.INFLIGHT)
    assert gone(*many, pending, commits=2) == [1000]


def test_restores_and_savepoints_stay() -> None:
    """The archive of Apache Hudi has no place for them."""
    assert gone(an_instant(15, Action.RESTORE)) == [10, 20, 30, 40, 50, 60]


def test_what_is_archived_already_goes_whatever_the_limits_are() -> None:
    """An archival died before it had deleted them; what holds commits holds these, too."""
    instants = timeline(an_instant(15, Action.CLEAN), an_instant(16, Action.CLEAN), commits=4)
    archived = frozenset((each.requested_time, each.action) for each in instants[:3])
    plan = planned(ArchivalFacts(instants=instants, archived=archived))
    assert times(plan) == [10, 15]
    assert plan.archived == {(each.requested_time, each.action) for each in plan.instants}
    held = timeline(an_instant(10, Action.SAVEPOINT), commits=4)
    facts = ArchivalFacts(instants=held, archived=archived)
    assert planned(facts).commits == 0
    every = frozenset((each.requested_time, each.action) for each in held)
    facts = ArchivalFacts(instants=timeline(commits=4), archived=every)
    assert [int(each.requested_time) for each in archivable(facts, LIMITS)] == [10, 20, 30]


def test_instants_whose_requests_may_still_arrive_stay_with_the_commit_before() -> None:
    """That commit is the start of the timeline, from which on an unknown instant does not count."""
    facts = ArchivalFacts(instants=timeline(commits=9), arriving=f"{35:017}")
    plan = planned(facts)
    assert times(plan) == [10, 20]
    assert plan.hold is not None
    assert plan.hold.reason == f"requests of instant {35:017}, which may still arrive"
    other = an_instant(15, Action.ROLLBACK), an_instant(36, Action.ROLLBACK)
    facts = ArchivalFacts(instants=timeline(*other, commits=9), arriving=f"{35:017}")
    assert times(planned(facts)) == [10, 15, 20]
