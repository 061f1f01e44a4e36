"""Looks at a plan's source before anything is written: its keys proven, its pages decoded."""

from __future__ import annotations

from time import perf_counter

from framework.engine.bootstrap.job import key_source, work_ranges
from framework.engine.bootstrap.key_proof import prove_keys
from framework.engine.bootstrap.page_check import check_pages
from framework.engine.events import StageFinished, StageStarted
from framework.engine.prepare import PlanningContext
from framework.errors import PlanError, Where
from framework.plan.definition import Plan

__all__ = ["prove_source", "verify_source"]


def verify_source(plan: Plan, bench: PlanningContext) -> int:
    """Decode every page of the files that a plan takes, and return how many files these are.

    Reads those files whole, once, in tasks; writes nothing. 0 for a plan that takes no file.

    Raises:
        CorruptFileError, SourceDriftError, StorageError: as of `check_pages`.
    """
    if plan.inventory is None or plan.source is None or not plan.taken.files:
        return 0
    taken, begun = plan.taken, perf_counter()
    bench.events(StageStarted(stage="pages", files=taken.files, rows=taken.rows))
    found = check_pages(
        bench.tasks, plan.source, plan.inventory, work_ranges(plan.partitions), events=bench.events
    )
    summary = f"{found.files:,} files, {found.bytes:,} bytes read"
    bench.events(StageFinished(stage="pages", seconds=perf_counter() - begun, summary=summary))
    return found.files


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
