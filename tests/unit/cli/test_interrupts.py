"""Signals interrupt, also those whose exception Python drops."""

from __future__ import annotations

import contextlib
import os
import signal
from typing import TYPE_CHECKING

import pytest

from framework.cli.interrupts import code_of, forget, listen, raise_if_lost

if TYPE_CHECKING:
    from collections.abc import Iterator

NUMBERS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@pytest.fixture(autouse=True)
def handlers() -> Iterator[None]:
    """Listen as the command does, and put back what was there."""
    before = {number: signal.getsignal(number) for number in NUMBERS}
    for number in NUMBERS:  # a shell ignores some for what it starts in the background
        signal.signal(number, signal.SIG_DFL)
    listen()
    yield
    forget()
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


def test_signal_that_is_ignored_stays_so() -> None:
    """As under nohup."""
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    listen()
    os.kill(os.getpid(), signal.SIGHUP)
    raise_if_lost()
