"""`build`: the plan from a spec and an observation. Pure: it reads and writes nothing."""

from __future__ import annotations

from dataclasses import replace
from enum import StrEnum, unique

from framework.plan import refusals
from framework.plan.adopted import plan_adopted
from framework.plan.bootstrap.build_bootstrap import plan_begin
from framework.plan.catalogs.target import catalog_of
from framework.plan.definition import Plan
from framework.plan.load_stages import plan_load
from framework.plan.observation import Observation, PendingRun
from framework.plan.stages import Recover, Recovery
from framework.plan.target import Target, target_of
from framework.spec.sections.pipeline_spec import PipelineSpec

__all__ = ["Earlier", "build"]


@unique
class Earlier(StrEnum):
    """What to do about an unfinished earlier run.

    `AUTO` resumes it if spec and source are unchanged and rolls it back otherwise, `FRESH` always
    rolls back, `RESUME` fails if there is nothing to resume.
    """

    AUTO = "auto"
    FRESH = "fresh"
    RESUME = "resume"


def build(spec: PipelineSpec, observation: Observation, *, earlier: Earlier = Earlier.AUTO) -> Plan:
    """Return the plan of a run of `spec`.

    Args:
        spec: the author's spec, with a section `bootstrap` or `write`.
        observation: table, source and earlier run as they are now; with a request the plan is a
            load, else a bootstrap.
        earlier: what to do about an unfinished earlier run.

    Raises:
        PlanError: the spec does not fit source or table; all faults at once.
        UnsupportedTableError: the table has another version or a metadata table.
        LeaseHeldError: a Lakestrap run is active on the table.
        CommitConflictError: another writer has a pending instant where this run would write.
    """
    return replace(_planned(spec, observation, earlier), catalog=catalog_of(spec))


def _planned(spec: PipelineSpec, observation: Observation, earlier: Earlier) -> Plan:
    """Return the plan of the table itself; errors are those of `build`."""
    target = target_of(spec)
    refusals.refuse_held(observation.pending, observation.table)
    refusals.refuse_unsupported(observation.table)
    recover = _recover(spec, target, observation, earlier)
    if observation.request is not None:
        return plan_load(spec, target, observation, recover)
    if observation.table.exists:
        return plan_adopted(spec, target, observation, recover)
    refusals.refuse_foreign_pending(observation.table)
    return plan_begin(spec, target, observation, recover)


def _recover(
    spec: PipelineSpec, target: Target, observation: Observation, earlier: Earlier
) -> Recover | None:
    """Return how the earlier run is recovered; None if there is none."""
    pending = observation.pending
    if pending is None:
        if earlier is Earlier.RESUME:
            _refuse_resume(spec, "there is no earlier run to resume", "nothing-to-resume")
        return None
    if pending.published:
        return _recovery(pending, Recovery.FINISH, "its commit is published")
    changes = _changes(target, observation)
    if changes and earlier is Earlier.RESUME:
        _refuse_resume(spec, f"run {pending.write_id} cannot be resumed: {changes}", "changed")
    if earlier is Earlier.FRESH:
        return _recovery(pending, Recovery.ROLL_BACK, "a fresh start was requested")
    if changes:
        return _recovery(pending, Recovery.ROLL_BACK, changes)
    return _recovery(pending, Recovery.RESUME, "spec and source are unchanged")


def _recovery(pending: PendingRun, recovery: Recovery, reason: str) -> Recover:
    return Recover(
        recovery=recovery,
        write_id=pending.write_id,
        instant=pending.instant,
        reason=reason,
        files_done=pending.files_done,
    )


def _changes(target: Target, observation: Observation) -> str:
    """Return why an unpublished run cannot be resumed, as text; "" if it can."""
    pending, source, table = observation.pending, observation.source, observation.table
    if observation.request is not None:
        return "a load always restarts"
    if pending is None or pending.spec_hash is None or pending.inventory_sha256 is None:
        return "its journal is incomplete"
    if table.exists:
        return "another run has adopted the table"
    same_spec = pending.spec_hash == target.spec_hash
    same_source = source is not None and pending.inventory_sha256 == source.handle.sha256
    return {
        (True, True): "",
        (False, True): "the spec has changed since it started",
        (True, False): "the source has changed since it started",
        (False, False): "spec and source have changed since it started",
    }[same_spec, same_source]


def _refuse_resume(spec: PipelineSpec, message: str, kind: str) -> None:
    """Raise the error of a `resume` that is impossible."""
    fault = refusals.Fault(
        condition=f"resume/{kind}",
        key_path="",
        message=message,
        remedy="Use `run`, which starts, resumes or rolls back as needed.",
    )
    refusals.refuse((fault,), spec.positions)
