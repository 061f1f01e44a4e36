"""A closed-loop HTTP client for every server: N connections, each with one request at a time.

`python bench/load_client.py JSON` reads its settings, `Load` as JSON, and prints one JSON line,
`Answered`. It is a separate process with sockets, epoll and prebuilt requests, so that it takes
little of the cores that it shares with the server. Every response must be a 200 that contains the
requested file id; some are kept and checked completely after the measurement.
"""

from __future__ import annotations

import json
import random
import select
import socket
import sys
import time
from array import array
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import cycle
from pathlib import Path
from urllib.parse import quote

__all__ = ["Answered", "Load", "main", "run"]

PAIRS = 100_000
"""Number of different requests; they are repeated in turn."""
_READ_BYTES = 1 << 16
"""Below the size at which the C library allocates from the system each time."""
_KEPT_EVERY, _KEPT_MOST = 97, 1_000
_PATIENCE_S = 60.0
_HEAD_END = b"\r\n\r\n"
_LENGTH = b"\r\ncontent-length:"
_WARM_UP_SEED = 1 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Load:
    """The requests to send.

    Attributes:
        port: of the server, on this machine.
        target: path and query, to which `&partition=…` and `&fileid=…` are added.
        pairs: file with a partition path, a tab and a file id in each line.
        connections: number of concurrent connections.
        seconds: duration; 0 requests each pair once, in the order of the file, without a warm-up.
        warm_up_s: unmeasured seconds before.
        seed: of the random order of pairs.
    """

    port: int
    target: str
    pairs: str
    connections: int = 1
    seconds: float = 0.0
    warm_up_s: float = 0.0
    seed: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Answered:
    """The result of a load.

    Attributes:
        requests: responses received in the time, right and wrong.
        seconds: wall time.
        rate: responses per second.
        p50_us: median latency, in microseconds, from sending a request to its response's last byte.
        p99_us: 99th percentile of the latency.
        max_us: maximum latency.
        body_bytes: bytes of all response bodies.
        errors: responses that are not 200 or lack the file id.
        wrong: kept responses with wrong content.
        kept: responses that were checked completely.
        client_us: microseconds of this process's CPU time per request.
    """

    requests: int
    seconds: float
    rate: float
    p50_us: float
    p99_us: float
    max_us: float
    body_bytes: int
    errors: int
    wrong: int
    kept: int
    client_us: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """One request as bytes, and the file id that its response must contain."""

    partition: str
    file_id: str
    sent: bytes
    named: bytes


class Connection:
    """One keep-alive connection, with at most one pending request."""

    def __init__(self, port: int) -> None:
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=_PATIENCE_S)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.socket.setblocking(False)
        self.receive, self.send = self.socket.recv, self.socket.sendall
        self.asked: Request | None = None
        self.sent_ns = 0
        self.held = b""


class Tally:
    """The responses so far."""

    def __init__(self) -> None:
        self.took_ns = array("q")
        self.body_bytes = 0
        self.errors = 0
        self.kept: list[tuple[Request, bytes]] = []

    def add(self, asked: Request, answer: bytes, body_at: int, took_ns: int) -> None:
        """Count one complete response."""
        self.took_ns.append(took_ns)
        self.body_bytes += len(answer) - body_at
        if asked.named not in answer or not answer.startswith(b"HTTP/1.1 200"):
            self.errors += 1
        if not len(self.took_ns) % _KEPT_EVERY and len(self.kept) < _KEPT_MOST:
            self.kept.append((asked, answer))


def main(settings: str) -> None:
    """Run one load and print the result."""
    print(json.dumps(asdict(run(Load(**json.loads(settings))))))


def run(load: Load) -> Answered:
    """Send requests for the given time, or each pair once, and return the result.

    Raises:
        OSError: the server cannot be reached, or closed the connection.
        TimeoutError: the server sent nothing for a minute.
    """
    pairs = [line.split("\t") for line in Path(load.pairs).read_text().splitlines()]
    connections = [Connection(load.port) for _ in range(load.connections)]
    if load.warm_up_s:
        before = cycle(_requests(_shuffled(pairs, load.seed + _WARM_UP_SEED), load))
        _ask(connections, before, load.warm_up_s)
    made = _requests(_shuffled(pairs, load.seed) if load.seconds else pairs, load)
    cpu_s, begun = time.process_time(), time.perf_counter()
    tally = _ask(connections, cycle(made) if load.seconds else iter(made), load.seconds)
    seconds, cpu_s = time.perf_counter() - begun, time.process_time() - cpu_s
    for each in connections:
        each.socket.close()
    return _answered(tally, seconds, cpu_s)


def _shuffled(pairs: Sequence[list[str]], seed: int) -> Sequence[list[str]]:
    """Return some of the pairs in random order."""
    chance = random.Random(seed)  # noqa: S311 - a load must be reproducible
    return chance.sample(pairs, min(PAIRS, len(pairs)))


def _requests(pairs: Sequence[list[str]], load: Load) -> list[Request]:
    """Return the requests for the pairs, as bytes."""
    head = f"GET {load.target}&partition="
    tail = f" HTTP/1.1\r\nHost: 127.0.0.1:{load.port}\r\nAccept: */*\r\n\r\n"
    return [
        Request(
            partition=partition,
            file_id=file_id,
            sent=f"{head}{quote(partition, safe='')}&fileid={file_id}{tail}".encode(),
            named=file_id.encode(),
        )
        for partition, file_id in pairs
    ]


def _ask(connections: Sequence[Connection], requests: Iterator[Request], seconds: float) -> Tally:
    """Keep all connections busy until the time is over or all pairs were requested."""
    tally = Tally()
    by_number = {each.socket.fileno(): each for each in connections}
    until = time.perf_counter_ns() + int(seconds * 1e9) if seconds else sys.maxsize
    with select.epoll() as poll:
        for number in by_number:
            poll.register(number, select.EPOLLIN)
        waiting = sum(_send(each, requests) for each in connections)
        while waiting:
            ready = poll.poll(_PATIENCE_S)
            if not ready:
                raise TimeoutError
            for number, _ in ready:
                if not _receive(by_number[number], tally):
                    continue
                more = time.perf_counter_ns() < until and _send(by_number[number], requests)
                waiting -= not more
    return tally


def _send(connection: Connection, requests: Iterator[Request]) -> bool:
    """Send the next request; return False if there is none."""
    asked = next(requests, None)
    connection.asked = asked
    if asked is None:
        return False
    connection.sent_ns = time.perf_counter_ns()
    connection.send(asked.sent)
    return True


def _receive(connection: Connection, tally: Tally) -> bool:
    """Read available bytes; return whether the response is complete."""
    read = connection.receive(_READ_BYTES)
    if not read or connection.asked is None:
        raise ConnectionResetError
    answer = connection.held + read if connection.held else read
    body_at, ends_at = _extent(answer)
    if not ends_at or len(answer) < ends_at:
        connection.held = answer
        return False
    connection.held = b""
    tally.add(connection.asked, answer, body_at, time.perf_counter_ns() - connection.sent_ns)
    return True


def _extent(answer: bytes) -> tuple[int, int]:
    """Return start and end of a response's body; (0, 0) while unknown."""
    head_ends = answer.find(_HEAD_END)
    if head_ends < 0:
        return 0, 0
    body_at = head_ends + len(_HEAD_END)
    head = answer[:body_at].lower()
    at = head.find(_LENGTH)
    if at < 0:
        return body_at, _chunks_end(answer, body_at)
    at += len(_LENGTH)
    return body_at, body_at + int(head[at : head.index(b"\r\n", at)])


def _chunks_end(answer: bytes, at: int) -> int:
    """Return the end of the last chunk, 0 if it has not arrived."""
    while (line_ends := answer.find(b"\r\n", at)) >= 0:
        size = int(answer[at:line_ends].partition(b";")[0], 16)
        at = line_ends + 2 + size + 2
        if not size:
            return at
    return 0


def _answered(tally: Tally, seconds: float, cpu_s: float) -> Answered:
    """Return the result, after checking the kept responses."""
    took = sorted(tally.took_ns)
    count = len(took)
    return Answered(
        requests=count,
        seconds=seconds,
        rate=count / seconds,
        p50_us=took[count // 2] / 1e3,
        p99_us=took[count * 99 // 100] / 1e3,
        max_us=took[-1] / 1e3,
        body_bytes=tally.body_bytes,
        errors=tally.errors,
        wrong=sum(not _is_right(asked, answer) for asked, answer in tally.kept),
        kept=len(tally.kept),
        client_us=cpu_s / count * 1e6,
    )


def _is_right(asked: Request, answer: bytes) -> bool:
    """Return whether a response has slices of the partition, including the group's."""
    body_at, _ = _extent(answer)
    chunked = b"transfer-encoding: chunked" in answer[:body_at].lower()
    body = _joined(answer, body_at) if chunked else answer[body_at:]
    slices = json.loads(body)
    partitions = {each["partition"] for each in slices}
    return partitions == {asked.partition} and asked.file_id in {each["fileId"] for each in slices}


def _joined(answer: bytes, at: int) -> bytes:
    """Return a chunked body as a whole."""
    parts = []
    while True:
        line_ends = answer.index(b"\r\n", at)
        size = int(answer[at:line_ends].partition(b";")[0], 16)
        if not size:
            return b"".join(parts)
        parts.append(answer[line_ends + 2 : line_ends + 2 + size])
        at = line_ends + 2 + size + 2


if __name__ == "__main__":
    main(*sys.argv[1:])
