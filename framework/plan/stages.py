"""What a run will do, step by step, as frozen values.

`plan` prints this tuple and `run` carries it out, so that a dry run cannot drift from a run.
The order in a plan is the order here; a stage that has nothing to do is left out.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum, unique
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from framework.vocabulary import KeyScope, WriteOperation

__all__ = [
    "Audit",
    "AuditRows",
    "Begin",
    "BeginLoad",
    "Commit",
    "CommitLoad",
    "FullRecords",
    "Index",
    "ReadInput",
    "Recover",
    "Recovery",
    "Screen",
    "Skeletons",
    "Stage",
    "StageName",
    "TagRows",
    "WriteRows",
    "stage_name",
]


@unique
class Recovery(StrEnum):
    """What becomes of an earlier run of ours that did not end.

    `RESUME` keeps its finished files and goes on, `ROLL_BACK` removes all that it made,
    `FINISH` does what was left to do after its instant was published.
    """

    RESUME = "resume"
    ROLL_BACK = "roll_back"
    FINISH = "finish"


@unique
class StageName(StrEnum):
    """What a stage is called in the plan's JSON and in progress events; stable."""

    RECOVER = "recover"
    BEGIN = "begin"
    SKELETONS = "skeletons"
    FULL_RECORDS = "full_records"
    AUDIT = "audit"
    INDEX = "index"
    COMMIT = "commit"
    INPUT = "input"
    SCREEN = "screen"
    TAG = "tag"
    WRITE = "write"


@dataclass(frozen=True, slots=True, kw_only=True)
class Recover:
    """Settle an earlier run of ours.

    Attributes:
        recovery: what is done with it.
        write_id: the run's id, its folder's name under `.hoodie/.lakestrap`.
        instant: its requested time; None when it died before it reached the timeline.
        reason: why this and not another recovery, for people.
        files_done: files whose status its journal holds; they are kept only by a resume.
    """

    recovery: Recovery
    write_id: str
    instant: str | None
    reason: str
    files_done: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Begin:
    """Put the requested and inflight files of one instant on the timeline.

    Attributes:
        instant: requested time; None means the clock's next 17-digit one.
        action: `commit` or `deltacommit`.
        resumes: write id to go on under, or None for a new one.
    """

    instant: str | None
    action: str
    resumes: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Skeletons:
    """Write one skeleton for each source file of the `metadata_only` partitions.

    `bytes_to_write` is an estimate (`framework.plan.estimate`).
    """

    partitions: int
    files: int
    rows: int
    bytes_to_write: int


@dataclass(frozen=True, slots=True, kw_only=True)
class FullRecords:
    """Write one base file for each source file of the `full_record` partitions, row for row.

    `bytes_rewritten` is the size of these source files, `bytes_to_write` an estimate.
    """

    partitions: int
    files: int
    rows: int
    bytes_rewritten: int
    bytes_to_write: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Audit:
    """Prove on the written files that record keys are not null and unique in their scope.

    `checks` are looked at too.
    """

    columns: tuple[str, ...]
    scope: KeyScope
    rows: int
    checks: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Index:
    """Write both files of the bootstrap index, from skeletons to their source files."""

    partitions: int
    files: int
    bytes_to_write: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Commit:
    """Compare the source with its fingerprints once more, then publish the instant, atomically.

    `instant` is as in `Begin`.
    """

    instant: str | None
    action: str
    files: int


@dataclass(frozen=True, slots=True, kw_only=True)
class BeginLoad:
    """Put the requested and inflight files of the clock's next instant on the timeline.

    `action` is `commit`, `deltacommit` or `replacecommit`. A load is never resumed.
    """

    action: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadInput:
    """Pin the rows of the input to files.

    Attributes:
        files: files of the source that are loaded; 0 for formats that have none.
        bytes: their sizes, added.
        copies: whether the rows are written to files first, since they do not lie in Parquet files
            as they are loaded.
    """

    files: int
    bytes: int
    copies: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Screen:
    """Have the checks understood, and take out the rows of those that set aside or drop.

    Attributes:
        checks: how many checks the spec has.
        splitting: how many of them take rows out.
        keeps_one: whether of rows with one key all but one are taken out too.
    """

    checks: int
    splitting: int
    keeps_one: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class TagRows:
    """Find out which keys of the input the table has; `scope` is where they are looked for."""

    scope: KeyScope


@dataclass(frozen=True, slots=True, kw_only=True)
class WriteRows:
    """Write the file groups that change or are new."""

    operation: WriteOperation


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditRows:
    """Prove on the written files that keys are unique in their scope and that no row was lost.

    `checks` are looked at too.
    """

    columns: tuple[str, ...]
    scope: KeyScope
    checks: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class CommitLoad:
    """Publish the instant of a load, atomically; `action` is as in `BeginLoad`."""

    action: str


Stage = (
    Recover
    | Begin
    | Skeletons
    | FullRecords
    | Audit
    | Index
    | Commit
    | BeginLoad
    | ReadInput
    | Screen
    | TagRows
    | WriteRows
    | AuditRows
    | CommitLoad
)

_NAMES: Final[dict[type[Stage], StageName]] = {
    Recover: StageName.RECOVER,
    Begin: StageName.BEGIN,
    Skeletons: StageName.SKELETONS,
    FullRecords: StageName.FULL_RECORDS,
    Audit: StageName.AUDIT,
    Index: StageName.INDEX,
    Commit: StageName.COMMIT,
    BeginLoad: StageName.BEGIN,
    ReadInput: StageName.INPUT,
    Screen: StageName.SCREEN,
    TagRows: StageName.TAG,
    WriteRows: StageName.WRITE,
    AuditRows: StageName.AUDIT,
    CommitLoad: StageName.COMMIT,
}


def stage_name(stage: Stage) -> StageName:
    """Return the name of a stage; begin, audit and commit of both pipelines are called the same."""
    return _NAMES[type(stage)]
