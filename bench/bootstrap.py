"""Bootstraps side by side: Lakestrap, Apache Hudi's METADATA_ONLY, a plain rewrite, a lower bound.

Warm sessions alternate on the same files; figures are medians of the runs, without one warm-up of
each. Ratios are of CPU time of the whole process tree unless a target says wall.
The last line is one JSON object `{bench, ratios, targets, missed}`.
"""

from __future__ import annotations

import argparse
import shutil
import statistics
import sys
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from contest import read_options, start_side
from datasets import DataSet, prepare
from report import finish, print_row
from side_process import Measured, Side, SideError
from targets import BOOTSTRAP_TARGETS

__all__ = ["main"]

CONTENDERS = {
    "ours-bloom": ("ours", "bloom"),
    "hudi-bloom": ("hudi", "bloom"),
    "hudi-bloom-zstd": ("hudi", "bloom-zstd"),
    "ours-none": ("ours", "none"),
    "hudi-none": ("hudi", "no-bloom"),
    "hudi-none-zstd": ("hudi", "no-bloom-zstd"),
    "ours-default": ("ours", "default"),
    "ours-full": ("ours", "full"),
    "hudi-default": ("hudi", "defaults"),
    "plain": ("plain", "rewrite"),
    "floor": ("floor", "floor"),
}
"""(Side, variant) by name of the row. `ours-bloom` has the same filter as Hudi."""
MANY = ("ours-bloom", "hudi-bloom", "plain", "floor")
"""Contenders on the many-files set, where each Hudi run takes minutes."""


Sample: TypeAlias = "tuple[Measured, int, int]"
"""Cost of one run, bytes in Parquet files, and all bytes in the target."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """Medians of one contender on one set.

    `misjudged` is by how many times the plan's core-seconds are above or below the CPU time; 0 for
    others than us.
    """

    misjudged: float
    wall_s: float
    cpu_s: float
    peak_mb: float
    parquet_bytes: int
    bytes_written: int


def main() -> int:
    """Run the bench; return 1 with `--check` if a target is missed."""
    options = _options()
    costs: dict[tuple[str, str], Cost] = {}
    for name in options.sets.split(","):
        source = prepare(name, scale=options.scale, data_dir=options.data)
        costs |= {(name, row): cost for row, cost in _bench(source, name, options)}
    ratios = {
        target.name: target.ratio(costs)
        for target in BOOTSTRAP_TARGETS
        if target.applies(costs, options.scale)
    }
    missed = finish("bootstrap", ratios, BOOTSTRAP_TARGETS)
    return int(bool(missed) and options.check)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sets", default="lineitem,wide,many", help="comma-separated data sets")
    parser.add_argument("--scale", type=int, default=5, help="TPC-H scale of lineitem")
    parser.add_argument("--runs", type=int, default=5, help="measured runs of each contender")
    parser.add_argument("--many-runs", type=int, default=1, help="the same for the many-files set")
    parser.add_argument("--only", default="", help="comma-separated contenders")
    return read_options(parser)


def _bench(source: DataSet, name: str, options: argparse.Namespace) -> Iterator[tuple[str, Cost]]:
    """Yield the medians of each contender on one data set."""
    runs = options.many_runs if name == "many" else options.runs
    samples: dict[str, list[Sample]] = {row: [] for row in _contenders(name, options)}
    with ExitStack() as stack:
        sides = {
            side: stack.enter_context(start_side(side, options))
            for side in sorted({CONTENDERS[row][0] for row in samples})
        }
        if name != "many":
            print(f"{source.name}: warm-up", file=sys.stderr)
            _turn(sides, samples, source, options)
        for measured in samples.values():
            measured.clear()
        for number in range(runs):
            print(f"{source.name}: run {number + 1} of {runs}", file=sys.stderr)
            _turn(sides, samples, source, options)
    for row, measured in samples.items():
        cost = _median(measured)
        print_row(source.name, row, measured, cost)
        yield row, cost


def _turn(
    sides: Mapping[str, Side],
    samples: dict[str, list[Sample]],
    source: DataSet,
    options: argparse.Namespace,
) -> None:
    """Run each contender once; report one that fails, and exclude it from further runs."""
    for row in list(samples):
        try:
            samples[row].append(_run(sides[CONTENDERS[row][0]], row, source, options))
        except SideError as error:
            print(f"{source.name} {row} failed: {error}", file=sys.stderr)
            del samples[row]


def _contenders(name: str, options: argparse.Namespace) -> list[str]:
    """Return the contenders for a set."""
    chosen = options.only.split(",") if options.only else list(CONTENDERS)
    return [row for row in chosen if name != "many" or row in MANY]


def _run(side: Side, row: str, source: DataSet, options: argparse.Namespace) -> Sample:
    """Bootstrap into a new folder; return the cost, its Parquet bytes and all its bytes.

    Bootstraps a hundred tiny files first, unmeasured: Spark stops Python workers that idled for a
    minute, and the other contenders may take that long.
    """
    tiny = prepare("tiny-100", scale=1, data_dir=options.data)
    _bootstrap(side, row, tiny, options)
    measured = _bootstrap(side, row, source, options)
    files = [path for path in _target(row, options).rglob("*") if path.is_file()]
    parquet = sum(path.stat().st_size for path in files if path.suffix == ".parquet")
    return measured, parquet, sum(path.stat().st_size for path in files)


def _bootstrap(side: Side, row: str, source: DataSet, options: argparse.Namespace) -> Measured:
    """Bootstrap into the contender's folder, after emptying it."""
    target = _target(row, options)
    shutil.rmtree(target, ignore_errors=True)
    target.parent.mkdir(parents=True, exist_ok=True)
    variant = CONTENDERS[row][1]
    return side.run("bootstrap", **source.facts(), target=str(target), variant=variant)


def _target(row: str, options: argparse.Namespace) -> Path:
    return Path(options.work) / "targets" / row


def _median(measured: list[Sample]) -> Cost:
    return Cost(
        misjudged=statistics.median(_misjudged(sample) for sample, _, _ in measured),
        wall_s=statistics.median(sample.wall_s for sample, _, _ in measured),
        cpu_s=statistics.median(sample.cpu_s for sample, _, _ in measured),
        peak_mb=max(sample.peak_mb for sample, _, _ in measured),
        parquet_bytes=measured[-1][1],
        bytes_written=measured[-1][2],
    )


def _misjudged(run: Measured) -> float:
    """Return by how many times the plan's estimate is above or below the CPU time."""
    if not isinstance(run.value, dict):
        return 0.0
    estimated = float(run.value["estimated_cpu_s"])
    return max(run.cpu_s / estimated, estimated / run.cpu_s)


if __name__ == "__main__":
    sys.exit(main())
