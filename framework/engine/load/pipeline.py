"""A load, from the lease to the published instant, in order."""

from __future__ import annotations

from framework.engine.load.audit import audit_rows
from framework.engine.load.begin import begin_load
from framework.engine.load.commit import commit_load
from framework.engine.load.new_files import new_rows, write_new_rows
from framework.engine.load.read_input import read_input
from framework.engine.load.screen_input import screen_deletion, screen_input
from framework.engine.load.tag import tag_rows
from framework.engine.load.write import write_rows
from framework.engine.run.lifecycle import lifecycle, recover
from framework.engine.run.state import Committed, RunContext
from framework.plan.stages import LoadStages

__all__ = ["run_load"]


def run_load(ctx: RunContext, stages: LoadStages) -> Committed:
    """Write the rows of a plan, or delete partitions, and return what was published.

    Raises:
        AuditFailedError: the gate refused; the table is unchanged.
        RetryableError, EngineError: nothing was published.
        AfterCommitError: published, but a later step failed.
        OutcomeUnknownError: whether it was published is unknown; nothing was deleted.
    """
    with lifecycle(ctx) as run:
        recover(run, ctx.plan.recover)
        opened = begin_load(run, stages.begin)
        if stages.rows is None:
            written = screen_deletion(run, opened, stages.screen)
        else:
            pinned = read_input(run, opened, stages.rows.read)
            screened = screen_input(run, opened, pinned, stages.screen)
            straight = new_rows(run, opened, screened, stages.rows.write)
            if straight is not None:
                written = write_new_rows(run, screened, straight, stages.rows)
            else:
                compared = tag_rows(run, opened, screened, stages.rows.tag)
                written = write_rows(run, screened, compared, stages.rows.write)
        audited = audit_rows(run, opened, written, stages.audit)
        return commit_load(run, opened, audited, stages.commit)
