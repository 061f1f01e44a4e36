"""What happens in a table's life: loads and every table service; each returns whether it happened.

An action that the product has to refuse is tried too, and must be refused by a condition that the
model expects.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from random import Random

from framework.engine.events import Event, Note
from framework.engine.services.archival import observe_archival, run_archival
from framework.engine.services.clean import observe_clean, run_clean
from framework.engine.services.clustering import observe_clustering, run_clustering
from framework.engine.services.compaction import (
    observe_compaction,
    observe_pending_compaction,
    run_compaction,
    run_pending_compaction,
    schedule_compaction,
)
from framework.engine.services.drop import Dropping, observe_drop, run_drop
from framework.engine.services.maintenance import maintain
from framework.engine.services.materialize import observe_materialize, run_materialize
from framework.engine.tasks import InProcessTasks
from framework.hudi.timeline.clock import instant_at
from framework.hudi.timeline.instant import Action, Instant, InstantState
from framework.hudi.timeline.timeline import load_timeline
from framework.plan.services.archival import ArchivalLimits
from framework.plan.services.clean import CleanPolicy
from framework.plan.services.clustering import ClusterRequest
from framework.plan.services.maintenance import Maintenance
from framework.vocabulary import RowOrder, WriteOperation
from tests.support.life_model import Life, refused
from tests.support.life_undoing import UNDOING
from tests.support.load_model import Row
from tests.support.storage_suite import put

__all__ = ["SERVICES", "load_rows", "load_run_again"]

_MS_PER_HOUR = 3_600_000
_OPERATIONS = (*WriteOperation, *[WriteOperation.UPSERT] * 4)
_TASKS = InProcessTasks(1)
_DEFAULT = Maintenance(compact_logs=5, clean=CleanPolicy(keep_commits=10), archive=ArchivalLimits())
_SHORT = Maintenance(
    compact_logs=1,
    cluster=ClusterRequest(),
    cluster_files=2,
    clean=CleanPolicy(keep_commits=1),
    archive=ArchivalLimits(keep_min=1, keep_max=2),
)


def load_rows(life: Life, rng: Random) -> bool:
    """Load some rows by any operation, under a new run id."""
    return _loaded(life, rng.choice(_OPERATIONS), _rows(rng), f"run-{len(life.used)}")


def load_run_again(life: Life, rng: Random) -> bool:
    """Load under the id of an earlier run, which has to be refused unless it was undone."""
    again = [each for each in life.used if each not in life.run_ids]
    if not again:
        return False
    return _loaded(life, WriteOperation.UPSERT, _rows(rng), rng.choice(again))


def _load_published_run(life: Life, rng: Random) -> bool:
    """Load under the id of a run that is published, which is refused."""
    if not life.run_ids:
        return False
    run_id = rng.choice(sorted(life.run_ids))
    attempt = partial(_loaded, life, WriteOperation.UPSERT, _rows(rng), run_id)
    refused({"load/published-meanwhile"}, attempt)
    return True


def _loaded(life: Life, operation: WriteOperation, rows: list[Row], run_id: str) -> bool:
    """Load rows; return whether that made an instant."""
    player = life.player
    player.run_id, before = run_id, len(player.history)
    player.play([(operation, rows)], first=len(life.used))
    if len(player.history) == before:
        return False
    life.used.append(run_id)
    life.run_ids |= {run_id}
    life.add(player.history[-1][0])
    return True


def _rows(rng: Random) -> list[Row]:
    return [
        {"id": rng.randint(0, 8), "day": rng.choice(["a", "b", None]), "ts": rng.randint(0, 3)}
        for _ in range(rng.randint(0, 6))
    ]


def _compact(life: Life, _: Random) -> bool:
    """Compact every slice with log files."""
    if not life.merges:
        refused({"compaction/copy-on-write"}, lambda: observe_compaction(life.location))
        return False
    done = run_compaction(observe_compaction(life.location), _TASKS, life.clock)
    if done is not None:
        life.add(done.instant)
    assert observe_compaction(life.location).slices == ()
    return done is not None


def _schedule(life: Life, _: Random) -> bool:
    """Plan a compaction, and leave it pending."""
    if not life.merges:
        return False
    done = schedule_compaction(observe_compaction(life.location), life.clock)
    if done is not None:
        life.pending[done.instant] = life.now(done.instant)
    return done is not None


def _execute(life: Life, _: Random) -> bool:
    """Execute the oldest pending compaction."""
    plan = observe_pending_compaction(life.location)
    assert (plan is None) == (not life.pending)
    if plan is None:
        return False
    assert plan.instant == min(life.pending)
    done = run_pending_compaction(plan, _TASKS, life.clock)
    assert done.instant == plan.instant
    life.add(done.instant, life.pending.pop(done.instant))
    return True


def _retry(life: Life, _: Random) -> bool:
    """Execute a pending compaction that another writer has begun."""
    if not life.pending:
        return False
    time = min(life.pending)
    begun = Instant(requested_time=time, action=Action.COMPACTION, state=InstantState.INFLIGHT)
    put(life.storage, begun.path)
    if len(life.pending) == 1:
        refused({"compaction/inflight"}, lambda: observe_pending_compaction(life.location))
    plan = observe_pending_compaction(life.location, retry=True)
    assert plan is not None
    assert plan.instant == time
    run_pending_compaction(plan, _TASKS, life.clock)
    life.add(time, life.pending.pop(time))
    return True


def _clean_commits(life: Life, rng: Random) -> bool:
    """Clean what some latest commits do not need."""
    keep = rng.randint(1, 3)
    return _cleaned(life, CleanPolicy(keep_commits=keep), _retained(life, keep))


def _retained(life: Life, keep: int) -> str:
    """Return the earliest of the latest commits; "" if there are no others."""
    times = _countable(life)
    return times[-keep] if len(times) > keep else ""


def _clean_hours(life: Life, rng: Random) -> bool:
    """Clean what commits of some hours do not need."""
    keep = rng.randint(1, 2)
    since = instant_at(life.clock.now_ms() - keep * _MS_PER_HOUR)
    times = _countable(life)
    later = [each for each in times if each >= since] or times[-1:]
    is_all = later == times
    return _cleaned(life, CleanPolicy(keep_hours=keep), "" if is_all else later[0])


def _clean_versions(life: Life, rng: Random) -> bool:
    """Clean all but some latest slices of each group."""
    times = _countable(life)
    policy = CleanPolicy(keep_versions=rng.randint(1, 2))
    return _cleaned(life, policy, times[-1] if times else "")


def _countable(life: Life) -> list[str]:
    """Return the instants before the first pending one."""
    first = min(life.pending, default="9")
    return [each.instant for each in life.states if each.instant < first]


def _cleaned(life: Life, policy: CleanPolicy, bound: str) -> bool:
    """Clean; what the earliest retained commit and later ones need is there afterwards."""
    plan = observe_clean(life.location, policy, clock=life.clock)
    done = run_clean(plan, life.clock)
    if done is None:
        return False
    assert bound
    _check_clean(life, policy, bound)
    return True


def _check_clean(life: Life, policy: CleanPolicy, bound: str) -> None:
    """Remember a clean, and see that files are there that it had to keep."""
    life.bounds.append(bound)
    if policy.keep_versions is None and bound == max(life.bounds):
        for each in life.states:
            assert each.instant < bound or each.files <= life.files(), each.instant


def _cluster_small(life: Life, _: Random) -> bool:
    """Merge small files."""
    return _clustered(life, ClusterRequest())


def _cluster_linear(life: Life, rng: Random) -> bool:
    """Sort rows by columns."""
    refused(
        {"cluster/no-such-column"},
        lambda: observe_clustering(life.location, ClusterRequest(by=("nothing",))),
    )
    return _clustered(life, ClusterRequest(by=rng.choice([("id",), ("v",), ("ts", "id")])))


def _cluster_z_order(life: Life, _: Random) -> bool:
    """Sort rows along a curve through two columns."""
    return _clustered(life, ClusterRequest(by=("id", "ts"), order=RowOrder.Z_ORDER))


def _clustered(life: Life, request: ClusterRequest) -> bool:
    done = run_clustering(observe_clustering(life.location, request), _TASKS, life.clock)
    if done is not None:
        life.add(done.instant)
    return done is not None


def _archive(life: Life, rng: Random) -> bool:
    """Archive all but a few instants."""
    least = rng.randint(1, 3)
    limits = ArchivalLimits(keep_min=least, keep_max=least + rng.randint(1, 2))
    done = run_archival(observe_archival(life.location, limits), life.clock)
    if done is None or not done.instants:
        return False
    assert _take_archived(life) == done.commits
    return True


def _take_archived(life: Life) -> int:
    """Move states that are no longer active; return how many."""
    life.has_archive = True
    active = {each.requested_time for each in load_timeline(life.storage).completed}
    gone = [each for each in life.states if each.instant not in active]
    assert gone == life.states[: len(gone)]
    held = min((*life.points, *life.pending), default="9")
    assert all(each.instant < held for each in gone)
    life.archived += gone
    del life.states[: len(gone)]
    return len(gone)


def _materialize(life: Life, _: Random) -> bool:
    """Make ordinary base files of skeletons."""
    done = run_materialize(observe_materialize(life.location), _TASKS, life.clock)
    for each in done.batches if done else ():
        life.add(each.instant)
    return done is not None


def _check_whole(life: Life, _: Random) -> bool:
    """Check the whole table."""
    life.check_whole()
    return True


def _maintain_by_default(life: Life, _: Random) -> bool:
    """Do what follows a load by default."""
    return _maintained(life, _DEFAULT)


def _maintain_shortly(life: Life, _: Random) -> bool:
    """Do all that may follow a load, at once."""
    return _maintained(life, _SHORT)


def _maintained(life: Life, rules: Maintenance) -> bool:
    events: list[Event] = []
    done = maintain(life.location, rules, _TASKS, life.clock, events.append)
    assert not [each for each in events if isinstance(each, Note)]
    for each in done:
        if each.service in {"compact", "cluster"} and each.instant is not None:
            life.add(each.instant)
        elif each.service == "clean" and rules.clean is not None:
            _check_clean(life, rules.clean, _retained(life, rules.clean.keep_commits or 1))
        elif each.service == "archive":
            _take_archived(life)
    return True


def _drop(life: Life, _: Random) -> bool:
    """Drop the table; one with savepoints only where they may go."""
    attempt = partial(run_drop, observe_drop(life.location), clock=life.clock)
    if life.points:
        refused({"drop/savepointed"}, lambda: attempt(dropping=Dropping()))
    attempt(dropping=Dropping(savepoints=True))
    life.vanish()
    return True


SERVICES: Mapping[str, Callable[[Life, Random], bool]] = {
    "load a published run": _load_published_run,
    "compact": _compact,
    "schedule": _schedule,
    "execute": _execute,
    "retry": _retry,
    "clean commits": _clean_commits,
    "clean hours": _clean_hours,
    "clean versions": _clean_versions,
    "cluster small": _cluster_small,
    "cluster linear": _cluster_linear,
    "cluster z-order": _cluster_z_order,
    "archive": _archive,
    "materialize": _materialize,
    "fsck": _check_whole,
    "maintain by default": _maintain_by_default,
    "maintain shortly": _maintain_shortly,
    "drop": _drop,
    **UNDOING,
}
"""All need a table."""
