"""Every error that a user can meet, as one tree sorted by blame.

    FrameworkError
    ├── SpecError                 the author: the YAML, all faults at once          exit 1
    ├── PlanError                 the author: the spec does not fit source/table    exit 1
    │   └── NotYetBuiltError      a section or scheme that this version refuses
    ├── AuditFailedError          the data: the gate refused, table unchanged       exit 3
    ├── RetryableError            another writer or a moving source                 exit 4
    │   ├── LeaseHeldError        another Lakestrap run holds the table
    │   ├── CommitConflictError   the timeline changed meanwhile
    │   ├── PlanStaleError        a saved plan no longer fits
    │   └── SourceDriftError      a source file changed since it was fingerprinted
    ├── EngineError               the world: table unchanged                        exit 5
    │   ├── StorageError          a file could not be listed, read or written
    │   ├── CorruptFileError      a file does not have the promised content
    │   ├── UnsupportedTableError a table that this version must not read or write
    │   ├── CatalogError          a catalog did not answer, or refused
    │   └── TaskError             a task failed on every attempt
    ├── AfterCommitError          committed, but a later step failed                exit 6
    └── OutcomeUnknownError       the outcome is unknown; nothing was deleted              exit 7

Each has a stable `condition` (tests and tools match on it, never on wording), the place
(`where`), and what to do next (`remedy`).
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import ClassVar

__all__ = [
    "AfterCommitError",
    "AuditFailedError",
    "CatalogError",
    "CommitConflictError",
    "CorruptFileError",
    "EngineError",
    "Finding",
    "FrameworkError",
    "LeaseHeldError",
    "NotYetBuiltError",
    "OutcomeUnknownError",
    "PlanError",
    "PlanStaleError",
    "RetryableError",
    "SourceDriftError",
    "SpecError",
    "StorageError",
    "TaskError",
    "UnsupportedTableError",
    "Where",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Where:
    """The place of an error; None means "does not apply".

    `file` is a path as the user would type it, `line` and `column` count from 1,
    `offset` counts bytes from 0.
    """

    file: str | None = None
    line: int | None = None
    column: int | None = None
    offset: int | None = None
    table: str | None = None
    instant: str | None = None
    partition: str | None = None

    def __str__(self) -> str:
        """Return `file:line:column`, then the other known fields, comma-separated."""
        position = ":".join(str(p) for p in (self.file, self.line, self.column) if p is not None)
        names = ("offset", "table", "instant", "partition")
        rest = [f"{n} {getattr(self, n)!r}" for n in names if getattr(self, n) is not None]
        return ", ".join([position, *rest] if position else rest)


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One fault in a spec.

    Attributes:
        rule: stable id such as `spec/unknown-field`.
        key_path: dotted path in the document, `bootstrap.rules[0].mode`; "" is the whole.
        where: file, line and column (both from 1) of the key or value at fault.
        message: one sentence, no trailing newline.
        suggestion: replacement text, or None.
        length: characters to underline from `where.column`; at least 1.
        source_line: the text of the line, or None without a file to show.
        severity: `error` or `warning`; only errors stop a run.
    """

    rule: str
    key_path: str
    where: Where
    message: str
    suggestion: str | None = None
    length: int = 1
    source_line: str | None = None
    severity: str = "error"


class FrameworkError(Exception):
    """Root of the tree; never raised itself."""

    exit_code: ClassVar[int] = 70

    def __init__(
        self, condition: str, message: str, *, where: Where | None = None, remedy: str = ""
    ) -> None:
        self.condition = condition
        self.message = message
        self.where = where or Where()
        self.remedy = remedy
        super().__init__(condition, message)

    def __str__(self) -> str:
        """Return what happened, where, and what to do next, in one paragraph."""
        place = str(self.where)
        head = f"{place}: {self.message}" if place else self.message
        return f"{head} [{self.condition}]" + (f"\n  {self.remedy}" if self.remedy else "")

    def as_json(self) -> dict[str, object]:
        """Return condition, message, remedy, exit code and the known place, JSON-ready."""
        place = {f.name: getattr(self.where, f.name) for f in fields(self.where)}
        return {
            "condition": self.condition,
            "message": self.message,
            "remedy": self.remedy,
            "exit_code": self.exit_code,
            "where": {k: v for k, v in place.items() if v is not None},
        }


class SpecError(FrameworkError):
    """A spec that cannot be used; holds every finding, sorted by file and line."""

    exit_code = 1

    def __init__(self, findings: tuple[Finding, ...]) -> None:
        self.findings = findings
        first = findings[0]
        more = f" (and {len(findings) - 1} more)" if len(findings) > 1 else ""
        super().__init__(
            first.rule, first.message + more, where=first.where, remedy=first.suggestion or ""
        )


class PlanError(FrameworkError):
    """The spec is well formed but does not fit the source or the table."""

    exit_code = 1


class NotYetBuiltError(PlanError):
    """A section, scheme or option that this version recognizes and refuses."""


class AuditFailedError(FrameworkError):
    """The gate refused; nothing was published.

    `report` is the audit's JSON-ready result with its counts and samples, `results` the results of
    the checks (`framework.engine.results.CheckResult`), if they were run.
    """

    exit_code = 3

    def __init__(
        self,
        condition: str,
        message: str,
        *,
        report: dict[str, object],
        where: Where | None = None,
        remedy: str = "",
    ) -> None:
        self.report = report
        self.results: tuple[object, ...] = ()
        super().__init__(condition, message, where=where, remedy=remedy)


class RetryableError(FrameworkError):
    """Nothing was published, and the same command may succeed later."""

    exit_code = 4


class LeaseHeldError(RetryableError):
    """Another Lakestrap run holds the table's lease."""


class CommitConflictError(RetryableError):
    """The timeline, or the run's own pending instant, changed before it could publish."""


class PlanStaleError(RetryableError):
    """A saved plan was made for another state of source or table."""


class SourceDriftError(RetryableError):
    """A source file is not the one that was fingerprinted."""


class EngineError(FrameworkError):
    """Something outside the spec and the data failed; the table is unchanged."""

    exit_code = 5


class StorageError(EngineError):
    """A file or folder could not be listed, read, written, moved or deleted."""


class CorruptFileError(EngineError):
    """A file does not have the content that its name promises; `where` has file and offset."""


class UnsupportedTableError(EngineError):
    """A table that this version must not touch (version, metadata table, log files, …)."""


class CatalogError(EngineError):
    """A catalog could not be reached, or refused a request."""


class TaskError(EngineError):
    """A task failed on every attempt; the first cause is `__cause__`."""


class AfterCommitError(FrameworkError):
    """The instant is published, but a later step failed. Running again is safe."""

    exit_code = 6


class OutcomeUnknownError(FrameworkError):
    """Whether the instant was published is unknown. Nothing was deleted."""

    exit_code = 7
