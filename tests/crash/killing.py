"""The calls of a process that change something, as strace writes and counts them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

__all__ = [
    "CALLS",
    "Point",
    "is_mutating",
    "points_of",
]

CALLS = (
    "openat,mkdir,mkdirat,link,linkat,unlink,unlinkat,rename,renameat,renameat2,rmdir,"
    "fsync,fdatasync,write,pwrite64,ftruncate,fallocate"
)
_LINE = re.compile(r"^(?:([\d.]+) )?(\w+)\(")


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class Point:
    """The `ordinal`-th call (from 1) of a kind by one thread, which is how strace injects."""

    call: str
    ordinal: int


def points_of(log: Path, root: Path) -> list[Point]:
    """Return the calls in a folder of traces, one a thread, that change something below `root`.

    A kill hits the first thread that makes the call so often, so only that thread's call counts.
    """
    first: dict[Point, tuple[float, bool]] = {}
    for thread in log.iterdir():
        for point, call in _of_thread(thread, root):
            first[point] = min(first.get(point, call), call)
    return sorted(point for point, (_, changes) in first.items() if changes)


def is_mutating(line: str, root: Path) -> bool:
    """Return whether a line of a trace touches something below `root` and may change it."""
    call = _call_of(line)
    reads = call == "openat" and "O_CREAT" not in line
    return bool(call) and str(root) in line and not reads


def _call_of(line: str) -> str:
    """Return the name of the call in a line of a trace; empty if it has none."""
    match = _LINE.match(line)
    return match[2] if match else ""


def _changes(line: str, root: Path) -> bool:
    """Return whether a line of a trace has changed what other processes find below `root`.

    A call that fails changes nothing, and neither does an fsync: a kill before it leaves the same
    files as a kill before the next call.
    """
    return (
        is_mutating(line, root)
        and _call_of(line) not in {"fsync", "fdatasync"}
        and ") = -1 " not in line
    )


def _of_thread(trace: Path, root: Path) -> Iterator[tuple[Point, tuple[float, bool]]]:
    """Yield each call of one thread's trace, its time, and whether it changes something."""
    seen: dict[str, int] = {}
    for line in trace.read_text(errors="replace").splitlines():
        match = _LINE.match(line)
        if match:
            time, call = float(match[1]), match[2]
            seen[call] = seen.get(call, 0) + 1
            yield Point(call=call, ordinal=seen[call]), (time, _changes(line, root))
