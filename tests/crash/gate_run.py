"""One run on Spark that dies at a point of its gate: `python gate_run.py SPEC POINT`.

The process kills itself, so nothing is cleaned up; active Spark tasks continue until the JVM
notices.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Callable
from importlib import import_module
from typing import Any, Final

from framework.spark import run
from framework.spark.session import open_session

__all__ = ["POINTS"]

_CHECKER: Final = "framework.spark.checking.checker:SparkChecker"
POINTS: Final[dict[str, tuple[str, ...]]] = {
    "finding": ("framework.spark.checking.checker:_write",),
    "found": (f"{_CHECKER}.find_bad",),
    "gathered": (f"{_CHECKER}.quarantine",),
    "screened": (
        "framework.engine.bootstrap.pipeline:screen_source",
        "framework.engine.load.pipeline:screen_input",
    ),
    "written": (
        "framework.engine.bootstrap.pipeline:write_base_files",
        "framework.engine.load.pipeline:write_rows",
    ),
    "judged": (f"{_CHECKER}.judge",),
    "named": (
        "framework.engine.bootstrap.commit:name_quarantined_rows",
        "framework.engine.load.commit:name_quarantined_rows",
    ),
    "linked": (
        "framework.engine.bootstrap.commit:check_listing",
        "framework.engine.load.commit:check_listing",
    ),
    "published": (
        "framework.engine.bootstrap.commit:publish",
        "framework.engine.load.commit:publish",
    ),
}
"""What is called last, in the order of a run; the first of them dies while it is under way."""


def main(spec: str, point: str) -> None:
    """Run a spec to a point."""
    for place in POINTS[point]:
        _die_after(place, at_once=point == "finding")
    settings = {"spark.driver.memory": "1g", "spark.sql.shuffle.partitions": "2"}
    with open_session(master="local[2,2]", conf=settings) as opened:
        run(opened.spark, spec)


def _die_after(place: str, *, at_once: bool) -> None:
    """Let the process die when a function returns, or soon after it is called."""
    module, _, name = place.partition(":")
    owner: Any = import_module(module)
    *above, name = name.split(".")
    for each in above:
        owner = getattr(owner, each)
    work: Callable[..., object] = getattr(owner, name)

    def dying(*args: Any, **more: Any) -> object:
        if at_once:
            threading.Timer(0.1, _die).start()
        work(*args, **more)
        _die()
        return None

    setattr(owner, name, dying)


def _die() -> None:
    """End as by the kernel's hand."""
    os.kill(os.getpid(), signal.SIGKILL)


if __name__ == "__main__":
    main(*sys.argv[1:])
