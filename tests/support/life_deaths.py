"""A service that dies on its way in a table's life, and the next run that recovers the table."""

from __future__ import annotations

from functools import partial
from random import Random
from typing import Any

from framework.engine.services.archival import observe_archival, run_archival
from framework.engine.services.clean import observe_clean, run_clean
from framework.engine.services.clustering import observe_clustering, run_clustering
from framework.engine.services.compaction import observe_compaction, run_compaction
from framework.engine.services.service_run import service_run
from framework.engine.services.undo import plan_rollback, run_undo
from framework.engine.tasks import InProcessTasks
from framework.errors import AfterCommitError
from framework.hudi.storage.memory_objects import MemoryObjectStorage
from framework.hudi.storage.port import Storage
from framework.hudi.timeline.archive import archive_files
from framework.hudi.timeline.instant import DATA_ACTIONS, Action
from framework.hudi.timeline.timeline import load_timeline
from framework.plan.services.archival import ArchivalLimits
from framework.plan.services.clean import CleanPolicy
from framework.plan.services.clustering import ClusterRequest
from tests.support.dying_objects import dies_on_objects
from tests.support.fault_storage import FaultStorage, Killed
from tests.support.life_model import Life

__all__ = ["die_and_recover"]

_MOST_STEPS = 40
_LATER_MS = 24 * 3_600_000
_TASKS = InProcessTasks(1)


def die_and_recover(life: Life, rng: Random) -> bool:
    """Let a service die at a random step, recover, and take over what it had done for good."""
    attempt = rng.choice([_compact, _cluster, _clean, _archive, _roll_back])(life)
    if attempt is None:
        return False
    cleans = _cleans(life)
    is_dead = _dies(life.storage, rng.randint(1, _MOST_STEPS), attempt)
    life.clock.advance(_LATER_MS)
    with service_run(life.storage, life.clock):
        pass
    if _cleans(life) > cleans:
        life.bounds.append(attempt.args[0].earliest)
    _take_over(life)
    return is_dead


_Attempt = partial[Any]
"""A service with its plan, which lacks only the storage."""


def _dies(storage: Storage, step: int, attempt: _Attempt) -> bool:
    """Return whether an attempt died at a step of its storage."""
    if isinstance(storage, MemoryObjectStorage):
        return dies_on_objects(storage, step, attempt)
    mortal = FaultStorage(storage, kill_at=step)
    try:
        attempt(mortal)
    except (AfterCommitError, Killed):
        assert mortal.dead
    return mortal.dead


def _cleans(life: Life) -> int:
    """Return the number of completed cleans: one that dies before its plan is stored is none."""
    completed = load_timeline(life.storage).completed
    return sum(each.action is Action.CLEAN for each in completed)


def _compact(life: Life) -> _Attempt | None:
    if not life.merges:
        return None
    plan = observe_compaction(life.location)
    return partial(run_compaction, plan, _TASKS, life.clock) if plan.slices else None


def _cluster(life: Life) -> _Attempt | None:
    plan = observe_clustering(life.location, ClusterRequest(by=("id",)))
    return partial(run_clustering, plan, _TASKS, life.clock) if plan.groups else None


def _clean(life: Life) -> _Attempt | None:
    plan = observe_clean(life.location, CleanPolicy(keep_commits=1), clock=life.clock)
    return partial(run_clean, plan, life.clock) if plan.files else None


def _archive(life: Life) -> _Attempt | None:
    plan = observe_archival(life.location, ArchivalLimits(keep_min=1, keep_max=2))
    return None if plan.is_empty else partial(run_archival, plan, life.clock)


def _roll_back(life: Life) -> _Attempt | None:
    to = life.states[-2] if len(life.states) > 1 else None
    if to is None or life.why_not_undone(life.states[-1:], to):
        return None
    return partial(run_undo, plan_rollback(life.location), Action.ROLLBACK, life.clock)


def _take_over(life: Life) -> None:
    """Make the model's states those of the timeline: at most one instant came or was undone."""
    completed = load_timeline(life.storage).completed
    done = [each.requested_time for each in completed if each.action in DATA_ACTIONS]
    known = [each.instant for each in life.states]
    life.has_archive |= bool(archive_files(life.storage, {}))
    if done[: len(known)] == known:
        assert len(done) <= len(known) + 1
        for time in done[len(known) :]:
            life.add(time)
    elif done == known[:-1]:
        life.go_back(life.states[-2])
    else:
        assert done == known[len(known) - len(done) :]
        life.archived += life.states[: len(known) - len(done)]
        del life.states[: len(known) - len(done)]
