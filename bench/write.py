"""Writes side by side: Lakestrap, Apache Hudi 1.2.0 and Apache Iceberg, from the same tables.

Upserts a hundredth of lineitem's rows and a tenth as many new ones, scattered over all files, into
an adopted table and an ordinary one, of both table types; then bulk inserts all of it. Apache Hudi
writes with its best index. Warm sessions alternate; figures are medians of the runs, without one
warm-up of each. Then Lakestrap's and Apache Hudi's readers query the table that Lakestrap wrote,
the whole and its changes, from opening the table to the result. Ratios are of wall time unless a
target says otherwise. The last line is one JSON object `{bench, ratios, targets, missed}`.
"""

from __future__ import annotations

import argparse
import shutil
import statistics
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from changes import changes_of, flat_copy
from contest import read_options, start_side
from datasets import DataSet, prepare
from merging import merger
from report import finish
from side_process import Measured, Side, SideError
from specs import keyed_table
from targets import WRITE_TARGETS

__all__ = ["hudi_options", "main"]

SIDES = ("ours", "hudi", "iceberg")
READERS = ("ours", "hudi")
QUERIES = ("filtered-sum", "full-scan", "changes")
TYPES = {"cow": "copy_on_write", "mor": "merge_on_read"}
TABLES = ("adopted-cow", "adopted-mor", "ordinary-cow", "ordinary-mor")
_WARM_UPS = 4
"""Spark compiles a query's hot loops during the first runs."""
_QUERY_RUNS = 9
"""A query of some seconds differs by up to a fifth from run to run."""
INDEX = {
    "hoodie.index.type": "BLOOM",
    "hoodie.bloom.index.update.partition.path": "false",
    "hoodie.write.table.version": "6",
    "hoodie.write.auto.upgrade": "false",
    "hoodie.merge.allow.duplicate.on.inserts": "false",
    "hoodie.combine.before.upsert": "false",
    "hoodie.parquet.compression.codec": "snappy",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class WriteCost:
    """Medians of one write on one side; `bytes_written` is the folder's growth."""

    wall_s: float
    cpu_s: float
    peak_mb: float
    bytes_written: int


def main() -> int:
    """Run the bench; return 1 with `--check` if a target is missed."""
    options = _options()
    source = prepare("lineitem", scale=options.scale, data_dir=options.data)
    with ExitStack() as stack:
        names = options.sides.split(",")
        sides = {name: stack.enter_context(start_side(name, options)) for name in names}
        costs = dict(_bench(sides, source, options))
    ratios = {t.name: t.ratio(costs) for t in WRITE_TARGETS if t.applies(costs, options.scale)}
    missed = finish("write", ratios, WRITE_TARGETS)
    return int(bool(missed) and options.check)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tables", default=",".join((*TABLES, "bulk")))
    parser.add_argument("--sides", default=",".join(SIDES))
    parser.add_argument("--scale", type=int, default=1, help="TPC-H scale of lineitem")
    parser.add_argument("--runs", type=int, default=5, help="measured runs of each write")
    return read_options(parser)


def _bench(
    sides: Mapping[str, Side], source: DataSet, options: argparse.Namespace
) -> Iterator[tuple[tuple[str, str], WriteCost]]:
    """Yield the medians of each side on each table, then those of its queries."""
    for name in options.tables.split(","):
        contest = _contest(sides, name, source, options)
        samples: dict[str, list[tuple[Measured, int]]] = {side: [] for side in sides}
        for _ in range(1 + options.runs):
            for side in sides:
                samples[side].append(contest[side]())
        for side in sides:
            cost = _median(samples[side][1:])
            _print(name, side, cost)
            yield (name, side), cost
        for side, query, cost in _queries(sides, name, source, options):
            _print(name, f"{side} {query}", cost)
            yield (name, f"{side} {query}"), cost


def _contest(
    sides: Mapping[str, Side], name: str, source: DataSet, options: argparse.Namespace
) -> dict[str, Callable[[], tuple[Measured, int]]]:
    """Return for each side a function that writes once, into a table in its original state."""
    base = None if name == "bulk" else _base(sides["ours"], name, source, options)
    found: dict[str, Callable[[], tuple[Measured, int]]] = {
        side: partial(_once, sides[side], name, base, source, options)
        for side in sides
        if side in READERS
    }
    if "iceberg" in sides:
        found["iceberg"] = merger(sides["iceberg"], name, source, options.data)
    return found


def _queries(
    sides: Mapping[str, Side], name: str, source: DataSet, options: argparse.Namespace
) -> Iterator[tuple[str, str, WriteCost]]:
    """Yield (side, query, medians) of each reader on our last table; results must agree."""
    for query in QUERIES[:2] if name == "bulk" else QUERIES:
        facts = {"name": query, "measure": source.measure, "keys": [], "where": "true"}
        if query == "changes":
            facts["begin"] = _last_instant(_written(options, "base", name))
        samples: dict[str, list[tuple[Measured, int]]] = {s: [] for s in READERS if s in sides}
        answers: dict[str, object] = {}
        for _ in range(_WARM_UPS + _QUERY_RUNS):
            for side, found in samples.items():
                opened = sides[side].run("open", location=str(_written(options, "ours")), **facts)
                queried = sides[side].run("query", name=query)
                answers[side] = queried.value
                both = replace(
                    queried,
                    wall_s=opened.wall_s + queried.wall_s,
                    cpu_s=opened.cpu_s + queried.cpu_s,
                )
                found.append((both, 0))
        if len(set(map(str, answers.values()))) > 1:
            message = f"{name} {query}: the sides disagree: {answers}"
            raise SideError(message)
        for side, found in samples.items():
            yield side, query, _median(found[_WARM_UPS:])


def _last_instant(table: Path) -> str:
    """Return the latest completed instant of a table."""
    names = [path.name for path in (table / ".hoodie").glob("*commit")]
    return max(name.partition(".")[0] for name in names)


def _written(options: argparse.Namespace, side: str, name: str = "") -> Path:
    """Return the folder that a side writes to, or of the table to copy."""
    made: Path = options.work / "targets" / (f"base-{name}" if name else f"written-{side}")
    return made


def _print(name: str, row: str, cost: WriteCost) -> None:
    print(
        f"{name:14} {row:18} wall {cost.wall_s:7.2f} s  cpu {cost.cpu_s:7.2f} s  "
        f"peak {cost.peak_mb:6.0f} MB  written {cost.bytes_written / 1e6:8.2f} MB",
        flush=True,
    )


def _base(ours: Side, name: str, source: DataSet, options: argparse.Namespace) -> Path:
    """Create the table to copy, and return its folder."""
    target = _written(options, "base", name)
    shutil.rmtree(target, ignore_errors=True)
    begin, _, kind = name.partition("-")
    document = _table(source, target, TYPES[kind])
    if begin == "adopted":
        document["bootstrap"] = {"path": str(source.path.resolve()), "layout": "hive"}
    else:
        flat = flat_copy(source, options.data)
        document |= _loading(flat, "bulk_insert")
    ours.run("run", document=document)
    return target


def _once(
    side: Side, name: str, base: Path | None, source: DataSet, options: argparse.Namespace
) -> tuple[Measured, int]:
    """Write once into a fresh copy; return the cost and the added bytes."""
    ours = side.log.stem == "ours"
    target = _written(options, "ours" if ours else "hudi")
    shutil.rmtree(target, ignore_errors=True)
    before = 0
    if base is not None:
        shutil.copytree(base, target)
        before = _bytes(target)
    write = _our_write if ours else _hudi_write
    measured = write(side, name, target, source, options)
    return measured, _bytes(target) - before


def _our_write(
    side: Side, name: str, target: Path, source: DataSet, options: argparse.Namespace
) -> Measured:
    if name == "bulk":
        document = _table(source, target, TYPES["cow"])
        load = _loading(flat_copy(source, options.data), "bulk_insert")
    else:
        document = _table(source, target, TYPES[name.partition("-")[2]])
        load = _loading(changes_of(source, options.data), "upsert")
    return side.run("run", document={**document, **load})


def _hudi_write(
    side: Side, name: str, target: Path, source: DataSet, options: argparse.Namespace
) -> Measured:
    """Write the same rows with Apache Hudi."""
    bulk = name == "bulk"
    folder = flat_copy(source, options.data) if bulk else changes_of(source, options.data)
    kind = TYPES["cow" if bulk else name.partition("-")[2]]
    settings = hudi_options(source, kind, "bulk_insert" if bulk else "upsert")
    files = [str(path) for path in sorted(folder.glob("*.parquet"))]
    return side.run("write", target=str(target), files=files, options=settings)


def hudi_options(source: DataSet, kind: str, operation: str) -> dict[str, str]:
    """Return Apache Hudi's options of an operation on a table of a type, with its best index."""
    return {
        **INDEX,
        "hoodie.table.name": "bench",
        "hoodie.datasource.write.table.type": kind.upper(),
        "hoodie.datasource.write.operation": operation,
        "hoodie.datasource.write.recordkey.field": ",".join(source.keys),
        "hoodie.datasource.write.partitionpath.field": source.partition,
        "hoodie.datasource.write.keygenerator.class": (
            "org.apache.hudi.keygen.ComplexKeyGenerator"
        ),
        "hoodie.datasource.write.hive_style_partitioning": "true",
        "hoodie.bulkinsert.sort.mode": "NONE",
        "hoodie.datasource.write.partitionpath.urlencode": "true",
    }


def _table(source: DataSet, target: Path, kind: str) -> dict[str, Any]:
    return keyed_table(
        target,
        kind,
        keys=source.keys,
        partition=source.partition,
        partition_type=source.partition_type,
    )


def _loading(folder: Path, operation: str) -> dict[str, Any]:
    return {"source": {"path": str(folder)}, "write": {"operation": operation}}


def _bytes(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def _median(measured: list[tuple[Measured, int]]) -> WriteCost:
    return WriteCost(
        wall_s=statistics.median(sample.wall_s for sample, _ in measured),
        cpu_s=statistics.median(sample.cpu_s for sample, _ in measured),
        peak_mb=max(sample.peak_mb for sample, _ in measured),
        bytes_written=int(statistics.median(size for _, size in measured)),
    )


if __name__ == "__main__":
    sys.exit(main())
