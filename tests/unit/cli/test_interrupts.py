"""Signals interrupt, also those whose exception Python drops."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import weakref
from collections.abc import Callable, Iterator

import pytest

from framework.cli.exits import code_of, forget, listen, raise_if_lost

NUMBERS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@pytest.fixture(autouse=True)
def handlers() -> Iterator[None]:
    """Listen as the command does, and put back what was there."""
    before = {number: signal.getsignal(number) for number in NUMBERS}
    hook = sys.unraisablehook
    sys.unraisablehook = sys.__unraisablehook__
    for number in NUMBERS:  # a shell ignores some for what it starts in the background
        signal.signal(number, signal.SIG_DFL)
    listen()
    yield
    forget()
    sys.unraisablehook = hook
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.mark.parametrize("number", NUMBERS)
def test_signal_whose_exception_was_lost_interrupts_later(number: signal.Signals) -> None:
    """At the next look, with the exit code of that signal."""
    raise_if_lost()
    with contextlib.suppress(KeyboardInterrupt):
        os.kill(os.getpid(), number)
    with pytest.raises(KeyboardInterrupt) as caught:
        raise_if_lost()
    assert code_of(caught.value) == 128 + number
    forget()
    raise_if_lost()


class _Thing:
    """Something to refer to weakly."""


def _lose(what: Callable[[], None]) -> None:
    """Let something happen in the callback of a weak reference, where exceptions get lost."""
    thing = _Thing()
    watched = weakref.ref(thing, lambda _: what())
    del thing
    assert watched() is None


def test_signal_whose_exception_was_lost_prints_no_traceback(
    capfd: pytest.CaptureFixture[str],
) -> None:
    """The signal is still handled, so nothing is printed about it."""
    _lose(lambda: os.kill(os.getpid(), signal.SIGHUP))
    assert capfd.readouterr().err == ""
    with pytest.raises(KeyboardInterrupt):
        raise_if_lost()


def test_other_exception_that_is_lost_is_printed(capfd: pytest.CaptureFixture[str]) -> None:
    """As Python does, also where a signal came before."""
    with contextlib.suppress(KeyboardInterrupt):
        os.kill(os.getpid(), signal.SIGHUP)

    def fail() -> None:
        raise ValueError("a fault of the destructor")

    _lose(fail)
    assert "a fault of the destructor" in capfd.readouterr().err


def test_signal_that_is_ignored_stays_so() -> None:
    """As under nohup."""
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    listen()
    os.kill(os.getpid(), signal.SIGHUP)
    raise_if_lost()
