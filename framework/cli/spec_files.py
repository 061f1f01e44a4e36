"""What plan, run and resume share: which specs, in which order, and whose exit code counts."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from rich.text import Text

from framework.cli.exits import gravest
from framework.cli.render.console import clean, err, write
from framework.cli.render.errors import OutputOptions, fail
from framework.engine.tasks import InProcessTasks
from framework.errors import FrameworkError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

__all__ = ["each_file", "in_process"]


def in_process() -> InProcessTasks:
    """Return tasks on threads of this process, one a core."""
    return InProcessTasks(os.cpu_count() or 1)


def each_file(files: Sequence[Path], one: Callable[[Path], int], voice: OutputOptions) -> int:
    """Do `one` for each spec or saved plan and return the gravest exit code.

    An error of one of several is drawn and does not keep the others from their turn; the error of
    a single one is raised.
    """
    if len(files) == 1:
        return one(files[0])
    codes: dict[Path, int] = {}
    for file in files:
        if not voice.json_log:
            write(err(), Text(clean(file), style="bold"))
        try:
            codes[file] = one(file)
        except FrameworkError as error:
            codes[file] = fail(error, voice)
    if not voice.json_log:
        _sum_up(codes)
    return gravest(list(codes.values()))


def _sum_up(codes: dict[Path, int]) -> None:
    failed = {file: code for file, code in codes.items() if code}
    write(err(), Text(f"{len(codes)} specs: {len(codes) - len(failed)} done, {len(failed)} failed"))
    for file, code in failed.items():
        write(err(), f"  exit {code}  {clean(file)}")
