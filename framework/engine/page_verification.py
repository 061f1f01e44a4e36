"""Reading all pages of a source before anything is written."""

from __future__ import annotations

from time import perf_counter
from typing import TYPE_CHECKING

from framework.engine.bootstrap.page_check import check_pages
from framework.engine.bootstrap.ranges import work_ranges
from framework.engine.events import StageFinished, StageStarted

if TYPE_CHECKING:
    from framework.engine.prepare import PlanningContext
    from framework.plan.definition import Plan

__all__ = ["verify_source"]


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
