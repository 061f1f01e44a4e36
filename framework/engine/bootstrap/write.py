"""The step of a bootstrap that writes the base files of one mode, batch by batch."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

from framework.engine.bootstrap.ranges import work_ranges
from framework.engine.bootstrap.screen import with_gone
from framework.engine.bootstrap.writing import Ledger, write_files
from framework.engine.tasks import LimitedTasks
from framework.hudi.commit.journal import Journal

if TYPE_CHECKING:
    from framework.engine.audit.screening import Screened
    from framework.engine.bootstrap.begin import Begun
    from framework.engine.run.state import RunState
    from framework.hudi.commit.files import WrittenFiles
    from framework.plan.stages import FullRecords, Skeletons

__all__ = ["write_base_files"]


def write_base_files(
    run: RunState,
    begun: Begun,
    screened: Screened,
    written: WrittenFiles,
    stage: Skeletons | FullRecords | None,
) -> WrittenFiles:
    """Write the files of a stage's partitions that have none yet.

    Returns:
        The files that were written before, with those of the stage; just these without a stage.
    """
    if stage is None:
        return written
    ctx, target, before = run.ctx, run.ctx.plan.target, written
    journal = Journal(ctx.storage, begun.intent.staging)
    tasks = LimitedTasks(ctx.tasks, target.parallelism or ctx.tasks.parallelism)
    size = target.partitions_per_batch or len(stage.plans)
    with run.stage(stage) as report:
        for start in range(0, len(stage.plans), size):
            ranges = work_ranges(stage.plans[start : start + size])
            written = write_files(
                tasks,
                begun.job,
                list(with_gone(ranges, screened.gone)),
                Ledger(journal=lambda ref: journal.append(asdict(ref)), done=written.segments),
                events=ctx.events,
            )
        files = written.files - before.files
        report.summary = f"{files:,} files, {written.bytes - before.bytes:,} bytes"
    return written
