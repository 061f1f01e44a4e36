"""The bootstrap index of a large table: time to write it, bytes on disk, time to look up.

The mappings are made up, 70 files to a partition. `write` is the work of one core in parts as tasks
do it, `join` the driver's; the second does not shrink with more cores. Look-ups are of partitions
and single files at random, each with one read; opening reads the root index of both files.
The last line is one JSON object `{bench, ratios, targets, missed}`.
"""

from __future__ import annotations

import argparse
import io
import statistics
import sys
import tempfile
import time
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from random import Random

from contest import ROOT

sys.path.insert(0, str(ROOT))

from report import finish
from targets import INDEX_TARGETS

from framework.hudi.bootstrap.index import BootstrapIndex, IndexWriter, write_index_part
from framework.hudi.bootstrap.index_values import FileMapping, IndexGroup
from framework.hudi.storage.local import LocalStorage
from framework.hudi.table.layout import BOOTSTRAP_FILEIDS_INDEX, BOOTSTRAP_PARTITIONS_INDEX

__all__ = ["main"]

FILES_PER_PARTITION = 70
PARTITIONS_PER_PART = 72
LOOK_UPS = 200
BASE = "file:///lake/raw/orders"


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexCost:
    """Seconds and bytes of one index."""

    write_s: float
    join_s: float
    bytes_per_file: float
    open_ms: float
    partition_ms: float
    file_ms: float


def main() -> int:
    """Run the bench; return 1 with `--check` if a target is missed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--files", type=int, default=250_000)
    parser.add_argument("--check", action="store_true", help="fail if a target is missed")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        cost = _cost(Path(folder), options.files)
    print(
        f"{options.files:,} files: write {cost.write_s:.1f} s of one core, "
        f"join {cost.join_s:.2f} s, {cost.bytes_per_file:.0f} bytes per file; "
        f"open {cost.open_ms:.1f} ms, partition {cost.partition_ms:.2f} ms, "
        f"file {cost.file_ms:.2f} ms"
    )
    costs = {("index", "ours"): cost}
    ratios = {target.name: target.ratio(costs) for target in INDEX_TARGETS}
    missed = finish("index", ratios, INDEX_TARGETS)
    return int(bool(missed) and options.check)


def _cost(table: Path, files: int) -> IndexCost:
    paths = [table / BOOTSTRAP_PARTITIONS_INDEX, table / BOOTSTRAP_FILEIDS_INDEX]
    for path in paths:
        path.parent.mkdir(parents=True, exist_ok=True)
    known: list[tuple[str, str]] = []
    write_s = join_s = 0.0
    with paths[0].open("wb") as partitions, paths[1].open("wb") as fileids:
        writer = IndexWriter(partitions, fileids)
        for groups in _parts(files):
            known += [(each.partition_path, each.files[0].file_id) for each in groups]
            begun = time.perf_counter()
            blocks = io.BytesIO(), io.BytesIO()
            part = write_index_part(*blocks, groups)
            written = time.perf_counter()
            writer.add(part, *(io.BytesIO(each.getvalue()) for each in blocks))
            write_s += written - begun
            join_s += time.perf_counter() - written
        writer.finish(base_uri=BASE, created_ms=0)
    chosen = Random(7).sample(known, min(LOOK_UPS, len(known)))  # noqa: S311 - no secret
    storage = LocalStorage(str(table))

    with BootstrapIndex(storage) as index:
        return IndexCost(
            write_s=write_s,
            join_s=join_s,
            bytes_per_file=sum(path.stat().st_size for path in paths) / files,
            open_ms=_median_ms([lambda: BootstrapIndex(storage).close()] * 9),
            partition_ms=_median_ms([partial(index.mappings, path) for path, _ in chosen]),
            file_ms=_median_ms([partial(index.mapping, *each) for each in chosen]),
        )


def _parts(files: int) -> Iterator[list[IndexGroup]]:
    """Yield the partitions of each part."""
    partitions = -(-files // FILES_PER_PARTITION)
    random = Random(11)  # noqa: S311 - ids of a bench
    for first in range(0, partitions, PARTITIONS_PER_PART):
        numbers = range(first, min(partitions, first + PARTITIONS_PER_PART))
        yield [_group(number, files, random) for number in numbers]


def _group(number: int, files: int, random: Random) -> IndexGroup:
    path = f"day={number:06}"
    count = min(FILES_PER_PARTITION, files - number * FILES_PER_PARTITION)
    mappings = [
        FileMapping(
            file_id=str(uuid.UUID(int=random.getrandbits(128), version=4)),
            uri=f"{BASE}/{path}/part-{n:05}.snappy.parquet",
            size=random.randrange(10**6, 10**9),
            mtime_ms=1_700_000_000_000 + random.randrange(10**9),
        )
        for n in range(count)
    ]
    return IndexGroup(partition_path=path, source_partition=path, files=mappings)


def _median_ms(calls: list[Callable[[], object]]) -> float:
    """Return the median time of a call."""
    found = []
    for call in calls:
        begun = time.perf_counter()
        call()
        found.append((time.perf_counter() - begun) * 1_000)
    return statistics.median(found)


if __name__ == "__main__":
    sys.exit(main())
