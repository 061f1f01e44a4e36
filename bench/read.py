"""Reads side by side, on one adopted table: Lakestrap, Apache Hudi's reader, plain Spark.

Plain Spark reads the source files. All sides run the same Spark release, warm and alternating;
five warm-ups of each query are dropped. Queries of less than a second run three times as often,
since CPU time has a resolution of ten milliseconds. Planning is timed separately: from the call
that makes the frame to the query's physical plan. The last line is one JSON object
`{bench, ratios, targets, missed}`.
"""

from __future__ import annotations

import argparse
import shutil
import statistics
import sys
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass

from contest import JUDGE, read_options, start_side
from datasets import DataSet, prepare
from queries import QUERIES
from report import finish
from side_process import Side, SideError
from targets import READ_TARGETS

__all__ = ["main"]

SIDES = ("plain", "ours", "hudi")
_WARM_UPS = 5
_SHORT_S = 1.0
_MORE = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadCost:
    """Medians of one query on one side, without opening; planning is separate."""

    wall_s: float
    cpu_s: float
    planning_s: float


def main() -> int:
    """Run the bench; return 1 with `--check` if a target is missed."""
    options = _options()
    costs: dict[tuple[str, str], ReadCost] = {}
    for name in options.sets.split(","):
        source = prepare(name, scale=options.scale, data_dir=options.data)
        costs |= {(name, row): cost for row, cost in _bench(source, options)}
    ratios = {t.name: t.ratio(costs) for t in READ_TARGETS if t.applies(costs, options.scale)}
    missed = finish("read", ratios, READ_TARGETS)
    return int(bool(missed) and options.check)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sets", default="lineitem,tiny-100,tiny-10000,tiny-100000")
    parser.add_argument("--scale", type=int, default=1, help="TPC-H scale of lineitem")
    parser.add_argument(
        "--runs", type=int, default=5, help="measured runs of each query of a second or more"
    )
    parser.add_argument("--sides", default=",".join(SIDES))
    return read_options(parser, ours=JUDGE)


def _bench(source: DataSet, options: argparse.Namespace) -> Iterator[tuple[str, ReadCost]]:
    """Yield the cost of each query on each side, as rows `<side> <query>`."""
    tiny = source.name.startswith("tiny")
    names = [side for side in options.sides.split(",") if not (tiny and side == "hudi")]
    with ExitStack() as stack:
        sides = {name: stack.enter_context(start_side(name, options)) for name in names}
        locations = _locations(sides, source, options)
        for query in ("plan",) if tiny else ("plan", *QUERIES):
            for side, cost in _contest(sides, locations, source, query, options.runs):
                print(
                    f"{source.name:14} {side:6} {query:15} wall {cost.wall_s:7.3f} s  "
                    f"cpu {cost.cpu_s:7.3f} s  planning {cost.planning_s:6.3f} s",
                    flush=True,
                )
                yield f"{side} {query}", cost


def _locations(
    sides: Mapping[str, Side], source: DataSet, options: argparse.Namespace
) -> dict[str, str]:
    """Adopt the source once, and return the location that each side reads."""
    table = options.work / "targets" / f"read-{source.name}"
    shutil.rmtree(table, ignore_errors=True)
    table.parent.mkdir(parents=True, exist_ok=True)
    if "ours" in sides:
        facts = source.facts()
        sides["ours"].run("bootstrap", **{**facts, "target": str(table), "variant": "none"})
    return {side: str(source.path if side == "plain" else table) for side in sides}


def _contest(
    sides: Mapping[str, Side],
    locations: Mapping[str, str],
    source: DataSet,
    query: str,
    runs: int,
) -> Iterator[tuple[str, ReadCost]]:
    """Yield each side's medians for one query; results must agree."""
    samples: dict[str, list[ReadCost]] = {side: [] for side in sides}
    answers: dict[str, object] = {}
    first, left = next(iter(samples)), _WARM_UPS + runs
    while left:
        left -= 1
        for side, process in sides.items():
            sample, answers[side] = _sample(process, locations[side], source, query)
            samples[side].append(sample)
        if len(samples[first]) == _WARM_UPS and samples[first][-1].wall_s < _SHORT_S:
            left += runs * (_MORE - 1)
    if len(set(map(str, answers.values()))) > 1:
        message = f"{source.name} {query}: the sides disagree: {answers}"
        raise SideError(message)
    for side, measured in samples.items():
        yield side, _median(measured[_WARM_UPS:])


def _sample(process: Side, location: str, source: DataSet, query: str) -> tuple[ReadCost, object]:
    point = " and ".join(f"{name} = {value}" for name, value in source.point.items())
    facts = {"measure": source.measure, "keys": list(source.keys), "where": point}
    planning: float = process.run("open", location=location, name=query, **facts).value
    measured = process.run("query", name=query)
    cost = ReadCost(wall_s=measured.wall_s, cpu_s=measured.cpu_s, planning_s=planning)
    return cost, measured.value


def _median(measured: list[ReadCost]) -> ReadCost:
    return ReadCost(
        wall_s=statistics.median(sample.wall_s for sample in measured),
        cpu_s=statistics.median(sample.cpu_s for sample in measured),
        planning_s=statistics.median(sample.planning_s for sample in measured),
    )


if __name__ == "__main__":
    sys.exit(main())
