"""CPU time and memory of a process and all its descendants, read from `/proc` (Linux).

A side's tree is its Python worker, the JVM below it and Spark's Python workers below that.
"""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

__all__ = [
    "cpu_s",
    "driver_peaks_mb",
    "peak_mb",
    "pin",
    "reset_peaks",
    "resident_mb",
    "task_peak_mb",
]

PROC = Path("/proc")
TICKS_PER_S = os.sysconf("SC_CLK_TCK")


def cpu_s(root: int) -> float:
    """Return CPU seconds so far of the live tree and of its exited children."""
    return sum(_ticks(pid) for pid in _members(root)) / TICKS_PER_S


def reset_peaks(root: int) -> None:
    """Reset the high-water mark of each member's memory to its current size."""
    for pid in _members(root):
        try:
            (PROC / str(pid) / "clear_refs").write_text("5")
        except OSError:
            continue


def peak_mb(root: int) -> float:
    """Return the sum of the members' resident high-water marks: an upper bound of the peak."""
    return sum(_status_kb(pid, "VmHWM") for pid in _members(root)) / 1024


def pin(root: int, cores: Iterable[int]) -> None:
    """Pin every thread of the tree to some cores; new threads inherit this."""
    for pid in _members(root):
        for task in (PROC / str(pid) / "task").iterdir():
            with suppress(ProcessLookupError):
                os.sched_setaffinity(int(task.name), cores)


def resident_mb(root: int) -> float:
    """Return the members' current resident memory; shared pages count twice."""
    return sum(_status_kb(pid, "VmRSS") for pid in _members(root)) / 1024


def driver_peaks_mb(root: int) -> tuple[float, float]:
    """Return high-water marks of the driver: of `root` itself, and of the JVM below it.

    In local mode the JVM also runs the JVM side of tasks; Python workers are not included.
    """
    java = sum(_status_kb(pid, "VmHWM") for pid in _members(root) if _name(pid) == "java")
    return _status_kb(root, "VmHWM") / 1024, java / 1024


def task_peak_mb(root: int) -> float:
    """Return the high-water mark of the largest Python process below the JVM; 0 without any."""
    java = [pid for pid in _members(root) if _name(pid) == "java"]
    below = {pid for each in java for pid in _members(each)} - set(java)
    return max((_status_kb(pid, "VmHWM") for pid in below), default=0) / 1024


def _members(root: int) -> list[int]:
    """Return `root` and its live descendants."""
    children: dict[int, list[int]] = defaultdict(list)
    for entry in PROC.iterdir():
        if entry.name.isdigit() and (fields := _stat(int(entry.name))):
            children[int(fields[1])].append(int(entry.name))
    found, waiting = [], [root]
    while waiting:
        pid = waiting.pop()
        found.append(pid)
        waiting += children[pid]
    return found


def _ticks(pid: int) -> int:
    """Return user and system time of a process and of the children it has waited for."""
    fields = _stat(pid)
    return sum(map(int, fields[11:15])) if fields else 0


def _stat(pid: int) -> list[str]:
    """Return the fields of `/proc/<pid>/stat` after the name; none if it has exited."""
    try:
        return (PROC / str(pid) / "stat").read_text().rpartition(")")[2].split()
    except OSError:
        return []


def _name(pid: int) -> str:
    """Return the name of a process; empty if it has exited."""
    try:
        return (PROC / str(pid) / "comm").read_text().strip()
    except OSError:
        return ""


def _status_kb(pid: int, field: str) -> int:
    """Return one field of `/proc/<pid>/status` in KiB; 0 if the process has exited."""
    try:
        lines = (PROC / str(pid) / "status").read_text().splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) for line in lines if line.startswith(field)), 0)
