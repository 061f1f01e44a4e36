"""Table services side by side: Lakestrap and Apache Hudi 1.2.0, on copies of one table.

`compaction` merges the logs of an ordinary merge-on-read table of lineitem, all of whose file
groups several upserts have changed. `clustering` sorts an ordinary copy-on-write table by its key.
`cleaning` plans a clean of a table with 250,000 files. `daily` loads thirty days with the default
maintenance, `flat` loads two rows into tables with a short and a long past: Lakestrap alone.
Each run works on a fresh copy; warm sessions alternate; figures are medians.
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
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
from changes import changes_of, flat_copy
from cleaned import CleanCost, cleaning
from contest import read_options, start_side
from datasets import DataSet, prepare
from kept import KeptCost, daily, flat
from report import finish
from side_process import Measured, Side
from specs import keyed_table
from targets import SERVICE_TARGETS

__all__ = ["main"]

SIDES = ("ours", "hudi")
PARTS = {
    "compaction": SIDES,
    "clustering": SIDES,
    "cleaning": ("hudi",),
    "daily": ("ours",),
    "flat": (),
}
"""The parts, with the sides that run on Spark."""
_ROUNDS = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceCost:
    """Medians of one service on one side."""

    wall_s: float
    cpu_s: float
    peak_mb: float


_Costs = Iterator[tuple[tuple[str, str], ServiceCost | CleanCost | KeptCost]]


def main() -> int:
    """Run the bench; return 1 with `--check` if a target is missed."""
    options = _options()
    source = prepare("lineitem", scale=options.scale, data_dir=options.data)
    with ExitStack() as stack:
        parts = options.parts.split(",")
        names = [name for name in SIDES if any(name in PARTS[part] for part in parts)]
        sides = {name: stack.enter_context(start_side(name, options)) for name in names}
        costs = dict(_bench(sides, source, options))
    ratios = {t.name: t.ratio(costs) for t in SERVICE_TARGETS if t.applies(costs, options.scale)}
    missed = finish("services", ratios, SERVICE_TARGETS)
    return int(bool(missed) and options.check)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--parts", default=",".join(PARTS))
    parser.add_argument("--scale", type=int, default=1, help="TPC-H scale of lineitem")
    parser.add_argument("--files", type=int, default=250_000, help="files of the table to clean")
    parser.add_argument("--series", type=int, default=1, help="months of daily loads per type")
    parser.add_argument("--runs", type=int, default=5, help="measured runs of each service")
    return read_options(parser)


def _bench(sides: Mapping[str, Side], source: DataSet, options: argparse.Namespace) -> _Costs:
    """Yield the medians of each side in each part."""
    for part in options.parts.split(","):
        if part in _MAKERS:
            yield from _service(part, sides, source, options)
        elif part == "daily":
            yield from daily(sides["ours"], source, options)
        else:
            with start_side("keeping", options) as keeping:
                cleaned = part == "cleaning"
                yield from cleaning(sides, keeping, options) if cleaned else flat(keeping, options)


def _service(
    part: str, sides: Mapping[str, Side], source: DataSet, options: argparse.Namespace
) -> Iterator[tuple[tuple[str, str], ServiceCost]]:
    """Yield the medians of one service on each side."""
    base = _MAKERS[part](sides["ours"], source, options)
    samples: dict[str, list[Measured]] = {side: [] for side in sides}
    for _ in range(1 + options.runs):
        for name, side in sides.items():
            target = options.work / "targets" / f"serviced-{name}"
            shutil.rmtree(target, ignore_errors=True)
            shutil.copytree(base, target)
            samples[name].append(side.run(part, target=str(target), by=list(source.keys)))
    for name, found in samples.items():
        cost = _median(found[1:])
        print(
            f"{part:12} {name:6} wall {cost.wall_s:7.2f} s  cpu {cost.cpu_s:7.2f} s  "
            f"peak {cost.peak_mb:6.0f} MB",
            flush=True,
        )
        yield (part, name), cost


def _with_logs(ours: Side, source: DataSet, options: argparse.Namespace) -> Path:
    """Return a merge-on-read table whose groups have several log files each."""
    target = _loaded(ours, source, options, "merge_on_read")
    folder = options.work / "targets" / "changed"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    (changes,) = changes_of(source, options.data).glob("*.parquet")
    rows = pq.read_table(changes)
    step = -(-rows.num_rows // _ROUNDS)
    for number in range(_ROUNDS):
        pq.write_table(rows.slice(number * step, step), folder / f"part-{number}.parquet")
        document = _table(source, target, "merge_on_read")
        source_of = {"source": {"path": str(folder)}, "write": {"operation": "upsert"}}
        ours.run("run", document={**document, **source_of})
    return target


def _unsorted(ours: Side, source: DataSet, options: argparse.Namespace) -> Path:
    """Return a copy-on-write table whose rows are in the order of their arrival."""
    return _loaded(ours, source, options, "copy_on_write")


def _loaded(ours: Side, source: DataSet, options: argparse.Namespace, kind: str) -> Path:
    """Return an ordinary table of all rows, with default maintenance off."""
    target: Path = options.work / "targets" / f"base-services-{kind}"
    shutil.rmtree(target, ignore_errors=True)
    flat = flat_copy(source, options.data)
    load = {"source": {"path": str(flat)}, "write": {"operation": "bulk_insert"}}
    ours.run("run", document={**_table(source, target, kind), **load})
    return target


def _table(source: DataSet, target: Path, kind: str) -> dict[str, Any]:
    table = keyed_table(
        target,
        kind,
        keys=source.keys,
        partition=source.partition,
        partition_type=source.partition_type,
    )
    return {**table, "maintenance": {"enabled": False}}


def _median(measured: list[Measured]) -> ServiceCost:
    return ServiceCost(
        wall_s=statistics.median(each.wall_s for each in measured),
        cpu_s=statistics.median(each.cpu_s for each in measured),
        peak_mb=max(each.peak_mb for each in measured),
    )


_MAKERS: Mapping[str, Callable[[Side, DataSet, argparse.Namespace], Path]] = {
    "compaction": _with_logs,
    "clustering": _unsorted,
}
"""Tables to service, by part."""


if __name__ == "__main__":
    sys.exit(main())
