"""What a check of a table finds, as values that tasks and reports exchange."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum, unique

from framework.errors import FrameworkError
from framework.hudi.view.recorded import Damage

__all__ = ["Check", "Checked", "Repair", "Severity", "TableFinding", "of_damage", "of_error"]


@unique
class Severity(StrEnum):
    """How bad a finding is."""

    ERROR = "error"
    """Rows are lost, hidden, wrong or unreadable."""

    WARNING = "warning"
    """Rows are right now; something is left over, or will be a problem later."""


@unique
class Check(StrEnum):
    """A check, by the name that its findings have."""

    PROPERTIES = "properties"
    TIMELINE = "timeline"
    FILES = "files"
    ORPHANS = "orphans"
    LEFTOVERS = "leftovers"
    STATE = "state"
    INDEX = "index"
    SOURCE = "source"
    CONTENTS = "contents"
    KEYS = "keys"


@unique
class Repair(StrEnum):
    """A repair, by the name that `--repair` takes."""

    ORPHANS = "orphans"
    """Files that no instant names and no reader sees: deleted."""

    LEASES = "leases"
    """Leases of dead runs: taken over and released, after the run is rolled back or finished."""

    STAGING = "staging"
    """Dead runs: rolled back or finished, with their staging folders."""

    MARKERS = "markers"
    """Markers of instants that are completed or no longer there: deleted."""

    UPLOADS = "uploads"
    """Uploads of Lakestrap that are neither completed nor aborted, on an object store: aborted."""

    METADATA_TABLE = "metadata-table"
    """A metadata table that does not know completed instants: deleted, as Apache Hudi does."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TableFinding:
    """One finding.

    Attributes:
        check: which check found it.
        severity: how bad it is.
        condition: stable id; the same as that of the error that a reader or a run would raise.
        message: the problem, without the location.
        remedy: what to do.
        file: path relative to the table, or a full location outside of it; "" if none.
        partition: path of the partition; None if it concerns none.
        instant: the instant it concerns; "" if none.
        repair: the repair that removes it; None if there is none.
    """

    check: Check
    severity: Severity
    condition: str
    message: str
    remedy: str
    file: str = ""
    partition: str | None = None
    instant: str = ""
    repair: Repair | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Checked:
    """How much was checked: `rows` is 0 unless contents were read."""

    instants: int = 0
    partitions: int = 0
    files: int = 0
    bytes: int = 0
    rows: int = 0
    keys: int = 0


def of_error(
    check: Check, error: FrameworkError, location: str, severity: Severity = Severity.ERROR
) -> TableFinding:
    """Return the finding for an error that a part of the table raised."""
    file = error.where.file or ""
    return TableFinding(
        check=check,
        severity=severity,
        condition=error.condition,
        message=error.message,
        remedy=error.remedy,
        file=file.removeprefix(f"{location}/"),
        partition=error.where.partition,
        instant=error.where.instant or "",
    )


def of_damage(damage: Damage, severity: Severity = Severity.ERROR) -> TableFinding:
    """Return the finding for a file that differs from what a commit recorded."""
    old = "" if severity is Severity.ERROR else "; only reads of the past need it"
    return TableFinding(
        check=Check.FILES,
        severity=severity,
        condition=damage.condition,
        message=damage.message + old,
        remedy=damage.remedy,
        file=damage.path,
        partition=damage.partition_path,
        instant=damage.instant,
    )
