"""Parts of `bench/services.py` about a table that is kept for long: daily loads, a long past."""

from __future__ import annotations

import argparse
import shutil
import statistics
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from changes import daily_changes, flat_copy
from datasets import DataSet
from side_process import Side
from specs import keyed_table

__all__ = ["KeptCost", "daily", "flat"]

_DAYS = 30
_EARLY = 2
_STEADY = 15
_LOADS = 11
_REPEATS = 5
_PASTS: Mapping[str, tuple[int, int]] = {"short": (10, 1_000), "long": (10_000, 1_000_000)}
"""Earlier loads and loaded files."""
_OPENED: Mapping[str, int] = {"short": 100, "long": 10_000}
"""Instants of a whole timeline, archived ones included."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptCost:
    """Medians: seconds of a load, of a read, and to open the timeline; files of the table."""

    load_s: float = 0.0
    read_s: float = 0.0
    open_ms: float = 0.0
    files: int = 0


def daily(
    ours: Side, source: DataSet, options: argparse.Namespace
) -> Iterator[tuple[tuple[str, str], KeptCost]]:
    """Yield the cost of an early, a middle and the last day of thirty, for both table types.

    Each day changes another hundredth of the rows and adds new ones; maintenance is the default.
    The seconds of a load are without those of the services after it, which are printed.
    """
    days = daily_changes(source, options.data, _DAYS)
    for kind in ("copy_on_write", "merge_on_read"):
        series = [_month(ours, source, options, kind, days) for _ in range(options.series)]
        for day in (_EARLY, _STEADY, _DAYS):
            costs = [each[day] for each in series]
            cost = KeptCost(
                load_s=statistics.median(each.load_s for each in costs),
                read_s=statistics.median(each.read_s for each in costs),
                files=max(each.files for each in costs),
            )
            print(
                f"daily {kind:14} day {day:2}  load {cost.load_s:6.2f} s  "
                f"read {cost.read_s:6.3f} s  {cost.files} files",
                flush=True,
            )
            yield (f"daily {kind}", f"day {day}"), cost


def flat(keeping: Side, options: argparse.Namespace) -> Iterator[tuple[tuple[str, str], KeptCost]]:
    """Yield the cost of a load of two rows, and of opening the timeline, by length of the past."""
    tables = {name: _small_table(options.work / "targets" / f"past-{name}") for name in _PASTS}
    for name, (commits, files) in _PASTS.items():
        keeping.run("run", document=tables[name])
        _land(tables[name], "history")
        keeping.run("history", document=tables[name], commits=commits, files=files)
    seconds: dict[str, list[float]] = {name: [] for name in tables}
    for number in range(_LOADS):
        for name, document in tables.items():
            _land(document, str(number))
            seconds[name].append(keeping.run("run", document=document).wall_s)
    for name, found in seconds.items():
        yield ("past", name), KeptCost(load_s=statistics.median(found[1:]))
        print(f"past {name:5}  load {statistics.median(found[1:]) * 1e3:7.1f} ms", flush=True)
    yield from _opened(keeping, options)


def _opened(
    keeping: Side, options: argparse.Namespace
) -> Iterator[tuple[tuple[str, str], KeptCost]]:
    """Yield the cost of opening a timeline."""
    tables = {name: _small_table(options.work / "targets" / f"open-{name}") for name in _OPENED}
    for name, commits in _OPENED.items():
        keeping.run("run", document=tables[name])
        _land(tables[name], "history")
        keeping.run("history", document=tables[name], commits=commits, files=1)
    spent: dict[str, list[float]] = {name: [] for name in tables}
    for _ in range(_LOADS):
        for name, document in tables.items():
            place = document["table"]["location"]
            spent[name].append(keeping.run("open_timeline", target=place).value)
    for name, found in spent.items():
        print(f"open {name:5}  {_OPENED[name]} instants {statistics.median(found):6.2f} ms")
        yield ("open", name), KeptCost(open_ms=statistics.median(found))


def _month(
    ours: Side, source: DataSet, options: argparse.Namespace, kind: str, days: Path
) -> dict[int, KeptCost]:
    """Load day after day; return the cost of some days."""
    target = options.work / "targets" / f"daily-{kind}"
    landing = options.work / "targets" / f"landing-{kind}"
    for folder in (target, landing):
        shutil.rmtree(folder, ignore_errors=True)
    landing.mkdir(parents=True)
    document = _lineitem(source, target, kind)
    first = {"source": {"path": str(flat_copy(source, options.data))}}
    ours.run("run", document={**document, **first, "write": {"operation": "bulk_insert"}})
    load = {"source": {"path": str(landing)}, "write": {"operation": "upsert"}}
    costs: dict[int, KeptCost] = {}
    for day in range(1, _DAYS + 1):
        shutil.copyfile(days / f"day-{day:02}.parquet", landing / f"day-{day:02}.parquet")
        measured = ours.run("run", document={**document, **load})
        loaded = float(measured.value["run_s"])
        print(f"  day {day:2}  load {loaded:.2f} s  all {measured.wall_s:.2f} s", flush=True)
        reads = [_read(ours, source, target) for _ in range(1 + _REPEATS)][1:]
        costs[day] = KeptCost(load_s=loaded, read_s=statistics.median(reads), files=_files(target))
    return costs


def _read(ours: Side, source: DataSet, target: Path) -> float:
    """Return the seconds to open the table and sum a column."""
    asked = {"name": "filtered-sum", "measure": source.measure, "keys": [], "where": "true"}
    opened = ours.run("open", location=str(target), **asked)
    return opened.wall_s + ours.run("query", name="filtered-sum").wall_s


def _files(target: Path) -> int:
    """Return the number of data files of a table."""
    return sum(
        path.suffix == ".parquet" or ".log." in path.name
        for folder in target.iterdir()
        if folder.is_dir() and folder.name != ".hoodie"
        for path in folder.iterdir()
    )


def _lineitem(source: DataSet, target: Path, kind: str) -> dict[str, Any]:
    return keyed_table(
        target,
        kind,
        keys=source.keys,
        partition=source.partition,
        partition_type=source.partition_type,
    )


def _small_table(target: Path) -> dict[str, Any]:
    """Return the spec of a new table that gets two rows at a time."""
    landing = target.with_name(f"{target.name}-landing")
    for folder in (target, landing):
        shutil.rmtree(folder, ignore_errors=True)
    table = keyed_table(
        target, "copy_on_write", keys=["id"], partition="day", partition_type="string"
    )
    load = {"source": {"path": str(landing)}, "write": {"operation": "upsert"}}
    document = {**table, **load}
    _land(document, "first")
    return document


def _land(document: Mapping[str, Any], name: str) -> None:
    """Replace the files to load by one with two rows."""
    landing = Path(document["source"]["path"])
    shutil.rmtree(landing, ignore_errors=True)
    landing.mkdir(parents=True)
    rows = pa.table({"id": ["a", "b"], "day": ["d1", "d1"], "v": [name, name]})
    pq.write_table(rows, landing / f"{name}.parquet")
