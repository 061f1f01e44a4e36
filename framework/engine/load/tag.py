"""The step of a load that finds out which keys of the input the table has."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final

from framework.engine.events import Note
from framework.engine.load.existing import existing_slices, taken_keys
from framework.engine.load.index_lookup import compare
from framework.engine.load.refusals import refuse_taken
from framework.plan.words import count_text
from framework.vocabulary import WriteOperation

if TYPE_CHECKING:
    from framework.engine.events import Events
    from framework.engine.load.index_lookup import Compared
    from framework.engine.load.values import Opened, Pinned
    from framework.engine.run.state import RunState
    from framework.plan.stages import TagRows

__all__ = ["tag_rows"]

_NEW_KEYS_ONLY: Final = frozenset(
    {WriteOperation.INSERT, WriteOperation.BULK_INSERT, WriteOperation.INSERT_OVERWRITE}
)


def tag_rows(run: RunState, opened: Opened, pinned: Pinned, stage: TagRows) -> Compared:
    """Key the input, and find out which of its keys the table has.

    Raises:
        AuditFailedError: `audit/null-keys`, `audit/duplicate-keys`, `audit/taken-keys`.
    """
    ctx, job = run.ctx, pinned.job
    with run.stage(stage) as report:
        slices = partial(existing_slices, opened.table, job, stage.scope, ctx.views)
        compared = compare(ctx.tasks, job, pinned.files, slices)
        _report_fallbacks(ctx.events, compared.tagged.fallbacks)
        hits = sum(each.hits for each in compared.tagged.facts)
        if hits and job.operation in _NEW_KEYS_ONLY:
            refuse_taken(job, hits, taken_keys(ctx.storage, compared))
        groups = count_text(len(compared.tagged.slices), "file group")
        read = f"{compared.tagged.looked:,} read"
        report.summary = f"{groups}, {read}; {count_text(hits, 'row')} to change"
    return compared


def _report_fallbacks(events: Events, fallbacks: int) -> None:
    """Warn that tasks listed folders, since the timeline service did not answer them."""
    if fallbacks:
        times = count_text(fallbacks, "question")
        text = f"the timeline service did not answer {times} of tasks; folders were listed instead"
        events(Note(level="warning", message=text))
