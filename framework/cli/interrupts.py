"""Signals become `KeyboardInterrupt`, so that a run gives its lease back before it ends."""

from __future__ import annotations

import os
import signal
import sys
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from types import FrameType

__all__ = ["close_stdout", "code_of", "listen", "word_of"]

_WORDS: Final = {
    int(signal.SIGINT): "interrupted",
    int(signal.SIGTERM): "terminated",
    int(signal.SIGHUP): "hung up",
}
_BASE: Final = 128


def listen() -> None:
    """Let SIGTERM and SIGHUP interrupt like Ctrl-C; a signal that is ignored (nohup) stays so."""
    for number in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, _interrupt)


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
    raise KeyboardInterrupt(number)
