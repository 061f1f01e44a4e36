"""A bootstrap, from the lease to the published instant, in order."""

from __future__ import annotations

from framework.engine.bootstrap.audit import audit_bootstrap
from framework.engine.bootstrap.begin import begin_bootstrap
from framework.engine.bootstrap.commit import commit_bootstrap
from framework.engine.bootstrap.index import write_index_files
from framework.engine.bootstrap.screen import screen_source
from framework.engine.bootstrap.write import write_base_files
from framework.engine.run.lifecycle import lifecycle, recover
from framework.engine.run.state import Committed, RunContext
from framework.hudi.commit.statuses import written_files
from framework.plan.stages import BootstrapStages

__all__ = ["run_bootstrap"]


def run_bootstrap(ctx: RunContext, stages: BootstrapStages) -> Committed:
    """Create the table of a plan and return what was published.

    Raises:
        AuditFailedError: the gate refused; there is no table.
        RetryableError, EngineError: nothing was published.
        AfterCommitError: published, but a later step failed.
        OutcomeUnknownError: whether it was published is unknown; nothing was deleted.
    """
    with lifecycle(ctx) as run:
        recover(run, ctx.plan.recover)
        begun = begin_bootstrap(run, stages.begin)
        screened = screen_source(run, begun, stages.screen)
        earlier = written_files(begun.done)
        skeletons = write_base_files(run, begun, screened, earlier, stages.skeletons)
        written = write_base_files(run, begun, screened, skeletons, stages.full_records)
        audited = audit_bootstrap(run, begun, screened, written, stages.audit)
        index = write_index_files(run, begun, written, stages.index)
        return commit_bootstrap(run, begun, screened, audited, index, stages.commit)
