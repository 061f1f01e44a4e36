"""A timeline service under load: requests of a bench, and their cost."""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from urllib.request import Request, urlopen

import process_tree
from grouped import GroupedTable
from load_client import Answered, Load
from side_process import Side, SideError

__all__ = [
    "FREE",
    "ONE_CORE",
    "TWO_CORES",
    "LoadCost",
    "Place",
    "Served",
    "median_load",
    "print_load",
    "serving",
]

VIEW = "/v1/hoodie/view/"
ONE_GROUP, ONE_PARTITION = "slices/file/latest/", "slices/partition/latest/"
_PATIENCE_S = 600.0


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadCost:
    """Cost of one load; times in microseconds, `server_us` is CPU time per response."""

    requests: int
    seconds: float
    rate: float
    p50_us: float
    p99_us: float
    max_us: float
    client_us: float
    server_us: float


@dataclass(frozen=True, slots=True)
class Place:
    """The cores of server and client, as indices into those of this process.

    Attributes:
        name: suffix of the row's name.
        server: core of the server; None: all.
        client: core of the client; None: all.
    """

    name: str
    server: int | None
    client: int | None


FREE = Place("free", None, None)
ONE_CORE = Place("one core", 0, 0)
TWO_CORES = Place("two cores", 0, 1)
"""With one connection, server and client alternate. On separate cores, each core sleeps in between,
and waking a virtual core costs more than a response; so rows name their placement."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Served:
    """A running server in a separate process."""

    side: Side
    port: int
    pid: int

    def resident_mb(self) -> float:
        """Return the current resident memory of the server's process."""
        return process_tree.resident_mb(self.pid)

    def touch(self, table: GroupedTable, connections: int = 1) -> LoadCost:
        """Request the latest slices of each partition once."""
        target = f"{VIEW}{ONE_PARTITION}?{table.query()}"
        asked = Load(
            port=self.port, target=target, pairs=str(table.firsts), connections=connections
        )
        return self._under(asked)

    def look_up(
        self, table: GroupedTable, *, seconds: float, connections: int = 1, seed: int = 0
    ) -> LoadCost:
        """Request the latest slices of one group after another, repeatedly."""
        asked = Load(
            port=self.port,
            target=f"{VIEW}{ONE_GROUP}?{table.query()}",
            pairs=str(table.pairs),
            connections=connections,
            seconds=seconds,
            seed=seed,
        )
        return self._under(asked)

    @contextmanager
    def at(self, place: Place) -> Iterator[None]:
        """Pin the server, and clients started meanwhile, to the cores of a place."""
        cores = sorted(os.sched_getaffinity(0))
        try:
            process_tree.pin(self.pid, _chosen(cores, place.server))
            os.sched_setaffinity(0, _chosen(cores, place.client))
            yield
        finally:
            os.sched_setaffinity(0, cores)
            process_tree.pin(self.pid, cores)

    def look_up_one(self, table: GroupedTable, partition: str, file_id: str) -> LoadCost:
        """Request the latest slice of one group once."""
        with tempfile.NamedTemporaryFile("w", suffix=".tsv") as pairs:
            pairs.write(f"{partition}\t{file_id}\n")
            pairs.flush()
            target = f"{VIEW}{ONE_GROUP}?{table.query()}"
            return self._under(Load(port=self.port, target=target, pairs=pairs.name))

    def ask(self, route: str, table: GroupedTable, more: str = "", method: str = "GET") -> bytes:
        """Return the body of one response."""
        url = f"http://127.0.0.1:{self.port}{VIEW}{route}?{table.query()}{more}"
        asked = Request(url, method=method)
        with urlopen(asked, timeout=_PATIENCE_S) as answer:  # noqa: S310 - the scheme is written above
            body: bytes = answer.read()
            return body

    def timed(self, route: str, table: GroupedTable, method: str = "GET") -> tuple[float, int]:
        """Return the seconds until a response is complete, and its bytes."""
        begun = time.perf_counter()
        size = len(self.ask(route, table, method=method))
        return time.perf_counter() - begun, size

    def _under(self, load: Load) -> LoadCost:
        """Run the client and return the cost.

        Raises:
            SideError: a response was wrong.
        """
        client = str(Path(__file__).with_name("load_client.py"))
        command = [sys.executable, client, json.dumps(asdict(load))]
        before = process_tree.cpu_s(self.pid)
        done = subprocess.run(command, check=True, stdout=subprocess.PIPE)
        cpu_s = process_tree.cpu_s(self.pid) - before
        found = Answered(**json.loads(done.stdout))
        if found.errors or found.wrong:
            message = f"{found.errors} errors and {found.wrong} wrong responses to {load}"
            raise SideError(message)
        kept = {each.name for each in fields(LoadCost)} & set(asdict(found))
        measured = {name: getattr(found, name) for name in kept}
        return LoadCost(**measured, server_us=cpu_s / found.requests * 1e6)


def _chosen(cores: Sequence[int], number: int | None) -> Sequence[int]:
    """Return one of the cores, or all."""
    return cores if number is None else [cores[number % len(cores)]]


@contextmanager
def serving(side: Side, store: str, bound_mb: int) -> Iterator[Served]:
    """Start a side's server with an empty view, and stop it afterwards."""
    address = side.run("serve", store=store, bound_mb=bound_mb).value
    try:
        yield Served(side=side, port=address["port"], pid=address["pid"])
    finally:
        side.run("stop")


def median_load(samples: Sequence[LoadCost]) -> LoadCost:
    """Return the medians of each figure."""
    names = [each.name for each in fields(LoadCost)]
    found = {name: statistics.median(getattr(each, name) for each in samples) for name in names}
    return LoadCost(**{**found, "requests": int(found["requests"])})


def print_load(part: str, row: str, samples: Sequence[LoadCost]) -> LoadCost:
    """Print a row of medians, and return them."""
    cost = median_load(samples)
    rates = [each.rate for each in samples]
    print(
        f"{part:10} {row:20} n={len(samples)} {cost.seconds:7.2f} s  "
        f"{cost.rate:8.0f}/s [{min(rates):.0f}-{max(rates):.0f}]  "
        f"p50 {cost.p50_us:8.0f}  p99 {cost.p99_us:8.0f}  max {cost.max_us:8.0f} us  "
        f"server {cost.server_us:7.1f}  client {cost.client_us:5.1f} us CPU",
        flush=True,
    )
    return cost
