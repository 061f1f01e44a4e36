"""The exit codes, in one table; each error class has its own."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["EXIT_CODES", "UNEXPECTED", "epilog", "gravest"]

EXIT_CODES: Final = {
    0: "done, nothing to do, or already committed",
    1: "usage or spec error, also where the spec does not fit the source",
    2: "only with `plan --detailed-exitcode`: there are changes",
    3: "the gate refused, or tests failed; table unchanged",
    4: "lock held, conflict lost, plan stale or source drifted: retry",
    5: "engine or storage failed, or source unreadable; table unchanged",
    6: "committed, but a step after the commit failed",
    7: "outcome unknown: nothing was deleted, run `status`",
    70: "unexpected error",
    130: "interrupted (128 + the signal's number; 143 when terminated)",
}

UNEXPECTED: Final = 70

_GRAVITY: Final = (UNEXPECTED, 7, 5, 4, 3, 6, 1, 2, 0)
_SIGNALS: Final = 128


def gravest(codes: Sequence[int]) -> int:
    """Return the code that stands for several specs: 5, 4, 3, 6, 1 in this order of gravity.

    An empty sequence is 0. Interruptions are above all, and the unexpected above the expected.
    """
    interrupted = [code for code in codes if code >= _SIGNALS]
    if interrupted:
        return interrupted[0]
    return next((code for code in _GRAVITY if code in codes), 0)


def epilog() -> str:
    r"""Return the table for `--help`; `\b` keeps its lines as they are."""
    rows = "\n".join(f"  {code:>3}  {meaning}" for code, meaning in EXIT_CODES.items())
    return f"\b\nExit codes:\n{rows}"
