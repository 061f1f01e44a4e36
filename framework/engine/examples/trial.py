"""What came of trying a test."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum, unique
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from framework.engine.examples.comparison import Difference
    from framework.errors import FrameworkError

__all__ = ["Trial", "TrialOutcome"]


@unique
class TrialOutcome(StrEnum):
    """`FAILED` is another result than expected; with an `ERROR` there is no result."""

    PASSED = "passed"
    FAILED = "failed"
    ERROR = "error"


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """One test that was tried.

    Attributes:
        name: of the test.
        seconds: wall time.
        reasons: what is not as expected, one sentence each, besides rows.
        differences: rows that are not as expected.
        error: why there is no result, None where there is one.
        folder: where its files are kept, None where they are not.
    """

    name: str
    seconds: float
    reasons: tuple[str, ...] = ()
    differences: tuple[Difference, ...] = ()
    error: FrameworkError | None = None
    folder: str | None = None

    @property
    def outcome(self) -> TrialOutcome:
        """What came of it."""
        if self.error is not None:
            return TrialOutcome.ERROR
        as_expected = not self.reasons and not self.differences
        return TrialOutcome.PASSED if as_expected else TrialOutcome.FAILED
