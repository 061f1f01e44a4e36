"""Cost of the gate's uniqueness proof compared with counting: lineitem's composite key.

The same rows in two arrangements: shuffled, so that each file's keys range over all keys and all
must be hashed, spilled and compared; and ordered, where order and ranges prove them. Plain Spark
groups by the key, Great Expectations checks that it is unique (`persist=False`), polars streams,
DuckDB groups. Folders are opened (planned, listed) beforehand. Warm processes alternate; figures
are medians of the runs. Then duplicates are planted and compared with the findings, and the memory
of a task is measured at two scales. Ratios are of wall time.
The part `checks` measures the cost of ten row checks on top of writes.
The last line is one JSON object `{bench, ratios, targets, missed}`.
"""

from __future__ import annotations

import argparse
import shutil
import statistics
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

from arranged import ARRANGEMENTS, arranged, planted
from checked import checked_writes, wrong_checks
from contest import read_options, start_side
from datasets import DataSet, prepare
from report import finish
from side_process import Measured, Side
from targets import AUDIT_TARGETS

__all__ = ["main"]

CONTENDERS = {
    "ours": ("proofs", "unique"),
    "groupby": ("counting", "unique"),
    "gx": ("counting", "expect"),
    "polars": ("polars", "unique"),
    "duckdb": ("duckdb", "unique"),
}
"""(Side, action) by name of the row."""
PLANTED = {
    "one pair": ("shuffled", 1, 2),
    "1,000 pairs": ("shuffled", 1_000, 2),
    "one key a million times": ("shuffled", 1, 1_000_000),
    "one pair among ordered files": ("ordered", 1, 2),
}
"""(Arrangement, groups, rows of each) by name of the case."""
_WARM_UPS = 2
_SMALL_SCALE = 1

Costs = dict[tuple[str, str], Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class ProofCost:
    """Medians of one contender, and its highest peaks; `task_mb` as in `Measured`."""

    wall_s: float
    cpu_s: float
    peak_mb: float
    task_mb: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Findings:
    """Number of cases whose reported groups or rows differ from the planted ones."""

    wrong: int


def main() -> int:
    """Run the bench; return 1 with `--check` if a target is missed."""
    options = _options()
    parts = options.part.split(",")
    costs: Costs = {}
    for part in parts:
        costs |= PARTS[part](options)
    targets = [target for part in parts for target in AUDIT_TARGETS[part]]
    ratios = {t.name: t.ratio(costs) for t in targets if t.applies(costs, options.scale)}
    missed = finish("audit", ratios, targets)
    return int(bool(missed) and options.check)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--part", default=",".join(PARTS), help="comma-separated parts")
    parser.add_argument("--scale", type=int, default=5, help="TPC-H scale of lineitem")
    parser.add_argument("--runs", type=int, default=5, help="measured runs of each contender")
    parser.add_argument("--only", default=",".join(CONTENDERS), help="comma-separated contenders")
    return read_options(parser)


def _uniqueness(options: argparse.Namespace) -> Costs:
    """Return the cost of the uniqueness proofs, and the number of wrong findings."""
    costs: Costs = {}
    for how in ARRANGEMENTS:
        costs |= {(how, row): cost for row, cost in _contest(_lineitem(options, how), options)}
    if "ours" in options.only.split(","):
        costs["planted", "ours"] = Findings(wrong=_wrong_findings(options))
        for scale in sorted({_SMALL_SCALE, options.scale}):
            costs["memory", f"sf{scale}"] = _alone(scale, options)
    return costs


def _checks(options: argparse.Namespace) -> Costs:
    """Return the cost of ten checks on top of writes, and how many of them miss a bad row."""
    costs: Costs = {}
    for (write, row), found in checked_writes(options).items():
        costs[write, row] = cost = _median(found)
        _print(write, row, found, cost)
    costs["planted rows", "ours"] = Findings(wrong=wrong_checks(options))
    return costs


PARTS: Mapping[str, Callable[[argparse.Namespace], Costs]] = {
    "uniqueness": _uniqueness,
    "checks": _checks,
}
"""Each part is measured separately; `AUDIT_TARGETS` has its targets by name."""


def _lineitem(options: argparse.Namespace, how: str, scale: int = 0) -> DataSet:
    """Return lineitem in an arrangement."""
    source = prepare("lineitem", scale=scale or options.scale, data_dir=options.data)
    return arranged(source, how, options.data)


def _contest(source: DataSet, options: argparse.Namespace) -> Iterator[tuple[str, ProofCost]]:
    """Yield the medians of each contender on one data set without duplicates."""
    samples: dict[str, list[Measured]] = {row: [] for row in options.only.split(",")}
    with ExitStack() as stack:
        sides = {
            name: stack.enter_context(start_side(name, options))
            for name in sorted({CONTENDERS[row][0] for row in samples})
        }
        for number in range(_WARM_UPS + options.runs):
            print(f"{source.name}: run {number + 1 - _WARM_UPS}", file=sys.stderr)
            for row, found in samples.items():
                side, action = CONTENDERS[row]
                found.append(_once(sides[side], action, source, options))
                _expect_none(row, source, found[-1].value)
    for row, found in samples.items():
        cost = _median(found[_WARM_UPS:])
        _print(source.name, row, found[_WARM_UPS:], cost)
        yield row, cost


def _once(side: Side, action: str, source: DataSet, options: argparse.Namespace) -> Measured:
    """Open a data set, then search for duplicates; only the search is measured.

    Our side first proves a hundred tiny files, unmeasured: Spark stops Python workers that idled
    for a minute, and the other contenders may take that long.
    """
    if side.log.stem == "proofs":
        tiny = prepare("tiny-100", scale=1, data_dir=options.data)
        tiny_path = str(tiny.path.resolve())
        side.run("open", location=tiny_path, keys=list(tiny.keys), partition=tiny.partition)
        side.run("unique")
    side.run("open", location=str(source.path.resolve()), keys=list(source.keys))
    return side.run(action)


def _expect_none(row: str, source: DataSet, found: Mapping[str, Any]) -> None:
    """Raise if a contender found duplicates in a set without any."""
    if found["rows"]:
        message = f"{row} found {found} in {source.name}, which has no duplicates"
        raise ValueError(message)


def _wrong_findings(options: argparse.Namespace) -> int:
    """Return the number of cases whose findings differ from the planted duplicates."""
    wrong = 0
    folder = options.data / "planted"
    with start_side("proofs", options) as side:
        for name, (how, groups, rows) in PLANTED.items():
            source = planted(_lineitem(options, how), groups, rows, folder)
            measured = _once(side, "unique", source, options)
            expected = {"groups": groups, "rows": groups * rows, "exact": True}
            right = measured.value == expected
            wrong += not right
            verdict = "found" if right else f"found {measured.value}"
            print(f"planted {name:28} {verdict:8} wall {measured.wall_s:6.2f} s", flush=True)
    shutil.rmtree(folder)
    return wrong


def _alone(scale: int, options: argparse.Namespace) -> ProofCost:
    """Return the cost of our proof of shuffled files in a new session."""
    source = _lineitem(options, "shuffled", scale)
    with start_side("proofs", options) as side:
        found = [_once(side, "unique", source, options) for _ in range(1 + options.runs)]
    cost = _median(found[1:])
    _print(source.name, "ours alone", found[1:], cost)
    return cost


def _median(found: list[Measured]) -> ProofCost:
    return ProofCost(
        wall_s=statistics.median(each.wall_s for each in found),
        cpu_s=statistics.median(each.cpu_s for each in found),
        peak_mb=max(each.peak_mb for each in found),
        task_mb=max(each.task_mb for each in found),
    )


def _print(name: str, row: str, found: list[Measured], cost: ProofCost) -> None:
    """Print one contender's medians, with the spread of the wall time."""
    walls = [each.wall_s for each in found]
    method = found[-1].value.get("method", "") if found[-1].value else ""
    print(
        f"{name:22} {row:10} n={len(found)} wall {cost.wall_s:6.2f} s "
        f"[{min(walls):.2f}-{max(walls):.2f}]  cpu {cost.cpu_s:6.2f} s  "
        f"peak {cost.peak_mb:5.0f} MB  task {cost.task_mb:4.0f} MB  {method}",
        flush=True,
    )


if __name__ == "__main__":
    sys.exit(main())
