"""What a run does, step by step, as frozen values.

`plan` prints these values and each step of a run takes its own, so that a dry run cannot drift from
a run. The columns, files and rows of a stage are those that its step works on.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum, unique
from typing import Final

from framework.hudi.keygen.rule import KeyRule
from framework.plan.load import InputRequest
from framework.plan.partitions import PartitionPlan, totals
from framework.plan.quality.model import Quality
from framework.vocabulary import KeyScope, WriteOperation

__all__ = [
    "AuditBootstrap",
    "AuditLoad",
    "BeginBootstrap",
    "BeginLoad",
    "BootstrapStages",
    "CommitBootstrap",
    "CommitLoad",
    "FullRecords",
    "Index",
    "LoadStages",
    "ReadInput",
    "Recover",
    "Recovery",
    "RowStages",
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
    """What happens to an unfinished earlier Lakestrap run.

    `RESUME` keeps its finished files and continues, `ROLL_BACK` removes everything it made,
    `FINISH` completes the steps after its published instant.
    """

    RESUME = "resume"
    ROLL_BACK = "roll_back"
    FINISH = "finish"


@unique
class StageName(StrEnum):
    """The name of a stage in the plan's JSON and in progress events; stable."""

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
    """Recover an earlier Lakestrap run.

    Attributes:
        recovery: what is done with it.
        write_id: the run's id, its folder's name under `.hoodie/.lakestrap`.
        instant: its requested time; None if it died before it reached the timeline.
        reason: why this recovery and not another, as text.
        files_done: files whose status is in its journal; only a resume keeps them.
    """

    recovery: Recovery
    write_id: str
    instant: str | None
    reason: str
    files_done: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class BeginBootstrap:
    """Create the requested and inflight files of one instant on the timeline.

    Attributes:
        instant: requested time; None means the clock's next instant of 17 digits.
        action: `commit` or `deltacommit`.
        resumes: write id to resume under, or None for a new one.
    """

    instant: str | None
    action: str
    resumes: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class _OfPartitions:
    """A stage about some partitions, in inventory order.

    `bytes_to_write` is an estimate (`framework.plan.estimate`).
    """

    plans: tuple[PartitionPlan, ...]
    bytes_to_write: int

    @property
    def partitions(self) -> int:
        """Number of partitions."""
        return len(self.plans)

    @property
    def files(self) -> int:
        """Number of their source files."""
        return totals(self.plans).files

    @property
    def rows(self) -> int:
        """Number of rows in these files."""
        return totals(self.plans).rows


@dataclass(frozen=True, slots=True, kw_only=True)
class Skeletons(_OfPartitions):
    """Write one skeleton for each source file of the `metadata_only` partitions."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FullRecords(_OfPartitions):
    """Write one base file for each source file of the `full_record` partitions, row for row."""

    @property
    def bytes_rewritten(self) -> int:
        """Size of the source files, in bytes."""
        return totals(self.plans).bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class _OfKeys:
    """A proof of keys by `rule`, and the checks of `quality`."""

    rule: KeyRule
    quality: Quality

    @property
    def columns(self) -> tuple[str, ...]:
        """Columns of the record key; empty for automatic keys."""
        return self.rule.record_key

    @property
    def scope(self) -> KeyScope:
        """The scope in which keys are unique."""
        return self.rule.scope

    @property
    def checks(self) -> int:
        """Number of checks that are run too."""
        return len(self.quality.checks)


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditBootstrap(_OfKeys):
    """Prove on the written files that record keys are not null and unique in their scope.

    `files` are to be written, from source files with `rows`; the checks of `quality` run too.
    """

    files: int
    rows: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Index(_OfPartitions):
    """Write both files of the bootstrap index, from skeletons to their source files."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CommitBootstrap:
    """Compare the source with its fingerprints again, then publish the instant, atomically.

    `instant` is as in `BeginBootstrap`.
    """

    instant: str | None
    action: str
    files: int


@dataclass(frozen=True, slots=True, kw_only=True)
class BeginLoad:
    """Create the requested and inflight files of the clock's next instant on the timeline.

    `action` is `commit`, `deltacommit` or `replacecommit`. A load is never resumed.
    """

    action: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadInput:
    """Pin the rows of the input to files.

    Attributes:
        request: which rows.
        files: files of the source to load; 0 for formats without files.
        bytes: their total size.
    """

    request: InputRequest
    files: int
    bytes: int

    @property
    def copies(self) -> bool:
        """Whether the rows are written to Parquet files first, since they are not in such yet."""
        return not self.request.is_plain_parquet


@dataclass(frozen=True, slots=True, kw_only=True)
class Screen:
    """Validate the checks, and exclude the rows that they quarantine or drop.

    Attributes:
        quality: the checks.
        keeps_one: whether all rows but one with the same key are excluded too.
    """

    quality: Quality
    keeps_one: bool = False

    @property
    def checks(self) -> int:
        """Number of checks in the spec."""
        return len(self.quality.checks)

    @property
    def splitting(self) -> int:
        """Number of them that exclude rows."""
        return len(self.quality.splitting)


@dataclass(frozen=True, slots=True, kw_only=True)
class TagRows:
    """Look up which keys of the input the table has; `scope` is where."""

    scope: KeyScope


@dataclass(frozen=True, slots=True, kw_only=True)
class WriteRows:
    """Write the file groups that change or are new.

    Attributes:
        operation: what is done with the rows.
        target_file_size: target size of a new file, in bytes.
        small_file_limit: files below this size, in bytes, take new rows.
        parallelism: concurrent tasks; None for one per core.
    """

    operation: WriteOperation
    target_file_size: int
    small_file_limit: int
    parallelism: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditLoad(_OfKeys):
    """Prove on the written files that keys are unique in their scope and that no row was lost.

    The checks of `quality` run too.
    """


@dataclass(frozen=True, slots=True, kw_only=True)
class CommitLoad:
    """Publish the instant of a load, atomically; `action` is as in `BeginLoad`."""

    action: str


@dataclass(frozen=True, slots=True, kw_only=True)
class BootstrapStages:
    """The stages of a bootstrap, in order; None for one that has nothing to do."""

    begin: BeginBootstrap
    screen: Screen | None
    skeletons: Skeletons | None
    full_records: FullRecords | None
    audit: AuditBootstrap
    index: Index | None
    commit: CommitBootstrap

    def __iter__(self) -> Iterator[Stage]:
        """Yield the stages that have something to do."""
        yield self.begin
        yield from filter(None, (self.screen, self.skeletons, self.full_records))
        yield self.audit
        yield from filter(None, (self.index,))
        yield self.commit


@dataclass(frozen=True, slots=True, kw_only=True)
class RowStages:
    """The stages that only a load of rows has."""

    read: ReadInput
    tag: TagRows
    write: WriteRows


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadStages:
    """The stages of a load, in order; without `rows` it deletes partitions."""

    begin: BeginLoad
    rows: RowStages | None
    screen: Screen | None
    audit: AuditLoad
    commit: CommitLoad

    def __iter__(self) -> Iterator[Stage]:
        """Yield the stages; checks are between reading the input and looking up its keys."""
        yield self.begin
        if self.rows is not None:
            yield self.rows.read
        if self.screen is not None:
            yield self.screen
        if self.rows is not None:
            yield self.rows.tag
            yield self.rows.write
        yield self.audit
        yield self.commit


Stage = (
    Recover
    | BeginBootstrap
    | Skeletons
    | FullRecords
    | AuditBootstrap
    | Index
    | CommitBootstrap
    | BeginLoad
    | ReadInput
    | Screen
    | TagRows
    | WriteRows
    | AuditLoad
    | CommitLoad
)

_NAMES: Final[dict[type[Stage], StageName]] = {
    Recover: StageName.RECOVER,
    BeginBootstrap: StageName.BEGIN,
    Skeletons: StageName.SKELETONS,
    FullRecords: StageName.FULL_RECORDS,
    AuditBootstrap: StageName.AUDIT,
    Index: StageName.INDEX,
    CommitBootstrap: StageName.COMMIT,
    BeginLoad: StageName.BEGIN,
    ReadInput: StageName.INPUT,
    Screen: StageName.SCREEN,
    TagRows: StageName.TAG,
    WriteRows: StageName.WRITE,
    AuditLoad: StageName.AUDIT,
    CommitLoad: StageName.COMMIT,
}


def stage_name(stage: Stage) -> StageName:
    """Return the name of a stage; begin, audit and commit have one name in both pipelines."""
    return _NAMES[type(stage)]
