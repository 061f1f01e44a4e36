"""Cost of checksums in a bootstrap and an upsert: seconds of CPU with and without them.

The same input, in one process, alternating: with page checksums, seals and their verification, and
with all of these disabled. A ratio is the median of the ratios of adjacent runs, since a machine's
speed drifts by more than the cost of checksums; its error shrinks with the number of samples.
The last line is one JSON object `{bench, ratios, targets, missed}`.
"""

from __future__ import annotations

import argparse
import json
import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from report import Target, finish

from framework.engine.prepare import PlanningContext, Request, prepare
from framework.engine.runner import run
from framework.engine.tasks import InProcessTasks
from framework.hudi.bootstrap import skeleton_bytes
from framework.hudi.codecs.parquet_seal import SealedFooter
from framework.hudi.filegroup import base_file, column_chunks

__all__ = ["main"]

FILES = 4
COLUMNS = 16
TARGETS = tuple(
    Target(name=f"{name}: with checksums / without", set="", ours="", most=1.02)
    for name in ("bootstrap, skeletons", "bootstrap, full records", "upsert")
)


def main() -> int:
    """Run the bench; return 1 with `--check` if a target is missed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--samples", type=int, default=60)
    parser.add_argument("--rows", type=int, default=400_000, help="rows of each of four files")
    parser.add_argument("--check", action="store_true", help="fail if a target is missed")
    options = parser.parse_args()
    costs: dict[str, dict[bool, list[float]]] = {}
    with tempfile.TemporaryDirectory() as folder:
        source = _source(Path(folder), options.rows)
        for number in range(options.samples + 1):
            for on in (True, False) if number % 2 else (False, True):
                for name, cpu_s in _sample(Path(folder) / "lake", source, checksums=on):
                    if number:  # the first one warms up
                        costs.setdefault(name, {True: [], False: []})[on].append(cpu_s)
    ratios = {}
    for name, cost in costs.items():
        pairs = [on / off for on, off in zip(cost[True], cost[False], strict=True)]
        low, middle, high = statistics.quantiles(pairs)
        ratios[f"{name}: with checksums / without"] = round(middle, 4)
        spread = f"ratio {middle:.3f} [{low:.3f}-{high:.3f}]"
        cpu_s = statistics.median(cost[True])
        print(f"{name:24} n={options.samples} {cpu_s:.3f} s of CPU with checksums, {spread}")
    missed = finish("checksums", ratios, TARGETS)
    return int(bool(missed) and options.check)


def _source(folder: Path, rows: int) -> Path:
    """Write source files of numbers and texts, and a load of every hundredth row."""
    random = np.random.default_rng(7)
    for number in range(FILES):
        ids = np.arange(number * rows, (number + 1) * rows)
        columns: dict[str, Any] = {"id": ids, "n": np.zeros(rows, np.int64)}
        for at in range(COLUMNS):
            values = random.integers(0, 10 ** (at % 6 + 1), rows)
            columns[f"c{at}"] = values if at % 2 else pa.array(values.astype(str))
        table = pa.table(columns)
        for place in ("source", "landing"):
            (folder / place / "p=1").mkdir(parents=True, exist_ok=True)
        pq.write_table(table, folder / "source" / "p=1" / f"{number}.parquet")
        changed = table.take(pa.array(np.arange(0, rows, 100)))
        changed = changed.set_column(1, "n", pa.array(np.ones(changed.num_rows, np.int64)))
        changed = changed.append_column("p", pa.array(np.ones(changed.num_rows, np.int32)))
        pq.write_table(changed, folder / "landing" / f"{number}.parquet")
    return folder


def _sample(lake: Path, source: Path, *, checksums: bool) -> Iterator[tuple[str, float]]:
    """Yield name and seconds of CPU of each part, on new tables."""
    for mode, name in (("metadata_only", "skeletons"), ("full_record", "full records")):
        shutil.rmtree(lake, ignore_errors=True)
        lake.mkdir()
        adopt = partial(_adopt, lake, source, mode)
        yield f"bootstrap, {name}", _timed(adopt, checksums=checksums)
    yield "upsert", _timed(partial(_upsert, lake, source), checksums=checksums)


def _timed(work: Callable[[], None], *, checksums: bool) -> float:
    """Return the seconds of CPU of the work, with or without checksums."""
    with ExitStack() as stack:
        if not checksums:
            for each in _without():
                stack.enter_context(each)
        begun = time.process_time()
        work()
        return time.process_time() - begun


def _without() -> list[Any]:
    """Return the patches that disable page checksums, seals and their verification."""
    made = pq.ParquetWriter.__init__

    def plain(self: Any, *args: Any, **options: Any) -> None:
        made(self, *args, **{**options, "write_page_checksum": False})

    def bare(data: Any) -> bytes:
        return bytes(pa.py_buffer(data).to_pybytes())

    def blank(footer: bytes, _chunks: object) -> bytes:
        return footer

    return [
        patch.object(pq.ParquetWriter, "__init__", plain),
        patch.object(base_file, "sealed", bare),
        patch.object(skeleton_bytes, "sealed_footer", blank),
        patch.object(skeleton_bytes.zlib, "crc32", lambda _: 0),
        patch.object(column_chunks, "sealed_footer", blank),
        patch.object(SealedFooter, "read", classmethod(_unchecked)),
        patch.object(column_chunks, "check_pages", lambda _: None),
    ]


def _unchecked(kind: type[SealedFooter], source: Any) -> SealedFooter:
    """Return a footer without its seal."""
    return kind(metadata=pq.read_metadata(source), checksums=None)


def _table(lake: Path) -> dict[str, Any]:
    return {
        "name": "bench.sealed",
        "location": str(lake / "table"),
        "type": "copy_on_write",
        "partition_by": {"p": "int"},
        "record_key": {"columns": ["id"], "unique_within": "table"},
        "ordering": {"columns": ["n"]},
    }


def _adopt(lake: Path, source: Path, mode: str) -> None:
    begin = {"path": str(source / "source"), "layout": "hive", "mode": mode}
    _run(lake, {"version": 1, "table": _table(lake), "bootstrap": begin})


def _upsert(lake: Path, source: Path) -> None:
    begin = {"path": str(source / "source"), "layout": "hive", "mode": "full_record"}
    more = {"source": {"path": str(source / "landing")}, "write": {"operation": "upsert"}}
    _run(lake, {"version": 1, "table": _table(lake), "bootstrap": begin, **more})


def _run(lake: Path, document: dict[str, Any]) -> None:
    spec = lake / "bench.pipeline.yml"
    spec.write_text(json.dumps(document))
    tasks = InProcessTasks(1)
    with tempfile.TemporaryDirectory() as scratch:
        plan = prepare(Request(path=spec), PlanningContext(tasks=tasks, scratch=Path(scratch))).plan
        if run(plan, tasks).instant is None:
            raise RuntimeError("the run had nothing to do")


if __name__ == "__main__":
    sys.exit(main())
