"""The table services that follow a load, as its spec's `maintenance` says (ADR 0043)."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from framework.engine.events import Events, Note, StageFinished, StageStarted
from framework.engine.services.archival import observe_archival, run_archival
from framework.engine.services.clean import observe_clean, run_clean
from framework.engine.services.clustering import observe_clustering, run_clustering
from framework.engine.services.compaction import observe_compaction, run_compaction
from framework.engine.tasks import Tasks
from framework.errors import AfterCommitError, FrameworkError, RetryableError
from framework.hudi.storage.locations import open_storage
from framework.hudi.timeline.clock import Clock
from framework.hudi.timeline.instant import DATA_ACTIONS, Action
from framework.hudi.timeline.timeline import Timeline, load_timeline
from framework.plan.services.archival import ArchivalLimits
from framework.plan.services.clean import CleanPolicy
from framework.plan.services.clustering import ClusteringPlan, ClusterRequest
from framework.plan.services.maintenance import Maintenance
from framework.plan.words import count_text

__all__ = ["Serviced", "maintain"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Serviced:
    """A service that followed a load: its name, its instant, and one line for people.

    An archival has no instant of its own.
    """

    service: str
    instant: str | None
    summary: str


@dataclass(frozen=True, slots=True, kw_only=True)
class _Table:
    """What every service gets."""

    location: str
    tasks: Tasks
    clock: Clock


def maintain(
    location: str, rules: Maintenance, tasks: Tasks, clock: Clock, events: Events
) -> tuple[Serviced, ...]:
    """Run the services that are due; return those that changed something.

    Costs a listing of the timeline where none is due. Another writer at work is no error: the
    services are left to the next load, with a warning.

    Raises:
        AfterCommitError: `maintenance/failed`; the load is published, and the table is right.
    """
    if rules == Maintenance():
        return ()
    table = _Table(location=location, tasks=tasks, clock=clock)
    found = []
    for name, run in _due(rules, load_timeline(open_storage(location))):
        begun = time.monotonic()
        events(StageStarted(stage=name))
        try:
            done = run(table)
        except RetryableError as error:
            events(Note(level="warning", message=f"{name} is left to the next load: {error}"))
            done = None
        except FrameworkError as error:
            raise AfterCommitError(
                "maintenance/failed",
                f"the load is published, but the {name} that follows it failed: {error.message}",
                where=replace(error.where, table=location),
                remedy=f"Run `run-pipeline {name}` once the cause is removed; the next load tries"
                " again.",
            ) from error
        summary = "nothing to do" if done is None else done.summary
        events(StageFinished(stage=name, seconds=time.monotonic() - begun, summary=summary))
        if done is not None:
            found.append(done)
    return tuple(found)


_Service = Callable[[_Table], Serviced | None]


def _due(rules: Maintenance, timeline: Timeline) -> Iterator[tuple[str, _Service]]:
    """Yield the services that may have something to do, by the timeline alone.

    A slice has at most one log file for each deltacommit since the last compaction that it was
    part of, so compactions are at least `compact_logs` deltacommits apart.
    """
    logs, request, policy = rules.compact_logs, rules.cluster, rules.clean
    if logs is not None and _deltas(timeline) >= logs:
        yield "compact", lambda table: _compact(table, logs)
    if request is not None:
        yield "cluster", lambda table: _cluster(table, request, rules.cluster_files)
    if policy is not None and _commits(timeline) > (policy.keep_commits or 1):
        yield "clean", lambda table: _clean(table, policy)
    limits = rules.archive
    if limits is not None and _commits(timeline) > limits.keep_max:
        yield "archive", lambda table: _archive(table, limits)


def _deltas(timeline: Timeline) -> int:
    """Return the number of deltacommits since the last compaction."""
    times = [each for each in timeline.completed if each.action is not Action.SAVEPOINT]
    compacted = max((e.requested_time for e in times if e.action is Action.COMMIT), default="")
    later = (each for each in times if each.requested_time > compacted)
    return sum(each.action is Action.DELTACOMMIT for each in later)


def _commits(timeline: Timeline) -> int:
    """Return the number of completed commits on the active timeline."""
    return sum(each.action in DATA_ACTIONS for each in timeline.completed)


def _compact(table: _Table, min_logs: int) -> Serviced | None:
    plan = observe_compaction(table.location, min_logs=min_logs)
    done = run_compaction(plan, table.tasks, table.clock)
    if done is None:
        return None
    summary = f"{count_text(plan.logs, 'log file')} into {count_text(done.files, 'base file')}"
    return Serviced(service="compact", instant=done.instant, summary=summary)


def _cluster(table: _Table, request: ClusterRequest, min_files: int) -> Serviced | None:
    plan = _of_many_files(observe_clustering(table.location, request), min_files)
    done = run_clustering(plan, table.tasks, table.clock)
    if done is None:
        return None
    slices, files = count_text(len(plan.slices), "slice"), count_text(done.files, "base file")
    return Serviced(service="cluster", instant=done.instant, summary=f"{slices} into {files}")


def _of_many_files(plan: ClusteringPlan, min_files: int) -> ClusteringPlan:
    """Return the plan of the partitions with enough slices to cluster."""
    slices = Counter(each.group.partition_path for each in plan.slices)
    groups = [e for e in plan.groups if slices[e.slices[0].group.partition_path] >= min_files]
    return replace(plan, groups=tuple(groups))


def _clean(table: _Table, policy: CleanPolicy) -> Serviced | None:
    done = run_clean(observe_clean(table.location, policy, clock=table.clock), table.clock)
    if done is None:
        return None
    summary = f"{count_text(done.files, 'file')} deleted"
    return Serviced(service="clean", instant=done.instant, summary=summary)


def _archive(table: _Table, limits: ArchivalLimits) -> Serviced | None:
    done = run_archival(observe_archival(table.location, limits), table.clock)
    if done is None:
        return None
    summary = f"{count_text(done.instants, 'instant')} archived"
    return Serviced(service="archive", instant=None, summary=summary)
