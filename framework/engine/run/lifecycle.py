"""How runs begin and end; the only place.

An error rolls back what the run made, an interruption leaves the files for the next run to resume;
either gives the lease back. After a commit, and where it is not known whether there was one,
nothing is touched.
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from framework.engine.places import missing_parents, remove_empty
from framework.engine.run.inspection import CHECK_NOT_RUN, report_refusal
from framework.engine.run.state import RunState
from framework.errors import (
    AfterCommitError,
    AuditFailedError,
    EngineError,
    FrameworkError,
    OutcomeUnknownError,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from framework.engine.run.context import RunContext

__all__ = ["lifecycle"]


@contextmanager
def lifecycle(ctx: RunContext) -> Iterator[RunState]:
    """Give the block a run that is ended as the block ends.

    A refusal of the gate is reported before it is raised, and folders that were made above the
    table go where nothing was published.

    Raises:
        LeaseHeldError: instead of an `EngineError` that the loss of the lease brought about.
    """
    run, parents = RunState(ctx), missing_parents(ctx.plan.target.location)
    try:
        yield run
    except (AfterCommitError, OutcomeUnknownError):
        run.stop_renewal()
        raise
    except FrameworkError as error:
        lost = run.abandon()
        fault = lost if lost is not None and isinstance(error, EngineError) else error
        if isinstance(fault, AuditFailedError) or fault.condition == CHECK_NOT_RUN:
            report_refusal(run, fault)
        remove_empty(parents)
        if fault is not error:
            raise fault from error
        raise
    except BaseException:
        run.leave()
        raise
