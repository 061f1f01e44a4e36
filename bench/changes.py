"""Input of `bench/write.py`: changes to lineitem, and lineitem in files without partitions."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from datasets import DataSet

__all__ = ["changes_of", "daily_changes", "flat_copy"]

_EVERY: Final = 100
_NEW_EVERY: Final = 1_000
_NEW_KEYS: Final = 1_000_000_000
_FLAT_FILES: Final = 8


def changes_of(source: DataSet, data_dir: Path) -> Path:
    """Return a folder with one file: every hundredth row changed, and a tenth as many new rows."""
    folder = data_dir / f"{source.name}.changes"
    if not folder.is_dir():
        parts = [p for f in source.files for p in _changed(source, f, f.stat().st_size % 7)]
        _write_whole(folder, [pa.concat_tables(parts)])
    return folder


def daily_changes(source: DataSet, data_dir: Path, days: int) -> Path:
    """Return a folder with a file `day-NN.parquet` per day, from 1; no two change the same rows."""
    folder = data_dir / f"{source.name}.days-{days}"
    if not folder.is_dir():
        unfinished = folder.with_name(f"{folder.name}.unfinished")
        shutil.rmtree(unfinished, ignore_errors=True)
        unfinished.mkdir(parents=True)
        for day in range(1, days + 1):
            parts = [p for f in source.files for p in _changed(source, f, day, day * _NEW_KEYS)]
            pq.write_table(pa.concat_tables(parts), unfinished / f"day-{day:02}.parquet")
        unfinished.rename(folder)
    return folder


def flat_copy(source: DataSet, data_dir: Path) -> Path:
    """Return a folder with the source's rows in files that include the partition column."""
    folder = data_dir / f"{source.name}.flat"
    if not folder.is_dir():
        rows = pa.concat_tables(_with_partition(source, path) for path in source.files)
        order = np.random.default_rng(7).permutation(rows.num_rows)
        step = -(-rows.num_rows // _FLAT_FILES)
        mixed = rows.combine_chunks().take(pa.array(order))
        _write_whole(folder, [mixed.slice(n * step, step) for n in range(_FLAT_FILES)])
    return folder


def _changed(
    source: DataSet, path: Path, start: int, new_keys: int = _NEW_KEYS
) -> Iterator[pa.Table]:
    """Yield the changes to one source file: updates, from row `start`, then new rows."""
    rows = _with_partition(source, path)
    places = np.arange(start, rows.num_rows, _EVERY)
    at = rows.schema.get_field_index(source.measure)
    old = rows.take(pa.array(places))
    raised = pc.add(old[source.measure], pa.scalar(1, pa.int32())).cast(old.schema.field(at).type)
    yield old.set_column(at, old.schema.field(at), raised)
    new = rows.take(pa.array(places[:: _NEW_EVERY // _EVERY]))
    key = new.schema.get_field_index(source.keys[0])
    moved = pc.add(new[source.keys[0]], new_keys).cast(new.schema.field(key).type)
    yield new.set_column(key, new.schema.field(key), moved)


def _with_partition(source: DataSet, path: Path) -> pa.Table:
    """Return the rows of one source file with the partition column appended."""
    rows = pq.read_table(path, partitioning=None)
    value = int(path.parent.name.partition("=")[2])
    return rows.append_column(source.partition, pa.array(np.full(len(rows), value, np.int32)))


def _write_whole(folder: Path, parts: list[pa.Table]) -> None:
    """Write files into a folder that gets its name once all are written."""
    unfinished = folder.with_name(f"{folder.name}.unfinished")
    shutil.rmtree(unfinished, ignore_errors=True)
    unfinished.mkdir(parents=True)
    for number, part in enumerate(parts):
        pq.write_table(part, unfinished / f"part-{number:05d}.parquet", compression="snappy")
    unfinished.rename(folder)
