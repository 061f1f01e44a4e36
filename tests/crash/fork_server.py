"""Runs commands in forks of a process that has imported everything: `python fork_server.py`.

Each line of the input is a JSON list: the file for the output of the command, and its words: those
of `run-pipeline`, or one of `_PROGRAMS` with its arguments. A fork stops before the command, so
that strace can attach; then the server writes its process id, and once it has ended its exit code,
negative for a signal. What a fork has imported the server imports after it, for all later ones.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import json
import os
import signal
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Final, NoReturn

from framework.cli.app import main
from tests.crash.one_run import run_once
from tests.crash.one_shop import run_shop

__all__: list[str] = []

_PLAIN_INIT: Final = ThreadPoolExecutor.__init__
_PROGRAMS: Final[dict[str, Callable[..., int]]] = {"load": run_once, "shop": run_shop}


def serve() -> None:
    """Answer every line of the input.

    Tasks run on one thread, and so does each pool of threads, so that calls have the same numbers
    in every run of a command.
    """
    os.cpu_count = lambda: 1
    ThreadPoolExecutor.__init__ = _with_one_thread  # type: ignore[assignment,method-assign]
    for line in sys.stdin:
        output, *words = json.loads(line)
        pid = os.fork()
        if pid == 0:
            _run(Path(output), words)
        os.waitpid(pid, os.WUNTRACED)
        _say(pid)
        _say(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
        _import(Path(output).with_suffix(".modules"))


def _with_one_thread(
    pool: ThreadPoolExecutor, _max_workers: int | None = None, *rest: Any, **named: Any
) -> None:
    """Begin a pool whose calls all are of one thread."""
    _PLAIN_INIT(pool, 1, *rest, **named)


def _say(number: int) -> None:
    sys.stdout.write(f"{number}\n")
    sys.stdout.flush()


def _import(found: Path) -> None:
    """Import the modules that are named in a file, and delete the file."""
    if found.exists():
        for name in found.read_text().split():
            with contextlib.suppress(ImportError):
                importlib.import_module(name)
        found.unlink()
        gc.freeze()


def _run(output: Path, words: list[str]) -> NoReturn:
    """Run a command in this fork and exit with its code."""
    out = os.open(output, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    os.dup2(out, 1)
    os.dup2(out, 2)
    known = set(sys.modules)
    os.kill(os.getpid(), signal.SIGSTOP)
    code = 99
    try:
        program = _PROGRAMS.get(words[0])
        code = program(*words[1:]) if program else main(words)
        if new := sorted(set(sys.modules) - known):
            output.with_suffix(".modules").write_text("\n".join(new))
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


if __name__ == "__main__":
    serve()
