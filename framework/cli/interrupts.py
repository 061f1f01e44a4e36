"""Signals become `KeyboardInterrupt`, so that a run gives its lease back before it ends."""

from __future__ import annotations

import os
import signal
import sys
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from sys import UnraisableHookArgs
    from types import FrameType

__all__ = ["close_stdout", "code_of", "forget", "listen", "raise_if_lost", "word_of"]

_WORDS: Final = {
    int(signal.SIGINT): "interrupted",
    int(signal.SIGTERM): "terminated",
    int(signal.SIGHUP): "hung up",
}
_BASE: Final = 128
_received: list[int] = []


def listen() -> None:
    """Let Ctrl-C, SIGTERM and SIGHUP interrupt; a signal that is ignored (nohup) stays so.

    To be called again after PySpark has put its own handler of Ctrl-C in the place of ours.
    """
    for number in map(signal.Signals, _WORDS):
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, _interrupt)
    sys.unraisablehook = _report_lost


def raise_if_lost() -> None:
    """Interrupt now, where a signal came but its exception was lost.

    Python drops what is raised in a destructor or in the callback of a weak reference, and a signal
    may well arrive in one.
    """
    if _received:
        raise KeyboardInterrupt(_received[-1])


def forget() -> None:
    """Take what was received as dealt with."""
    _received.clear()


def code_of(stop: KeyboardInterrupt) -> int:
    """Return the exit code of an interruption: 128 plus the signal, 130 for Ctrl-C."""
    number = stop.args[0] if stop.args and isinstance(stop.args[0], int) else signal.SIGINT
    return _BASE + int(number)


def word_of(stop: KeyboardInterrupt) -> str:
    """Return the word for what happened."""
    return _WORDS.get(code_of(stop) - _BASE, "interrupted")


def close_stdout() -> int:
    """Give stdout up after its reader went away (`| head`); return the exit code for that."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return _BASE + int(signal.SIGPIPE)


def _interrupt(number: int, frame: FrameType | None) -> None:
    del frame
    _received.append(number)
    raise KeyboardInterrupt(number)


def _report_lost(lost: UnraisableHookArgs) -> None:
    """Print an exception that Python drops, but for an interruption: `raise_if_lost` raises it."""
    if not (_received and lost.exc_type is KeyboardInterrupt):
        sys.__unraisablehook__(lost)
