"""Carries out a plan, stage by stage: one `match`, no decisions of its own."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Self, assert_never

from framework.engine.beginning import settled
from framework.engine.bootstrap.carrying import audit_files, begin_bootstrap, write_stage
from framework.engine.bootstrap.publishing import commit_files, write_index_files
from framework.engine.bootstrap.recovering import recover
from framework.engine.course import SECONDS, Course, Run
from framework.engine.events import Published, StageFinished, StageStarted, silent
from framework.engine.inspecting import CHECK_NOT_RUN, refused
from framework.engine.memory import lean_arrow
from framework.engine.places import missing_parents, remove_empty
from framework.engine.screening import screen_rows
from framework.engine.views import LISTED
from framework.engine.writing.carrying import audit_rows, begin_load, tag_rows, write_rows
from framework.engine.writing.publishing import commit_load
from framework.engine.writing.reading_input import read_input
from framework.errors import (
    AfterCommitError,
    AuditFailedError,
    FrameworkError,
    OutcomeUnknownError,
)
from framework.hudi.storage.opening import open_storage
from framework.hudi.timeline.clock import SystemClock
from framework.plan.stages import (
    Audit,
    AuditRows,
    Begin,
    BeginLoad,
    Commit,
    CommitLoad,
    FullRecords,
    Index,
    ReadInput,
    Recover,
    Recovery,
    Screen,
    Skeletons,
    TagRows,
    WriteRows,
    stage_name,
)
from framework.vocabulary import BootstrapMode

if TYPE_CHECKING:
    from framework.engine.audit.subject import Checker
    from framework.engine.course import InputReader
    from framework.engine.events import Events
    from framework.engine.tasks import Tasks
    from framework.engine.views import Views
    from framework.hudi.timeline.clock import Clock
    from framework.plan.definition import Plan
    from framework.plan.stages import Stage

__all__ = ["RunResult", "run"]


@dataclass(frozen=True, slots=True, kw_only=True)
class RunResult:
    """What a run did.

    Attributes:
        case: the plan's case.
        location: the table.
        instant: requested time of the instant that was published, None where none was.
        files: base files published.
        rows: rows in them.
        bytes_written: their sizes, added.
        seconds: wall time of all stages.
        proof: the audit's proof; empty where nothing was published.
    """

    case: str
    location: str
    instant: str | None
    files: int
    rows: int
    bytes_written: int
    seconds: float
    proof: dict[str, object]

    @classmethod
    def unchanged(cls, plan: Plan) -> Self:
        """Return the result of a plan without stages: nothing was to be done."""
        return cls(
            case=plan.case.value,
            location=plan.target.location,
            instant=None,
            files=0,
            rows=0,
            bytes_written=0,
            seconds=0.0,
            proof={},
        )


def run(  # noqa: PLR0913  what carries a run, each by its name
    plan: Plan,
    tasks: Tasks,
    *,
    reader: InputReader | None = None,
    checker: Checker | None = None,
    figures: bool = False,
    views: Views = LISTED,
    events: Events = silent,
    clock: Clock | None = None,
    begun: float | None = None,
) -> RunResult:
    """Carry out the stages of `plan` and return what was done.

    `reader` reads what is no plain Parquet, `checker` makes the checks of the spec; without one
    such a load, or such a spec, is refused. With `figures` the gate tells of each column how many
    values are null and how many differ. `views` tells which files make up the table. `begun` is
    when the run began to look at its source, of `time.monotonic`; None: now.

    An error before the commit rolls back all that this run made and is raised again; an
    interruption leaves the files for the next run to go on with, and gives the lease back.

    Raises:
        AuditFailedError: the gate refused; the table is as it was.
        RetryableError, EngineError: nothing was published.
        AfterCommitError: published, but a later step failed.
        OutcomeUnknownError: nobody can tell; nothing was deleted.
    """
    work = Run(
        plan=plan,
        storage=open_storage(plan.target.location),
        tasks=tasks,
        reader=reader,
        events=events,
        clock=clock or SystemClock(),
        checker=checker,
        figures=figures,
        views=views,
        begun=time.monotonic() if begun is None else begun,
    )
    course, parents = Course(), missing_parents(plan.target.location)
    try:
        with settled(work, lambda: course):
            for stage in plan.stages:
                course = _timed(work, course, stage)
    except (AfterCommitError, OutcomeUnknownError):
        raise
    except FrameworkError as error:
        if isinstance(error, AuditFailedError) or error.condition == CHECK_NOT_RUN:
            refused(work, course, error)
        remove_empty(parents)
        raise
    written = course.audited.written if course.audited else None
    proof = dict(course.audited.proof) if course.audited else {}
    said = proof.get(SECONDS)
    seconds = said if isinstance(said, float) else time.monotonic() - work.begun
    if course.instant:
        events(Published(instant=course.instant, seconds=seconds))
    return RunResult(
        case=plan.case.value,
        location=plan.target.location,
        instant=course.instant,
        files=written.files if written else 0,
        rows=written.rows if written else 0,
        bytes_written=written.bytes if written else 0,
        seconds=seconds,
        proof=proof,
    )


def _timed(work: Run, course: Course, stage: Stage) -> Course:
    """Carry out one stage, and say when it begins and ends."""
    name = stage_name(stage)
    begun = time.monotonic()
    files, rows = getattr(stage, "files", 0), getattr(stage, "rows", 0)
    work.events(StageStarted(stage=name, files=files, rows=rows))
    with lean_arrow():
        course = _carry_out(work, course, stage)
    seconds = time.monotonic() - begun
    work.events(StageFinished(stage=name, seconds=seconds, summary=course.summary))
    return replace(course, seconds={**course.seconds, name: seconds})


def _carry_out(  # noqa: C901, PLR0911, PLR0912  one case a stage, and nothing else
    work: Run, course: Course, stage: Stage
) -> Course:
    match stage:
        case Recover():
            if stage.recovery is Recovery.RESUME:
                return course.saying(f"goes on with {stage.files_done:,} files")
            return recover(work, course, stage)
        case Begin():
            return begin_bootstrap(work, course, stage)
        case Skeletons():
            return write_stage(work, course, BootstrapMode.METADATA_ONLY)
        case FullRecords():
            return write_stage(work, course, BootstrapMode.FULL_RECORD)
        case Audit():
            return audit_files(work, course)
        case Index():
            return write_index_files(work, course)
        case Commit():
            return commit_files(work, course)
        case BeginLoad():
            return begin_load(work, course, stage)
        case ReadInput():
            return read_input(work, course)
        case Screen():
            return screen_rows(work, course)
        case TagRows():
            return tag_rows(work, course)
        case WriteRows():
            return write_rows(work, course)
        case AuditRows():
            return audit_rows(work, course)
        case CommitLoad():
            return commit_load(work, course)
    assert_never(stage)
