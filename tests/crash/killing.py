"""The calls of a process that change something, as strace writes and counts them."""

from __future__ import annotations

import re
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
_LINE = re.compile(r"^(?:[\d.]+ )?(\w+)\(")


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class Point:
    """The `ordinal`-th call (from 1) of a kind by one thread, which is how strace injects."""

    call: str
    ordinal: int


def points_of(log: Path, root: Path) -> list[Point]:
    """Return the calls in a folder of traces, one a thread, that change something below `root`."""
    return sorted({point for thread in log.iterdir() for point in _of_thread(thread, root)})


def is_mutating(line: str, root: Path) -> bool:
    """Return whether a line of a trace touches something below `root` and may change it."""
    match = _LINE.match(line)
    reads = match is not None and match[1] == "openat" and "O_CREAT" not in line
    return match is not None and str(root) in line and not reads


def _changes(line: str, root: Path) -> bool:
    """Return whether a line of a trace has changed what other processes find below `root`.

    A call that fails changes nothing, and neither does an fsync: a kill before it leaves the same
    files as a kill before the next call.
    """
    return (
        is_mutating(line, root)
        and not line.startswith(("fsync", "fdatasync"))
        and ") = -1 " not in line
    )


def _of_thread(trace: Path, root: Path) -> list[Point]:
    """The calls of one thread's trace that count."""
    seen: dict[str, int] = {}
    found = []
    for line in trace.read_text(errors="replace").splitlines():
        match = _LINE.match(line)
        if not match:
            continue
        call = match[1]
        seen[call] = seen.get(call, 0) + 1
        if _changes(line, root):
            found.append(Point(call=call, ordinal=seen[call]))
    return found
