"""Latency of the timeline service for one client while forty connections send and never read.

`python bench/attacked.py JSON` is the sender, with `Attack` as JSON, and runs until it is killed: a
separate process whose connections pipeline look-ups as fast as the service accepts them, and
reconnect when it closes them. The other client looks up one group after another, with the token.
"""

from __future__ import annotations

import json
import select
import socket
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, fields
from http.client import HTTPConnection
from pathlib import Path
from typing import Final

import process_tree
from grouped import GroupedTable
from side_process import SideError
from side_timeline_ours import awaited_port, ended, free_port, server_command

__all__ = ["ATTACKS", "AttackedCost", "attacked", "print_attacked"]

ATTACKS: Final = ("none", "without a token", "with a token")
_CONNECTIONS: Final = 40
_PIPELINED: Final = 500
_TOKEN: Final = "bench"  # noqa: S105 - for a server that lives for seconds
_ROUTE: Final = "/v1/hoodie/view/slices/file/latest/"
_SETTLE_S: Final = 1.0
_LOOK_S: Final = 0.25


@dataclass(frozen=True, slots=True, kw_only=True)
class Attack:
    """The request that the sender repeats: `head` is all of it except its end."""

    port: int
    head: str


@dataclass(frozen=True, slots=True, kw_only=True)
class AttackedCost:
    """Response times of the other client, and the server's additional memory."""

    requests: int
    p50_ms: float
    p99_ms: float
    max_ms: float
    added_mb: float


def attacked(table: GroupedTable, attack: str, seconds: float) -> AttackedCost:
    """Return the cost of one attack on a new server with one loaded partition.

    Raises:
        SideError: a response to the other client is not 200, or the sender exited.
    """
    partition, file_id = table.some_pairs(1)[0]
    target = f"{_ROUTE}?{table.query()}&partition={partition}&fileid={file_id}"
    with _server() as (port, pid):
        _ask(port, target, 0.5)
        before = process_tree.resident_mb(pid)
        with _attacking(Attack(port=port, head=_head(target, attack)), attack):
            took, most = _ask(port, target, seconds, pid)
    return AttackedCost(
        requests=len(took),
        p50_ms=took[len(took) // 2] * 1e3,
        p99_ms=took[len(took) * 99 // 100] * 1e3,
        max_ms=took[-1] * 1e3,
        added_mb=most - before,
    )


def print_attacked(row: str, samples: Sequence[AttackedCost]) -> AttackedCost:
    """Print a row of medians, and return them."""
    names = [each.name for each in fields(AttackedCost)]
    cost = AttackedCost(
        **{name: statistics.median(getattr(each, name) for each in samples) for name in names}
    )
    print(
        f"attacked   {row:20} n={len(samples)} {cost.requests:6.0f} answers  "
        f"p50 {cost.p50_ms:6.2f}  p99 {cost.p99_ms:6.2f}  max {cost.max_ms:6.1f} ms  "
        f"memory +{cost.added_mb:.0f} MB",
        flush=True,
    )
    return cost


def _head(target: str, attack: str) -> str:
    """Return a request of the sender, without its end."""
    shown = f"\r\nauthorization: Bearer {_TOKEN}" if attack == "with a token" else ""
    return f"GET {target} HTTP/1.1\r\nhost: localhost{shown}"


def _ask(
    port: int, target: str, seconds: float, pid: int | None = None
) -> tuple[list[float], float]:
    """Send one request after another; return their sorted seconds, and the peak memory seen."""
    took: list[float] = []
    most, looked = 0.0, 0.0
    client = HTTPConnection("127.0.0.1", port, timeout=60)
    until = time.perf_counter() + seconds
    while (begun := time.perf_counter()) < until:
        client.request("GET", target, headers={"authorization": f"Bearer {_TOKEN}"})
        answer = client.getresponse()
        body = answer.read()
        took.append(time.perf_counter() - begun)
        if answer.status != 200:
            message = f"the other client got {answer.status}: {body[:200]!r}"
            raise SideError(message)
        if pid is not None and begun - looked > _LOOK_S:
            looked = begun
            most = max(most, process_tree.resident_mb(pid))
    client.close()
    return sorted(took), most


@contextmanager
def _server() -> Iterator[tuple[int, int]]:
    """Start a server that requires a token; yield its port and process id."""
    port = free_port()
    command = [sys.executable, *server_command("memory", 128, port), _TOKEN]
    process = subprocess.Popen(command, stderr=subprocess.DEVNULL)
    try:
        awaited_port(port, process)
        yield port, process.pid
    finally:
        ended(process)


@contextmanager
def _attacking(attack: Attack, name: str) -> Iterator[None]:
    """Run the sender during the block.

    Raises:
        SideError: the sender exited by itself.
    """
    if name == "none":
        yield
        return
    sender = subprocess.Popen([sys.executable, __file__, json.dumps(asdict(attack))])
    try:
        time.sleep(_SETTLE_S)
        yield
        if sender.poll() is not None:
            message = f"the sender exited with {sender.returncode}"
            raise SideError(message)
    finally:
        ended(sender)


def _send(attack: Attack) -> None:
    """Send on all connections until the process is killed."""
    data = f"{attack.head}\r\n\r\n".encode() * _PIPELINED
    waiting = select.epoll()
    sent: dict[int, tuple[socket.socket, int]] = {}

    def opened() -> None:
        found = socket.create_connection(("127.0.0.1", attack.port), timeout=60)
        found.setblocking(False)
        sent[found.fileno()] = found, 0
        waiting.register(found, select.EPOLLOUT | select.EPOLLRDHUP)

    for _ in range(_CONNECTIONS):
        opened()
    while True:
        for number, event in waiting.poll(1.0):
            found, at = sent[number]
            try:
                if event & ~select.EPOLLOUT:
                    raise ConnectionError
                sent[number] = found, (at + found.send(data[at:])) % len(data)
            except BlockingIOError:
                continue
            except OSError:
                waiting.unregister(found)
                del sent[number]
                found.close()
                opened()


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parents[1]))
    with suppress(KeyboardInterrupt):
        _send(Attack(**json.loads(sys.argv[1])))
