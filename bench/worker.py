"""One side of a bench in its own process, warm between actions.

`python bench/worker.py SIDE JSON` starts the side, the module `side_SIDE`, with its settings and
answers each JSON line `{"action": …, "args": {…}}` with one JSON line. Only the action is timed,
in this process.
"""

from __future__ import annotations

import json
import os
import sys
import time
import traceback
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import TextIO

__all__ = ["main"]


def main(side: str, settings: str) -> None:
    """Run actions of one side until standard input ends."""
    answers = _claim_stdout()
    actions = import_module(f"side_{side}").start(json.loads(settings))
    _send(answers, {"value": sorted(actions)})
    for line in sys.stdin:
        _send(answers, _timed(actions, json.loads(line)))


def _claim_stdout() -> TextIO:
    """Return the real standard output, and redirect the JVM's output to standard error."""
    own = os.dup(1)
    os.dup2(2, 1)
    return os.fdopen(own, "w", encoding="utf-8", buffering=1)


def _timed(
    actions: Mapping[str, Callable[..., object]], request: dict[str, object]
) -> dict[str, object]:
    """Run one action; return its value or its traceback."""
    arguments: dict[str, object] = request["args"]  # type: ignore[assignment]
    began = time.perf_counter()
    try:
        value = actions[str(request["action"])](**arguments)
    except Exception:  # noqa: BLE001 - the bench reports every failure of a side
        return {"error": traceback.format_exc(limit=-4)[-4000:]}
    return {"value": value, "wall_s": time.perf_counter() - began}


def _send(answers: TextIO, answer: dict[str, object]) -> None:
    """Write one answer as one line."""
    answers.write(json.dumps(answer) + "\n")
    answers.flush()


if __name__ == "__main__":
    main(*sys.argv[1:])
