"""Lakestrap's timeline service beside Apache Hudi's, on 250,000 file groups in 3,500 partitions.

The same requests by the same client, from 1, 8 and 32 connections: each partition once on a new
server, then single look-ups on one with all partitions loaded; batches of a thousand groups against
as many single look-ups; memory; the stores; the first response after a commit, on two sizes of
table; Spark tasks that hold all groups; writers that send markers; and one client's latency, with
the server's memory, while forty connections pipeline and never read.
Sides alternate; figures are medians of the runs. Client and server share the cores. Every response
must contain the requested groups.
The last line is one JSON object `{bench, ratios, targets, missed}`.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from typing import Any, TypeVar

from attacked import ATTACKS, attacked, print_attacked
from carried import carried
from contest import read_options, start_side
from grouped import GroupedTable, grouped_table
from marked import marked, print_marked
from report import finish
from served import FREE, ONE_CORE, TWO_CORES, LoadCost, Place, Served, print_load, serving
from side_process import Side, SideError
from side_timeline_ours import SERVICE
from targets import TIMELINE_TARGETS

__all__ = ["main"]

SIDES = ("ours", "hudi")
STORES = ("memory", "spillable", "embedded_kv")
_MANY = 8
"""Connections of loads that only warm up."""

Costs = dict[tuple[str, str], Any]
Cost = TypeVar("Cost")


@dataclass(frozen=True, slots=True, kw_only=True)
class Contest:
    """The sides and the table of a contest."""

    sides: Mapping[str, Side]
    table: GroupedTable
    options: argparse.Namespace

    @property
    def connections(self) -> list[int]:
        """Numbers of concurrent connections."""
        return [int(each) for each in self.options.connections.split(",")]

    def on_new_servers(self, load: Callable[[Served], Cost]) -> dict[str, list[Cost]]:
        """Return the cost of a load on servers with empty views, a new one for each run."""
        found: dict[str, list[Cost]] = {name: [] for name in self.sides}
        for _ in range(self.options.runs):
            for name, side in self.sides.items():
                with serving(side, "memory", self.options.bound_mb) as server:
                    found[name].append(load(server))
        return found

    def loaded(self, stack: ExitStack, side: str, store: str = "memory") -> Served:
        """Return a warmed-up server with all partitions loaded."""
        server = stack.enter_context(serving(self.sides[side], store, self.options.bound_mb))
        server.touch(self.table, _MANY)
        server.look_up(self.table, seconds=self.options.warm_up, connections=_MANY)
        return server


@dataclass(frozen=True, slots=True, kw_only=True)
class Batched:
    """Groups answered per second."""

    rate: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Resident:
    """Megabytes of a server without partitions, with all of them, and after look-ups."""

    idle_mb: float
    loaded_mb: float
    end_mb: float


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreCost:
    """Warm look-ups from one connection, and memory; `of_bound` is relative to the limit."""

    p50_us: float
    p99_us: float
    loaded_mb: float
    of_bound: float


@dataclass(frozen=True, slots=True, kw_only=True)
class SyncCost:
    """Milliseconds of the first response after a commit; seconds to load all partitions then."""

    first_ms: float
    again_s: float


def main() -> int:
    """Run the bench; return 1 with `--check` if a target is missed."""
    options = _options()
    table = grouped_table(options.groups, options)
    print(f"{table.groups} groups in {table.partitions} partitions: {table.path}", flush=True)
    costs: Costs = {}
    with ExitStack() as stack:
        names = [name for name in options.sides.split(",") if _is_there(name)]
        sides = {
            name: stack.enter_context(start_side(f"timeline_{name}", options)) for name in names
        }
        for part in options.part.split(","):
            costs |= PARTS[part](Contest(sides=sides, table=table, options=options))
    ratios = {t.name: t.ratio(costs) for t in TIMELINE_TARGETS if t.applies(costs, 1)}
    missed = finish("timeline_service", ratios, TIMELINE_TARGETS)
    return int(bool(missed) and options.check)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--part", default=",".join(PARTS), help="comma-separated parts")
    parser.add_argument("--sides", default=",".join(SIDES), help="comma-separated sides")
    parser.add_argument("--runs", type=int, default=3, help="measured runs of each row")
    parser.add_argument("--connections", default="1,8,32", help="comma-separated numbers")
    parser.add_argument(
        "--seconds", type=float, default=5.0, help="seconds of each load of look-ups"
    )
    parser.add_argument("--warm-up", type=float, default=20.0, help="seconds of warm-up look-ups")
    parser.add_argument("--groups", type=int, default=250_000, help="file groups of the table")
    parser.add_argument(
        "--small", type=int, default=2_500, help="file groups of the small table of `sync`"
    )
    parser.add_argument("--bound-mb", type=int, default=128, help="memory of `spillable`")
    parser.add_argument("--tasks", type=int, default=16, help="Spark tasks in `closure`")
    return read_options(parser)


def _is_there(side: str) -> bool:
    """Return whether a side can be measured."""
    there = side != "ours" or find_spec(SERVICE) is not None
    if not there:
        print(f"{SERVICE} is missing: our side is skipped", flush=True)
    return there


def _touch(contest: Contest) -> Costs:
    """Return the cost of loading all partitions on new servers."""
    costs: Costs = {}
    for number in contest.connections:
        found = contest.on_new_servers(
            partial(Served.touch, table=contest.table, connections=number)
        )
        costs |= _rows("touch", {f"{name} {number}": each for name, each in found.items()})
    for name, side in contest.sides.items():
        with serving(side, "memory", contest.options.bound_mb) as server:
            seconds, _ = server.timed("loadallpartitions/", contest.table, method="POST")
            print(f"touch      {name} loadallpartitions/ {seconds:.2f} s", flush=True)
    return costs


def _look_up(contest: Contest) -> Costs:
    """Return the cost of single look-ups on servers with all partitions loaded."""
    costs: Costs = {}
    with ExitStack() as stack:
        servers = {name: contest.loaded(stack, name) for name in contest.sides}
        for number in contest.connections:
            for place in (FREE, TWO_CORES, ONE_CORE) if number == 1 else (FREE,):
                costs |= _rows("lookups", _placed(contest, servers, number, place))
    return costs


def _placed(
    contest: Contest, servers: Mapping[str, Served], connections: int, place: Place
) -> dict[str, list[LoadCost]]:
    """Return the costs of loads at a place, by row."""
    found: dict[str, list[LoadCost]] = {
        f"{name} {connections} {place.name}": [] for name in servers
    }
    for run in range(contest.options.runs):
        for row, server in zip(found, servers.values(), strict=True):
            with server.at(place):
                found[row].append(_once(contest, server, connections, run))
    return found


def _once(contest: Contest, server: Served, connections: int, seed: int) -> LoadCost:
    """Return the cost of one load of look-ups."""
    seconds = contest.options.seconds
    return server.look_up(contest.table, seconds=seconds, connections=connections, seed=seed)


def _rows(part: str, found: Mapping[str, list[LoadCost]]) -> Costs:
    return {(part, row): print_load(part, row, samples) for row, samples in found.items()}


def _batch(contest: Contest) -> Costs:
    """Return groups answered per second: ours in batches, Apache Hudi's one by one."""
    rates: dict[str, list[float]] = {name: [] for name in contest.sides}
    with ExitStack() as stack:
        servers = {name: contest.loaded(stack, name) for name in contest.sides}
        for run in range(contest.options.runs):
            for name, server in servers.items():
                if name == "ours":
                    rates[name].append(_batches(contest, server))
                else:
                    rates[name].append(_once(contest, server, 1, run).rate)
    for name, each in rates.items():
        print(f"batches    {name:20} n={len(each)} {statistics.median(each):8.0f} groups/s")
    return {
        ("batches", name): Batched(rate=statistics.median(each)) for name, each in rates.items()
    }


def _batches(contest: Contest, server: Served) -> float:
    """Return groups per second of our client, decoded to slices, a thousand per request."""
    found = server.side.run(
        "batches",
        port=server.port,
        table=str(contest.table.path),
        pairs=str(contest.table.pairs),
        size=1_000,
        seconds=contest.options.seconds,
    ).value
    print(
        f"batches    of 1,000: p50 {found['p50_ms']:.1f}, max {found['max_ms']:.1f} ms", flush=True
    )
    rate: float = found["rate"]
    return rate


def _memory(contest: Contest) -> Costs:
    """Return the servers' resident memory; print the cost of the whole table in one response."""
    costs: Costs = {}
    for name, side in contest.sides.items():
        with serving(side, "memory", contest.options.bound_mb) as server:
            idle_mb = server.resident_mb()
            server.touch(contest.table)
            loaded_mb = server.resident_mb()
            _once(contest, server, _MANY, 0)
            end_mb = server.resident_mb()
            cost = Resident(idle_mb=idle_mb, loaded_mb=loaded_mb, end_mb=end_mb)
            print(
                f"memory     {name:20} resident MB: idle {idle_mb:.0f}, loaded {loaded_mb:.0f}, "
                f"after look-ups {end_mb:.0f}",
                flush=True,
            )
            _whole(name, server, contest.table)
            _print_heap(name, side)
            costs["memory", name] = cost
    return costs


def _print_heap(name: str, side: Side) -> None:
    """Print a JVM's heap without garbage, which is less than its resident memory."""
    if name == "hudi":
        print(
            f"memory     {name:20} heap without garbage {side.run('heap').value:.0f} MB", flush=True
        )


def _whole(name: str, server: Served, table: GroupedTable) -> None:
    """Print the cost of requesting all base files at once, three times."""
    asked = [server.timed("datafiles/all/latest/", table) for _ in range(3)]
    took = ", ".join(f"{seconds:.2f}" for seconds, _ in asked)
    print(
        f"memory     {name:20} datafiles/all/latest/ {took} s, {asked[0][1] / 1e6:.1f} MB, "
        f"then resident {server.resident_mb():.0f} MB",
        flush=True,
    )


def _stores(contest: Contest) -> Costs:
    """Return the cost of each store: warm look-ups from one connection, and memory."""
    costs: Costs = {}
    for store in STORES:
        for name in contest.sides:
            with ExitStack() as stack:
                server = contest.loaded(stack, name, store)
                loaded_mb = server.resident_mb()
                found = [_once(contest, server, 1, run) for run in range(contest.options.runs)]
                cost = print_load("stores", f"{name} {store}", found)
                loaded_mb = max(loaded_mb, server.resident_mb())
            print(f"stores     {name} {store}: resident {loaded_mb:.0f} MB", flush=True)
            costs["stores", f"{name} {store}"] = StoreCost(
                p50_us=cost.p50_us,
                p99_us=cost.p99_us,
                loaded_mb=loaded_mb,
                of_bound=loaded_mb / contest.options.bound_mb,
            )
    return costs


def _sync(contest: Contest) -> Costs:
    """Return the cost of the first response after a commit, on the table and on a small one."""
    costs: Costs = {}
    small = grouped_table(contest.options.small, contest.options)
    for size, table in (("small", small), ("large", contest.table)):
        each_size = Contest(sides=contest.sides, table=table, options=contest.options)
        for name in contest.sides:
            with ExitStack() as stack:
                stack.callback(table.remove_commits)
                costs["sync", f"{name} {size}"] = _synced(each_size, name, stack)
    return costs


def _synced(contest: Contest, name: str, stack: ExitStack) -> SyncCost:
    """Add commits one after another, and request the changed group each time."""
    server = contest.loaded(stack, name)
    pairs = contest.table.some_pairs(max(1, contest.table.groups // contest.options.runs))
    first = []
    for partition, file_id in pairs[: contest.options.runs]:
        instant = contest.table.add_commit(partition, file_id)
        first.append(server.look_up_one(contest.table, partition, file_id).p50_us / 1e3)
        _expect_commit(server, contest.table, (partition, file_id), instant)
    again_s = server.touch(contest.table).seconds
    cost = SyncCost(first_ms=statistics.median(first), again_s=again_s)
    print(
        f"sync       {name:6} {contest.table.groups:6} groups n={len(first)} first answer "
        f"{cost.first_ms:8.2f} ms [{min(first):.2f}-{max(first):.2f}], all partitions again "
        f"{again_s:6.2f} s",
        flush=True,
    )
    return cost


def _expect_commit(
    server: Served, table: GroupedTable, pair: tuple[str, str], instant: str
) -> None:
    """Raise unless the latest slice of a group is that of the commit."""
    more = f"&partition={pair[0]}&fileid={pair[1]}"
    slices = json.loads(server.ask("slices/file/latest/", table, more))
    if [each["baseInstant"] for each in slices] != [instant]:
        message = f"{pair} is not as of {instant}: {slices}"
        raise SideError(message)


def _carry(contest: Contest) -> Costs:
    """Return the cost of Spark tasks that hold the groups, or request them."""
    with ExitStack() as stack:
        port = contest.loaded(stack, "ours").port if "ours" in contest.sides else 0
        found = carried(contest.table, contest.options, port)
    return {("closure", way): cost for way, cost in found.items()}


def _marked(contest: Contest) -> Costs:
    """Return markers stored per second, each durable when acknowledged."""
    costs: Costs = {}
    for number in contest.connections:
        load = partial(
            marked, table=contest.table.path, writers=number, seconds=contest.options.seconds
        )
        found = contest.on_new_servers(load)
        for name, samples in found.items():
            costs["markers", f"{name} {number}"] = print_marked(f"{name} {number}", samples)
    return costs


def _attacked(contest: Contest) -> Costs:
    """Return one client's latency while forty connections send and never read."""
    costs: Costs = {}
    for attack in ATTACKS if "ours" in contest.sides else ():
        found = [
            attacked(contest.table, attack, contest.options.seconds)
            for _ in range(contest.options.runs)
        ]
        costs["attacked", attack] = print_attacked(attack, found)
    return costs


PARTS: Mapping[str, Callable[[Contest], Costs]] = {
    "touch": _touch,
    "lookups": _look_up,
    "batches": _batch,
    "memory": _memory,
    "stores": _stores,
    "sync": _sync,
    "closure": _carry,
    "markers": _marked,
    "attacked": _attacked,
}


if __name__ == "__main__":
    sys.exit(main())
