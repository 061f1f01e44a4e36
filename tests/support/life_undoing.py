"""Rollbacks, restores and savepoints of a table's life: each returns whether it happened."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from random import Random

from framework.engine.services.savepoint import create_savepoint, delete_savepoint
from framework.engine.services.undo import plan_restore, plan_rollback, run_undo
from framework.hudi.timeline.instant import Action
from tests.support.life_model import Life, State, refused

__all__ = ["UNDOING"]


def _roll_back(life: Life, _: Random) -> bool:
    """Undo the newest instant."""
    going, to = life.states[-1:], life.states[-2] if len(life.states) > 1 else None
    return _undone(life, going, to, Action.ROLLBACK)


def _restore(life: Life, rng: Random) -> bool:
    """Go back to an instant."""
    to = rng.choice(life.states[-4:])
    return _restored(life, to)


def _restore_to_savepoint(life: Life, rng: Random) -> bool:
    """Go back to an instant that is held."""
    held = [each for each in life.states if each.instant in life.points]
    return bool(held) and _restored(life, rng.choice(held[-1:]))


def _restore_too_far(life: Life, _: Random) -> bool:
    """Go back to what is archived, which is refused."""
    if not life.archived:
        return False
    refused(
        {"restore/before-table"}, lambda: plan_restore(life.location, life.archived[-1].instant)
    )
    return True


def _restored(life: Life, to: State) -> bool:
    later = [each for each in life.states if each.instant > to.instant]
    if not later:
        refused({"rollback/nothing-to-undo"}, lambda: plan_restore(life.location, to.instant))
        return False
    return _undone(life, later, to, Action.RESTORE)


def _undone(life: Life, going: list[State], to: State | None, action: Action) -> bool:
    """Undo instants, or see that refused."""

    def attempt() -> None:
        if action is Action.RESTORE and to is not None:
            plan = plan_restore(life.location, to.instant)
        else:
            plan = plan_rollback(life.location)
        run_undo(plan, action, life.clock)

    reasons = life.why_not_undone(going, to)
    if reasons:
        refused(reasons, attempt)
        life.refusals.update(reasons)
        return False
    attempt()
    life.go_back(to)
    return True


def _create_savepoint(life: Life, rng: Random) -> bool:
    """Hold an instant."""
    state = rng.choice(life.states[-3:])
    attempt = partial(create_savepoint, life.location, state.instant, clock=life.clock)
    if state.instant in life.points:
        refused({"savepoint/exists"}, attempt)
        return False
    is_newest = state is life.states[-1]
    if not is_newest and state.instant < max(life.bounds, default=""):
        refused({"read/cleaned"}, attempt)
        life.refusals.update(["read/cleaned"])
        return False
    attempt()
    life.points.add(state.instant)
    return True


def _delete_savepoint(life: Life, rng: Random) -> bool:
    """Hold an instant no more."""
    if not life.points:
        attempt = partial(delete_savepoint, life.location, life.states[-1].instant)
        refused({"savepoint/none"}, attempt)
        return False
    time = rng.choice(sorted(life.points))
    delete_savepoint(life.location, time, clock=life.clock)
    life.points.remove(time)
    return True


UNDOING: Mapping[str, Callable[[Life, Random], bool]] = {
    "roll back": _roll_back,
    "restore": _restore,
    "restore to savepoint": _restore_to_savepoint,
    "restore too far": _restore_too_far,
    "savepoint": _create_savepoint,
    "drop savepoint": _delete_savepoint,
}
