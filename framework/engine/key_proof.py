"""The audit of keys alone, on the source, before anything is written."""

from __future__ import annotations

from typing import TYPE_CHECKING

from framework.engine.bootstrap.job import key_source
from framework.engine.bootstrap.key_proof import prove_keys
from framework.engine.bootstrap.ranges import work_ranges
from framework.errors import PlanError, Where

if TYPE_CHECKING:
    from framework.engine.prepare import PlanningContext
    from framework.plan.definition import Plan

__all__ = ["prove_source"]


def prove_source(plan: Plan, bench: PlanningContext) -> dict[str, object]:
    """Return the proof that the keys which a plan takes are unique and not null.

    Reads the key columns of every file that the plan takes; writes to the scratch folder only.

    Raises:
        PlanError: the plan does not look at a source (`plan/nothing-to-prove`).
        AuditFailedError: `audit/duplicate-keys`, `audit/null-keys`.
    """
    if plan.inventory is None or plan.source is None:
        raise PlanError(
            "plan/nothing-to-prove",
            "the table exists: its keys were proven when it began",
            where=Where(table=plan.target.location),
            remedy="`run-pipeline history` shows the proof.",
        )
    keys = key_source(plan.source, plan.inventory, plan.target.key_rule, plan.schema)
    work = str(bench.scratch / "proof")
    return prove_keys(bench.tasks, keys, work_ranges(plan.partitions), work, events=bench.events)
