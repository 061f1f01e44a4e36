"""Cost of markers in a timeline service: writers that send one after another."""

from __future__ import annotations

import json
import shutil
import statistics
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass, fields
from http.client import HTTPConnection
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from served import Served
from side_process import SideError

__all__ = ["MarkedCost", "marked", "print_marked"]

_INSTANT = "20991231000000000"
_ROUTES = "/v1/hoodie/marker/"


@dataclass(frozen=True, slots=True, kw_only=True)
class MarkedCost:
    """Cost of one load; `files` counts marker files, `delete_ms` is the time to delete them."""

    rate: float
    p50_ms: float
    p99_ms: float
    files: int
    delete_ms: float


def marked(server: Served, table: Path, writers: int, seconds: float) -> MarkedCost:
    """Let writers send markers for some seconds; each must be reported as new, and exist.

    Raises:
        SideError: a marker is reported otherwise, or missing.
    """
    folder = table / ".hoodie" / ".temp" / _INSTANT
    shutil.rmtree(folder, ignore_errors=True)
    begun = time.perf_counter()
    with ThreadPoolExecutor(writers) as pool:
        sent = pool.map(lambda each: _send(server, folder, each, begun + seconds), range(writers))
        took = sorted(each for times in sent for each in times)
    spent = time.perf_counter() - begun
    with closing(_connected(server)) as connection:
        found = _ask(connection, "GET", "all", folder)
        files = sum(not each.name.startswith(".") for each in folder.iterdir())
        deleted = time.perf_counter()
        gone = _ask(connection, "POST", "dir/delete", folder)
        deleted = time.perf_counter() - deleted
    if len(found) != len(took) or gone is not True or folder.exists():
        message = f"{len(found)} of {len(took)} markers are stored, deleted: {gone}"
        raise SideError(message)
    return MarkedCost(
        rate=len(took) / spent,
        p50_ms=took[len(took) // 2] * 1e3,
        p99_ms=took[len(took) * 99 // 100] * 1e3,
        files=files,
        delete_ms=deleted * 1e3,
    )


def print_marked(row: str, samples: Sequence[MarkedCost]) -> MarkedCost:
    """Print a row of medians, and return them."""
    names = [each.name for each in fields(MarkedCost)]
    cost = MarkedCost(
        **{name: statistics.median(getattr(each, name) for each in samples) for name in names}
    )
    print(
        f"markers    {row:20} n={len(samples)} {cost.rate:8.0f}/s  p50 {cost.p50_ms:6.1f}  "
        f"p99 {cost.p99_ms:6.1f} ms  files {cost.files:3.0f}  delete {cost.delete_ms:5.1f} ms",
        flush=True,
    )
    return cost


def _send(server: Served, folder: Path, writer: int, until: float) -> list[float]:
    """Send markers over one connection, and return the seconds of each.

    Raises:
        SideError: a marker was not reported as new.
    """
    took: list[float] = []
    with closing(_connected(server)) as connection:
        while time.perf_counter() < until:
            number = len(took)
            name = f"day={number % 28:02}/{writer:08x}-{number:012x}-0_1-0-1_{_INSTANT}.parquet"
            begun = time.perf_counter()
            answer = _ask(connection, "POST", "create", folder, markername=f"{name}.marker.CREATE")
            took.append(time.perf_counter() - begun)
            if answer is not True:
                message = f"{name} is reported as {answer}, not as new"
                raise SideError(message)
    return took


def _connected(server: Served) -> HTTPConnection:
    return HTTPConnection("127.0.0.1", server.port, timeout=60)


def _ask(connection: HTTPConnection, method: str, route: str, folder: Path, **more: str) -> Any:
    """Return the response to one request about the folder."""
    said = urlencode({"markerdirpath": str(folder), **more})
    connection.request(method, f"{_ROUTES}{route}?{said}")
    return json.loads(connection.getresponse().read())
