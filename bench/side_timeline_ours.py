"""Lakestrap's timeline service, and the client for its batch look-ups.

Only `server_command` and `batch_client` know the service; the rest of the bench sends the HTTP
requests of Apache Hudi's clients.
"""

from __future__ import annotations

import json
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from urllib.request import urlopen

from framework.hudi.filegroup.slices import FileGroupId, FileSlice
from framework.hudi.storage.local import LocalStorage
from framework.hudi.timeline.timeline import load_timeline, timeline_hash
from framework.hudi.view.port import Selection
from framework.hudi.view.remote import RemoteView, ServiceAddress
from framework.timeline_service.tables import table_id

__all__ = [
    "SERVICE",
    "awaited_port",
    "batch_client",
    "ended",
    "free_port",
    "server_command",
    "start",
]

SERVICE = "framework.timeline_service"
"""The package of the service; without it, benches measure only the rival."""
_PATIENCE_S = 60.0
_WARM_UP_BATCHES = 3


def server_command(store: str, bound_mb: int, port: int) -> Sequence[str]:
    """Return the command that runs the service until SIGTERM, as arguments after the interpreter.

    It must answer `/v1/hoodie/view/…` on this port of 127.0.0.1, for any base path below the
    bench's data, with an empty view at first. Benches measure the command's process tree as the
    server.

    Args:
        store: `memory`, `spillable` or `embedded_kv`.
        bound_mb: memory limit of `spillable` in megabytes; the others have none.
        port: a free port. A token may follow it, which clients must then send; without one, all
            clients have access.
    """
    script = Path(__file__).parent / "serve_any.py"
    return [str(script), store, str(bound_mb), str(port)]


def batch_client(
    port: int, table: str
) -> Callable[[Sequence[tuple[str, str]]], Sequence[FileSlice]]:
    """Return a function that requests the latest slices of (partition path, file id) pairs.

    Each call is one request that returns one slice per pair, in any order. The client keeps its
    connection; each Spark task makes its own.

    Args:
        port: of the service on 127.0.0.1.
        table: base path.
    """
    with urlopen(f"http://127.0.0.1:{port}/health") as answer:
        driver = json.load(answer)["driver"]
    timeline = load_timeline(LocalStorage(table))
    address = ServiceAddress(
        host="127.0.0.1",
        port=port,
        token="",
        driver=driver,
        table=table_id(table),
        instant=timeline.last_requested_time or "",
        timeline=timeline_hash(timeline),
        seconds=60.0,
    )
    view = RemoteView(address)

    def ask(pairs: Sequence[tuple[str, str]]) -> Sequence[FileSlice]:
        return view.look_up([FileGroupId(*each) for each in pairs], Selection.LATEST)

    return ask


def start(settings: Mapping[str, str]) -> Mapping[str, Callable[..., object]]:
    """Return the actions `serve`, `batches` and `stop`; one server at a time."""
    held: list[subprocess.Popen[bytes]] = []
    work = Path(settings["work_dir"])

    def serve(store: str, bound_mb: int) -> dict[str, int]:
        """Start a server with an empty view; return its port and process once it listens."""
        stop()
        port = free_port()
        command = [sys.executable, *server_command(store, bound_mb, port)]
        with (work / "server.log").open("ab") as log:
            held.append(subprocess.Popen(command, stdout=log, stderr=log))
        awaited_port(port, held[0])
        return {"port": port, "pid": held[0].pid}

    def stop() -> None:
        """Stop the server."""
        while held:
            ended(held.pop())

    return {"serve": serve, "batches": _ask_batches, "stop": stop}


def _ask_batches(port: int, table: str, pairs: str, size: int, seconds: float) -> dict[str, float]:
    """Request batches of groups for some seconds; return pairs per second and times in ms."""
    batches = _batches([_pair(line) for line in Path(pairs).read_text().splitlines()], size)
    ask = batch_client(port, table)
    for _ in range(_WARM_UP_BATCHES):
        ask(next(batches))
    took: list[float] = []
    while sum(took) < seconds:
        asked = next(batches)
        begun = time.perf_counter()
        found = ask(asked)
        took.append(time.perf_counter() - begun)
        _check(asked, found)
    return {
        "rate": size * len(took) / sum(took),
        "p50_ms": sorted(took)[len(took) // 2] * 1e3,
        "max_ms": max(took) * 1e3,
    }


def _check(asked: Sequence[tuple[str, str]], found: Sequence[FileSlice]) -> None:
    """Raise if a slice is missing or of another group."""
    groups = {(each.group.partition_path, each.group.file_id) for each in found}
    if groups != set(asked):
        message = f"{len(groups)} groups in answer to {len(asked)}"
        raise ValueError(message)


def _batches(pairs: Sequence[tuple[str, str]], size: int) -> Iterator[Sequence[tuple[str, str]]]:
    """Yield batches endlessly, each spread over the whole table."""
    step = max(1, len(pairs) // size)
    while True:
        for first in range(step):
            yield pairs[first::step][:size]


def _pair(line: str) -> tuple[str, str]:
    partition, _, file_id = line.partition("\t")
    return partition, file_id


def free_port() -> int:
    """Return a port that nothing listens on."""
    with socket.create_server(("127.0.0.1", 0)) as found:
        port: int = found.getsockname()[1]
        return port


def awaited_port(port: int, process: subprocess.Popen[bytes]) -> None:
    """Wait until a server listens on the port.

    Raises:
        TimeoutError: none did for a minute, or the server exited.
    """
    until = time.monotonic() + _PATIENCE_S
    while process.poll() is None and time.monotonic() < until:
        with suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
            return
        time.sleep(0.05)
    raise TimeoutError


def ended(process: subprocess.Popen[bytes]) -> None:
    """Terminate a server; kill it on timeout."""
    process.terminate()
    try:
        process.wait(timeout=20)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
