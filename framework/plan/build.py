"""`build`: from a spec and what was seen to the plan. Pure: it reads and writes nothing."""

from __future__ import annotations

from enum import StrEnum, unique

from framework.plan import refusals
from framework.plan.adopted import plan_adopted
from framework.plan.bootstrap.build_bootstrap import plan_begin
from framework.plan.definition import Plan
from framework.plan.load_stages import plan_load
from framework.plan.observation import Observation, PendingRun
from framework.plan.stages import Recover, Recovery
from framework.plan.target import Target, target_of
from framework.spec.sections.pipeline_spec import PipelineSpec

__all__ = ["Earlier", "build"]


@unique
class Earlier(StrEnum):
    """What the user wants of an earlier run that did not end.

    `AUTO` resumes it where spec and source are the same and rolls it back otherwise, `FRESH`
    always rolls back, `RESUME` refuses where there is nothing to resume.
    """

    AUTO = "auto"
    FRESH = "fresh"
    RESUME = "resume"


def build(spec: PipelineSpec, observation: Observation, *, earlier: Earlier = Earlier.AUTO) -> Plan:
    """Return what a run of `spec` will do.

    Args:
        spec: what the author asks for; it has a section `bootstrap` or `write`.
        observation: table, source and earlier run as they are now; with a request it is a load that
            is planned, else a bootstrap.
        earlier: what to do about an earlier run that did not end.

    Raises:
        PlanError: the spec does not fit what is there; all faults at once.
        UnsupportedTableError: the table has another version or a metadata table.
        LeaseHeldError: a run of ours is at work on the table.
        CommitConflictError: another writer has an instant under way where we would write.
    """
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
    """Return how an earlier run of ours is recovered; None where there is none."""
    pending = observation.pending
    if pending is None:
        if earlier is Earlier.RESUME:
            _refuse_resume(spec, "there is no earlier run to resume", "nothing-to-resume")
        return None
    if pending.published:
        return _settle(pending, Recovery.FINISH, "its commit is published")
    changes = _changes(target, observation)
    if changes and earlier is Earlier.RESUME:
        _refuse_resume(spec, f"run {pending.write_id} cannot be resumed: {changes}", "changed")
    if earlier is Earlier.FRESH:
        return _settle(pending, Recovery.ROLL_BACK, "a fresh start was asked for")
    if changes:
        return _settle(pending, Recovery.ROLL_BACK, changes)
    return _settle(pending, Recovery.RESUME, "spec and source are the same")


def _settle(pending: PendingRun, recovery: Recovery, reason: str) -> Recover:
    """Return the stage that recovers `pending` in this way."""
    return Recover(
        recovery=recovery,
        write_id=pending.write_id,
        instant=pending.instant,
        reason=reason,
        files_done=pending.files_done,
    )


def _changes(target: Target, observation: Observation) -> str:
    """Return why an unpublished run cannot be resumed, for people; "" when it can."""
    pending, source, table = observation.pending, observation.source, observation.table
    if observation.request is not None:
        return "a load begins again"
    if pending is None or pending.spec_hash is None or pending.inventory_sha256 is None:
        return "its journal is not complete"
    if table.exists:
        return "another run has adopted the table"
    same_spec = pending.spec_hash == target.spec_hash
    same_source = source is not None and pending.inventory_sha256 == source.handle.sha256
    return {
        (True, True): "",
        (False, True): "the spec has changed since it began",
        (True, False): "the source has changed since it began",
        (False, False): "spec and source have changed since it began",
    }[same_spec, same_source]


def _refuse_resume(spec: PipelineSpec, message: str, kind: str) -> None:
    """Raise the error of a `resume` that cannot be."""
    fault = refusals.Fault(
        condition=f"resume/{kind}",
        key_path="",
        message=message,
        remedy="Use `run`, which begins, resumes or rolls back as it must.",
    )
    refusals.refuse((fault,), spec.positions)
