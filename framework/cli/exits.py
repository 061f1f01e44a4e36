"""Exit codes in one table, and signals as `KeyboardInterrupt`, so that a run releases its lease."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Sequence
from types import FrameType
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from sys import UnraisableHookArgs

__all__ = [
    "EXIT_CODES",
    "UNEXPECTED",
    "close_stdout",
    "code_of",
    "epilog",
    "forget",
    "gravest",
    "listen",
    "raise_if_lost",
    "word_of",
]

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
    """Return the exit code for several specs: the first of 5, 4, 3, 6, 1 that occurs.

    An empty sequence gives 0. Interruptions rank above everything, unexpected errors above expected
    ones.
    """
    interrupted = [code for code in codes if code >= _SIGNALS]
    if interrupted:
        return interrupted[0]
    return next((code for code in _GRAVITY if code in codes), 0)


def epilog() -> str:
    r"""Return the exit codes for `--help`; `\b` keeps the line breaks."""
    rows = "\n".join(f"  {code:>3}  {meaning}" for code, meaning in EXIT_CODES.items())
    return f"\b\nExit codes:\n{rows}"


_WORDS: Final = {
    int(signal.SIGINT): "interrupted",
    int(signal.SIGTERM): "terminated",
    int(signal.SIGHUP): "hung up",
}
_BASE: Final = 128
_received: list[int] = []


def listen() -> None:
    """Let Ctrl-C, SIGTERM and SIGHUP interrupt; an ignored signal (nohup) stays ignored.

    Call it again after PySpark has replaced the handler of Ctrl-C with its own.
    """
    for number in map(signal.Signals, _WORDS):
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, _interrupt)
    sys.unraisablehook = _report_lost


def raise_if_lost() -> None:
    """Raise `KeyboardInterrupt` if a signal was received but its exception was lost.

    Python drops exceptions raised in a destructor or in the callback of a weak reference, and a
    signal may arrive in one.
    """
    if _received:
        raise KeyboardInterrupt(_received[-1])


def forget() -> None:
    """Forget all received signals."""
    _received.clear()


def code_of(stop: KeyboardInterrupt) -> int:
    """Return the exit code of an interruption: 128 plus the signal, 130 for Ctrl-C."""
    number = stop.args[0] if stop.args and isinstance(stop.args[0], int) else signal.SIGINT
    return _BASE + int(number)


def word_of(stop: KeyboardInterrupt) -> str:
    """Return the word for the signal, such as `interrupted`."""
    return _WORDS.get(code_of(stop) - _BASE, "interrupted")


def close_stdout() -> int:
    """Close stdout after its reader has exited (`| head`); return the exit code for that."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return _BASE + int(signal.SIGPIPE)


def _interrupt(number: int, frame: FrameType | None) -> None:
    del frame
    _received.append(number)
    raise KeyboardInterrupt(number)


def _report_lost(lost: UnraisableHookArgs) -> None:
    """Print an exception that Python drops, except an interruption: `raise_if_lost` raises it."""
    if not (_received and lost.exc_type is KeyboardInterrupt):
        sys.__unraisablehook__(lost)
