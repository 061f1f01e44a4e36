"""Killing a process exactly at its k-th system call of a kind, with strace."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

__all__ = [
    "CALLS",
    "Point",
    "changes",
    "is_mutating",
    "kill_at",
    "mutating_calls",
    "points_of",
    "run_once",
]

CALLS = (
    "openat,mkdir,mkdirat,link,linkat,unlink,unlinkat,rename,renameat,renameat2,rmdir,"
    "fsync,fdatasync,write,pwrite64,ftruncate,fallocate"
)
_LINE = re.compile(r"^(?:[\d.]+ )?(\w+)\(")
_KILLED = -9


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class Point:
    """The `ordinal`-th call (from 1) of a kind by one thread."""

    call: str
    ordinal: int


def run_once(program: Path, *words: Path) -> int:
    """Run a Python program to its end and return its exit code."""
    command = [sys.executable, str(program), *map(str, words)]
    return subprocess.run(command, check=False, timeout=120).returncode


def mutating_calls(root: Path, log: Path, program: Path, *words: Path) -> list[Point]:
    """Run the program and return every call that changes something below `root`.

    A call is named by its kind and its number among the calls of that kind in its own thread,
    which is how strace counts when it injects.
    """
    shutil.rmtree(log, ignore_errors=True)
    log.mkdir(parents=True)
    options = ["-ff", "-qq", "-y", "-s", "4096", "-e", f"trace={CALLS}", "-o", str(log / "t")]
    done = subprocess.run(
        ["strace", *options, sys.executable, str(program), *map(str, words)],
        check=False,
        timeout=240,
    )
    assert done.returncode == 0
    return points_of(log, root)


def kill_at(point: Point, program: Path, *words: Path) -> bool:
    """Run the program and kill it at `point`; False when it ended before it got there."""
    inject = f"inject={point.call}:signal=KILL:when={point.ordinal}"
    options = ["-f", "-qq", "-e", f"trace={point.call}", "-e", inject, "-o", "/dev/null"]
    done = subprocess.run(
        ["strace", *options, sys.executable, str(program), *map(str, words)],
        check=False,
        timeout=240,
    )
    return done.returncode == _KILLED or done.returncode == 128 - _KILLED


def points_of(
    log: Path, root: Path, counts: Callable[[str, Path], bool] | None = None
) -> list[Point]:
    """Return the calls in a folder of traces, one a thread, that change something below `root`.

    `counts` says which lines of a trace count; None means `is_mutating`.
    """
    counts = counts or is_mutating
    return sorted({point for thread in log.iterdir() for point in _of_thread(thread, root, counts)})


def is_mutating(line: str, root: Path) -> bool:
    """Return whether a line of a trace touches something below `root` and may change it."""
    match = _LINE.match(line)
    reads = match is not None and match[1] == "openat" and "O_CREAT" not in line
    return match is not None and str(root) in line and not reads


def changes(line: str, root: Path) -> bool:
    """Return whether a line of a trace has changed what other processes find below `root`.

    A call that fails changes nothing, and neither does an fsync: a kill before it leaves the same
    files as a kill before the next call.
    """
    return (
        is_mutating(line, root)
        and not line.startswith(("fsync", "fdatasync"))
        and ") = -1 " not in line
    )


def _of_thread(trace: Path, root: Path, counts: Callable[[str, Path], bool]) -> list[Point]:
    """The calls of one thread's trace that count."""
    seen: dict[str, int] = {}
    found = []
    for line in trace.read_text(errors="replace").splitlines():
        match = _LINE.match(line)
        if not match:
            continue
        call = match[1]
        seen[call] = seen.get(call, 0) + 1
        if counts(line, root):
            found.append(Point(call=call, ordinal=seen[call]))
    return found
