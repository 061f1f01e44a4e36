"""`run-pipeline doctor`: can this machine do the work?"""

from __future__ import annotations

import json
import sys
from dataclasses import asdict
from typing import Final

from rich.text import Text

from framework.cli.machine import Check, checks
from framework.cli.options import Format, JsonFormat
from framework.cli.render.console import clean, out, write

__all__ = ["command"]

_WIDTH: Final = 9


def command(form: Format = JsonFormat.TEXT) -> int:
    """Check this machine: Python, Java, Spark, its workers, memory, disk and links.

    Exit 5 when something is missing. Only Spark needs Java: validate, plan and status do not.
    """
    found = checks()
    if form is JsonFormat.JSON:
        sys.stdout.write(json.dumps([asdict(each) for each in found], indent=2) + "\n")
    else:
        for each in found:
            _write(each)
    return 0 if all(each.ok for each in found) else 5


def _write(check: Check) -> None:
    mark = ("ok   ", "green") if check.ok else ("bad  ", "bold red")
    line = Text.assemble(mark, f"{check.name:<{_WIDTH}}", clean(check.found))
    write(out(), line, hang=5 + _WIDTH)
    if check.remedy:
        write(out(), Text(f"{'':{5 + _WIDTH}}{check.remedy}", style="cyan"), hang=5 + _WIDTH)
