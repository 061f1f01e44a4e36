"""Commands in forks of one prepared process, traced by strace, or killed at their k-th call."""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from tests.crash.killing import CALLS, Point, is_mutating, points_of

__all__ = ["Forks", "forks"]

_REPOSITORY = Path(__file__).parents[2]
_PROGRAM = Path(__file__).with_name("fork_server.py")
_PATIENCE_S = 60.0
_TRACE = ["-qq", "-y", "-s", "4096"]
_PID = re.compile(r"^\d+ +")


class Forks:
    """A process that has imported everything, and whose forks run commands."""

    def __init__(self, server: subprocess.Popen[str], folder: Path) -> None:
        self._server, self._folder = server, folder
        self._output = folder / "output"

    @property
    def output(self) -> str:
        """What the last command printed."""
        return self._output.read_text()

    def run(self, *words: str) -> int:
        """Run a command to its end and return its exit code."""
        with self._started(words) as pid:
            os.kill(pid, signal.SIGCONT)
        return self._number()

    def calls(self, root: Path, *words: str) -> list[Point]:
        """Run a command to its end and return every call that changes something below `root`."""
        log = self._folder / "trace"
        shutil.rmtree(log, ignore_errors=True)
        log.mkdir()
        self._traced(["-ff", "-ttt", "-e", f"trace={CALLS}", "-o", str(log / "t")], words)
        return points_of(log, root)

    def kill(self, point: Point, root: Path, *words: str) -> bool:
        """Run a command and return whether it was killed at a call that changes something there."""
        log = self._folder / "killed"
        inject = f"inject={point.call}:signal=KILL:when={point.ordinal}"
        code = self._traced(
            ["-f", "-e", f"trace={point.call}", "-e", inject, "-o", str(log)], words
        )
        return code == -signal.SIGKILL and _died_at(log, root)

    def _traced(self, options: Sequence[str], words: Sequence[str]) -> int:
        """Run a command under strace and return its exit code."""
        with self._started(words) as pid:
            strace = subprocess.Popen(["strace", *_TRACE, *options, "-p", str(pid)])
            _wait_for_tracer(pid)
            os.kill(pid, signal.SIGCONT)
        code = self._number()
        strace.wait(_PATIENCE_S)
        return code

    @contextlib.contextmanager
    def _started(self, words: Sequence[str]) -> Iterator[int]:
        """Yield the process id of a fork that is about to run a command."""
        assert self._server.stdin is not None
        self._server.stdin.write(json.dumps([str(self._output), *words]) + "\n")
        self._server.stdin.flush()
        yield self._number()

    def _number(self) -> int:
        assert self._server.stdout is not None
        return int(self._server.stdout.readline())


@contextlib.contextmanager
def forks(folder: Path) -> Iterator[Forks]:
    """Yield a process for forks; it ends with the context."""
    folder.mkdir()
    path = os.pathsep.join([str(_REPOSITORY), *filter(None, [os.environ.get("PYTHONPATH")])])
    server = subprocess.Popen(
        [sys.executable, str(_PROGRAM)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=folder,
        env={**os.environ, "PYTHONPATH": path, "NO_COLOR": "1", "COLUMNS": "200"},
    )
    with server:
        yield Forks(server, folder)
        assert server.stdin is not None
        server.stdin.close()


def _wait_for_tracer(pid: int) -> None:
    """Wait until a stopped process is traced."""
    status, end = Path(f"/proc/{pid}/status"), time.monotonic() + _PATIENCE_S
    while "TracerPid:\t0\n" in status.read_text():
        assert time.monotonic() < end, "strace did not attach"
        time.sleep(0.001)


def _died_at(log: Path, root: Path) -> bool:
    """Return whether a call that did not return changes something below `root`."""
    lines = [_PID.sub("", line) for line in log.read_text(errors="replace").splitlines()]
    cut = [line for line in lines if line.endswith(("= ?", "<unfinished ...>"))]
    return any(is_mutating(line, root) for line in cut[-3:])
