"""Materialize: slices of skeletons become ordinary base files, which need no source.

Each batch is one instant: of a copy-on-write table a commit, of a merge-on-read table a compaction,
since only that form may write base files below log files. Both have the operation COMPACT, which
Apache Hudi takes for no change of rows.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import partial
from time import perf_counter
from typing import Final

from framework.engine.events import Events, StageFinished, StageStarted, silent
from framework.engine.services.rewriting import (
    Rewritten,
    are_latest,
    observed,
    rewrite_in_place,
    rewriting,
    slices_of,
)
from framework.engine.services.service_run import ServiceRun
from framework.engine.services.slice_sources import check_sources
from framework.engine.tasks import Tasks
from framework.errors import CommitConflictError, Where
from framework.hudi.commit.intent import Transaction
from framework.hudi.filegroup.slices import FileSlice
from framework.hudi.storage.port import Storage
from framework.hudi.timeline.clock import Clock
from framework.hudi.timeline.instant import Action
from framework.hudi.timeline.requested_plans import compaction_plan_bytes
from framework.plan.services.materialize import MaterializePlan, plan_materialize
from framework.plan.words import count_text, size_text
from framework.vocabulary import TableType

__all__ = ["BATCH_BYTES", "Materialized", "observe_materialize", "run_materialize"]

BATCH_BYTES: Final = 1 << 30
"""A few minutes of work on a laptop: what an interruption can lose."""
_OPERATION: Final = "COMPACT"


@dataclass(frozen=True, slots=True, kw_only=True)
class Materialized:
    """The published instants, one a batch, oldest first; never empty."""

    batches: tuple[Rewritten, ...]

    @property
    def files(self) -> int:
        """Base files that were written."""
        return sum(each.files for each in self.batches)

    @property
    def rows(self) -> int:
        """Rows in them."""
        return sum(each.rows for each in self.batches)

    @property
    def bytes(self) -> int:
        """Their sizes."""
        return sum(each.bytes for each in self.batches)


def observe_materialize(
    location: str, *, partitions: Collection[str] = (), batch_bytes: int = BATCH_BYTES
) -> MaterializePlan:
    """Return the plan to materialize a table; lists each partition and changes nothing.

    Args:
        location: the table's.
        partitions: paths of the partitions; none means all.
        batch_bytes: bytes that a batch reads at most, if it has more than one slice.

    Raises:
        PlanError: `service/no-such-partition`.
        CommitConflictError: `table/foreign-pending`.
        UnsupportedTableError, CorruptFileError: see `observed` and `slices_of`.
    """
    table = observed(location)
    slices = slices_of(table, partitions)
    kind = table.properties.table_type
    return plan_materialize(table.storage.location, kind, slices, batch_bytes=batch_bytes)


def run_materialize(
    plan: MaterializePlan,
    tasks: Tasks,
    clock: Clock | None = None,
    storage: Storage | None = None,
    *,
    events: Events = silent,
) -> Materialized | None:
    """Write the slices of each batch as base files, compare the records, and publish.

    The sources of all batches are compared with their fingerprints first. A batch that fails leaves
    the batches before it published; the next run continues after them.

    Args:
        plan: the slices.
        tasks: run the work.
        clock: the time; None means the system's.
        storage: the table's; None opens it.
        events: receive a stage for each batch.

    Returns:
        The published instants; None if the plan has no slice.

    Raises:
        LeaseHeldError: another run is at work on the table.
        CommitConflictError: `materialize/stale-plan`; the table has changed since it was planned.
        SourceDriftError, CorruptFileError, UnsupportedTableError: a slice cannot be read, or
            `audit/records-differ`; nothing of this batch was published.
        AfterCommitError: published, but leftovers could not be removed.
    """
    check_sources(tasks, plan.location, plan.slices)
    done = []
    for number, batch in enumerate(plan.batches, start=1):
        stage = f"batch {number}/{len(plan.batches)}"
        events(StageStarted(stage=stage, files=len(batch)))
        begun = perf_counter()
        with rewriting(plan.location, storage, clock) as (run, table):
            if not are_latest(table, batch):
                raise _stale(plan.location)
            begin = partial(_begin, run, batch, plan.table_type)
            made = rewrite_in_place(run, table, batch, tasks, begin)
        done.append(made)
        events(StageFinished(stage=stage, seconds=perf_counter() - begun, summary=_summary(made)))
    return Materialized(batches=tuple(done)) if done else None


def _begin(run: ServiceRun, slices: Sequence[FileSlice], kind: TableType) -> Transaction:
    """Make the pending instant of a batch."""
    if kind is TableType.COPY_ON_WRITE:
        return run.begin(Action.COMMIT, _OPERATION)
    return run.begin(Action.COMPACTION, _OPERATION, compaction_plan_bytes(slices, run.facts))


def _summary(made: Rewritten) -> str:
    files, rows = count_text(made.files, "file"), count_text(made.rows, "row")
    return f"{files}, {rows}, {size_text(made.bytes)}, instant {made.instant}"


def _stale(location: str) -> CommitConflictError:
    return CommitConflictError(
        "materialize/stale-plan",
        "the table has changed since it was planned to materialize it",
        where=Where(table=location),
        remedy="Nothing more was changed. Run the command again.",
    )
