"""The plan of an archival: which instants leave the active timeline, and which one stops it.

The limits are Apache Hudi's. Commits are archived oldest first and without gaps, because an instant
before the first active one counts as completed. So one commit that must stay keeps all later ones:

- under a savepoint, or later;
- beside a pending instant: it, all later ones, and the last commit before it, which readers need
  as the start of the timeline;
- not covered by the newest clean: from the commit before the earliest one that it retained, with
  which the next clean begins;
- in a merge-on-read table: from the last compaction on, or the last `DELTAS_FOR_COMPACTION`
  deltacommits, by which Apache Hudi decides when to compact;
- a replacecommit while a file that it replaced is there: without it readers would count both;
- on an object store, beside an instant for which requests may still arrive (ADR 0055).

Cleans and rollbacks go with the commits around them, or by the same limits on their own number; the
newest clean stays. Restores and savepoints stay, as in Apache Hudi, whose archive cannot hold them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

from framework.errors import PlanError, Where
from framework.hudi.timeline.instant import Action, Instant

__all__ = [
    "ArchivalFacts",
    "ArchivalLimits",
    "ArchivalPlan",
    "Hold",
    "archivable",
    "plan_archival",
]

DELTAS_FOR_COMPACTION: Final = 5
"""Apache Hudi's default of `hoodie.compact.inline.max.delta.commits`."""

_COMMITS: Final = frozenset({Action.COMMIT, Action.DELTACOMMIT, Action.REPLACECOMMIT})
_OTHERS: Final = (Action.CLEAN, Action.ROLLBACK)


@dataclass(frozen=True, slots=True, kw_only=True)
class ArchivalLimits:
    """When commits are archived, and how many stay.

    Attributes:
        keep_min: commits that stay active, at least 1.
        keep_max: more active commits than this are archived down to `keep_min`; greater than it.
    """

    keep_min: int = 20
    keep_max: int = 30

    def __post_init__(self) -> None:
        """Refuse limits that Apache Hudi refuses.

        Raises:
            PlanError: `archive/limits`.
        """
        if not 1 <= self.keep_min < self.keep_max:
            raise PlanError(
                "archive/limits",
                f"--keep-max {self.keep_max} is not greater than --keep-min {self.keep_min}, "
                "or that is less than 1",
                where=Where(),
                remedy="Apache Hudi's defaults are 20 and 30.",
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class Hold:
    """What keeps commits on the active timeline.

    Attributes:
        instant: this one and later ones stay.
        reason: in words.
    """

    instant: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ArchivalFacts:
    """What a plan depends on.

    Attributes:
        instants: the active timeline, each action in its furthest state, oldest first.
        archived: times and actions that are in the archive as completed, and active still: an
            archival died before it had deleted them.
        retained: the earliest commit that the newest clean retained; None without one.
        replacing: replacecommits of which a replaced file is still there.
        is_merge_on_read: the table's type.
        arriving: on an object store, the earliest instant for which requests may still arrive: one
            of the last quarter of an hour, completed or rolled back. None where there is none.
    """

    instants: tuple[Instant, ...]
    archived: frozenset[tuple[str, Action]] = frozenset()
    retained: str | None = None
    replacing: frozenset[str] = frozenset()
    is_merge_on_read: bool = False
    arriving: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ArchivalPlan:
    """What leaves the active timeline.

    Attributes:
        location: the table's.
        limits: by which it was planned.
        instants: completed ones that leave it, oldest first.
        archived: of these, time and action of those that are in the archive already.
        active: commits before the archival.
        hold: what keeps commits that the limits would let go; None where the limits decide.
        state_files: paths of state files that no commit in reach of a restore needs.
    """

    location: str
    limits: ArchivalLimits
    instants: tuple[Instant, ...] = ()
    archived: frozenset[tuple[str, Action]] = frozenset()
    active: int = 0
    hold: Hold | None = None
    state_files: tuple[str, ...] = field(default=())

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to do."""
        return not self.instants and not self.state_files

    @property
    def commits(self) -> int:
        """Commits that leave the active timeline."""
        return sum(each.action in _COMMITS for each in self.instants)


def archivable(facts: ArchivalFacts, limits: ArchivalLimits) -> tuple[Instant, ...]:
    """Return the commits that the limits would let go, oldest first.

    Those that are in the archive already go whatever the limits are; one commit always stays.
    """
    commits = _commits(facts)
    leftovers = 0
    while leftovers < len(commits) - 1 and _key(commits[leftovers]) in facts.archived:
        leftovers += 1
    surplus = len(commits) - limits.keep_min if len(commits) > limits.keep_max else 0
    return tuple(commits[: max(surplus, leftovers)])


def plan_archival(location: str, facts: ArchivalFacts, limits: ArchivalLimits) -> ArchivalPlan:
    """Return what leaves the active timeline; `facts.replacing` may cover `archivable` only."""
    commits, due = _commits(facts), archivable(facts, limits)
    hold = min(_holds(facts, commits), default=None, key=lambda each: each.instant)
    going = [each for each in due if hold is None or each.requested_time < hold.instant]
    others = _others(facts, limits, before=commits[len(going)].requested_time if going else "")
    instants = tuple(sorted((*going, *others)))
    return ArchivalPlan(
        location=location,
        limits=limits,
        instants=instants,
        archived=frozenset(map(_key, instants)) & facts.archived,
        active=len(commits),
        hold=hold if len(going) < len(due) else None,
    )


def _commits(facts: ArchivalFacts) -> list[Instant]:
    return sorted(each for each in facts.instants if each.is_completed and each.action in _COMMITS)


def _key(instant: Instant) -> tuple[str, Action]:
    return instant.requested_time, instant.action


def _holds(facts: ArchivalFacts, commits: Sequence[Instant]) -> Iterator[Hold]:
    """Yield everything that keeps a commit and all later ones."""
    for each in facts.instants:
        time = each.requested_time
        if each.action is Action.SAVEPOINT and each.is_completed:
            yield Hold(instant=time, reason=f"the savepoint of {time}")
        elif not each.is_completed:
            reason = f"the pending {each.action} {time}"
            yield Hold(instant=_last_before(commits, time) or time, reason=reason)
    if facts.retained and commits and facts.retained >= commits[0].requested_time:
        reason = f"the newest clean, which retained commits from {facts.retained} on"
        yield Hold(instant=_last_before(commits, facts.retained) or facts.retained, reason=reason)
    for time in facts.replacing:
        yield Hold(instant=time, reason=f"files that {time} replaced, and that are not cleaned yet")
    if facts.arriving is not None:
        reason = f"requests of instant {facts.arriving}, which may still arrive"
        yield Hold(instant=_last_before(commits, facts.arriving) or facts.arriving, reason=reason)
    yield from _compaction_hold(facts, commits)


def _last_before(commits: Sequence[Instant], time: str) -> str | None:
    """Return the newest commit before a time."""
    earlier = (each.requested_time for each in commits if each.requested_time < time)
    return max(earlier, default=None)


def _compaction_hold(facts: ArchivalFacts, commits: Sequence[Instant]) -> Iterator[Hold]:
    """Yield what Apache Hudi needs to decide when to compact."""
    compactions = [each.requested_time for each in commits if each.action is Action.COMMIT]
    last = compactions[-1] if compactions else None
    deltas = [
        each.requested_time
        for each in commits
        if each.action is Action.DELTACOMMIT and (last is None or each.requested_time > last)
    ]
    if not facts.is_merge_on_read or not (last or deltas):
        return
    enough = len(deltas) >= DELTAS_FOR_COMPACTION
    kept = deltas[-DELTAS_FOR_COMPACTION] if enough else last or deltas[0]
    yield Hold(instant=kept, reason=f"the next compaction, which counts deltacommits from {kept}")


def _others(facts: ArchivalFacts, limits: ArchivalLimits, *, before: str) -> Iterator[Instant]:
    """Yield the cleans and rollbacks that go.

    Args:
        facts: of the table.
        limits: for the number of each.
        before: the oldest commit that stays; "" if no commit goes.
    """
    begun = [each.requested_time for each in facts.instants if not each.is_completed]
    pending = min([*begun, *([facts.arriving] if facts.arriving else [])], default=None)
    for action in _OTHERS:
        done = sorted(e for e in facts.instants if e.is_completed and e.action is action)
        surplus = len(done) - limits.keep_min if len(done) > limits.keep_max else 0
        for number, each in enumerate(done if action is Action.ROLLBACK else done[:-1]):
            time = each.requested_time
            is_due = number < surplus or time < before or _key(each) in facts.archived
            if is_due and (pending is None or time < pending):
                yield each
