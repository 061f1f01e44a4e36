"""An upsert of fifty million rows into one partition: memory of its tasks.

A table of as many rows is written first; the upsert changes every second one and adds as many.
The last line is one JSON object `{bench, ratios, targets, missed}`.
"""

from __future__ import annotations

import argparse
import shutil
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from contest import read_options, start_side
from report import finish
from specs import keyed_table
from targets import HUGE_TARGETS

__all__ = ["main"]

_FILE_ROWS = 1_000_000


def main() -> int:
    """Run the bench; return 1 with `--check` if a target is missed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=50_000_000)
    options = read_options(parser)
    target = options.work / "targets" / "huge"
    shutil.rmtree(target, ignore_errors=True)
    costs: dict[tuple[str, str], Any] = {}
    with start_side("ours", options) as ours:
        for name, operation, step in (("first", "bulk_insert", 1), ("upsert", "upsert", 2)):
            source = _rows(options.work / "targets" / f"huge-{name}", options.rows, step)
            document = _table(target, source, operation)
            cost = costs["huge", name] = ours.run("run", document=document)
            shutil.rmtree(source)
            print(
                f"{name:7} {options.rows:,} rows  wall {cost.wall_s:7.1f} s  "
                f"cpu {cost.cpu_s:7.1f} s  task {cost.task_mb:6.0f} MB  "
                f"driver {cost.driver_mb:6.0f} MB",
                flush=True,
            )
    shutil.rmtree(target)
    ratios = {t.name: t.ratio(costs) for t in HUGE_TARGETS}
    missed = finish("huge", ratios, HUGE_TARGETS)
    return int(bool(missed) and options.check)


def _rows(folder: Path, rows: int, step: int) -> Path:
    """Return a folder of files with `rows` rows, whose ids are `step` apart."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    mixed = np.random.default_rng(step)
    for first in range(0, rows, _FILE_ROWS):
        places = np.arange(first, min(first + _FILE_ROWS, rows), dtype=np.int64)
        ids = places * 2_654_435_761 % (1 << 40) if step == 1 else _other_ids(places, rows)
        mixed.shuffle(ids)
        table = pa.table({"id": ids, "day": np.full(ids.size, 1, np.int32), "v": ids % 1000 + step})
        pq.write_table(table, folder / f"{first:012}.parquet")
    return folder


def _other_ids(places: np.ndarray, rows: int) -> np.ndarray:
    """Return ids every second of which is one of the first `rows` rows."""
    known = (places % rows) * 2_654_435_761 % (1 << 40)
    found: np.ndarray = np.where(places % 2 == 0, known, known + (1 << 40))
    return found


def _table(target: Path, source: Path, operation: str) -> dict[str, Any]:
    table = keyed_table(target, "copy_on_write", keys=["id"], partition="day", partition_type="int")
    load = {"source": {"path": str(source)}, "write": {"operation": operation}}
    return {**table, **load, "maintenance": {"enabled": False}}


if __name__ == "__main__":
    sys.exit(main())
