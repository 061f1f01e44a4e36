"""A data set rewritten into shuffled files or into files in key order.

Shuffled files are unsorted, and the keys of each range over all keys; in ordered ones keys strictly
increase from file to file. Both are flat folders with all columns.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from datasets import DataSet
from pyarrow import ipc

__all__ = ["ARRANGEMENTS", "arranged", "planted"]

ARRANGEMENTS: Final = ("shuffled", "ordered")


def arranged(source: DataSet, how: str, data_dir: Path) -> DataSet:
    """Return the set arranged into the same number of files, creating it if missing."""
    made = replace(source, name=f"{source.name}.{how}", path=data_dir / f"{source.name}.{how}")
    made = replace(made, partition="", partition_type="")
    if not made.path.is_dir():
        unfinished = made.path.with_name(f"{made.path.name}.unfinished")
        shutil.rmtree(unfinished, ignore_errors=True)
        unfinished.mkdir(parents=True)
        {"shuffled": _shuffle, "ordered": _order}[how](source, unfinished)
        unfinished.rename(made.path)
    return made


def planted(source: DataSet, groups: int, rows: int, path: Path) -> DataSet:
    """Return a set with `groups` keys that occur in `rows` rows each; other files are links.

    One row of each key is the original in the last file. The copies replace rows of the first file,
    or are in a separate file if there are too many.
    """
    shutil.rmtree(path, ignore_errors=True)
    path.mkdir(parents=True)
    first, *others = source.files
    for other in others:
        (path / other.name).symlink_to(other.resolve())
    donors = pq.read_table(others[-1], partitioning=None)
    chosen = np.linspace(0, donors.num_rows - 1, groups).astype(np.int64)
    copies = donors.take(pa.array(np.repeat(chosen, rows - 1)))
    kept = pq.read_table(first, partitioning=None)
    if copies.num_rows > kept.num_rows:
        _write(copies, path / "planted.parquet")
    else:
        kept = _replaced(kept, copies)
    _write(kept, path / first.name)
    return replace(source, name=path.name, path=path)


def _replaced(rows: pa.Table, by: pa.Table) -> pa.Table:
    """Return the rows with some of them replaced, evenly spread."""
    gone = np.linspace(0, rows.num_rows - 1, by.num_rows).astype(np.int64)
    places = np.arange(rows.num_rows)
    places[gone] = rows.num_rows + np.arange(by.num_rows)
    return pa.concat_tables([rows, by]).take(pa.array(places))


def _shuffle(source: DataSet, folder: Path) -> None:
    """Distribute the rows of each file to all files at random, then shuffle each file."""
    random = np.random.default_rng(13)
    files = len(source.files)

    def target(rows: pa.Table) -> np.ndarray:
        return random.permutation(rows.num_rows) % files

    def shuffled(rows: pa.Table) -> pa.Table:
        return rows.combine_chunks().take(pa.array(random.permutation(rows.num_rows)))

    _deal(source, folder, target, shuffled)


def _order(source: DataSet, folder: Path) -> None:
    """Distribute the rows to files by ranges of the first key, then sort each file."""
    files = source.files
    key = source.keys[0]
    columns = [pq.read_table(file, columns=[key], partitioning=None)[key] for file in files]
    keys = np.sort(np.concatenate([column.to_numpy() for column in columns]))
    starts = keys[np.arange(1, len(files)) * keys.size // len(files)]

    def target(rows: pa.Table) -> np.ndarray:
        return np.searchsorted(starts, rows[key].to_numpy(), side="right")

    def ordered(rows: pa.Table) -> pa.Table:
        return rows.sort_by([(name, "ascending") for name in source.keys])

    _deal(source, folder, target, ordered)


def _deal(
    source: DataSet,
    folder: Path,
    target: Callable[[pa.Table], np.ndarray],
    finish: Callable[[pa.Table], pa.Table],
) -> None:
    """Write the same number of files; `target` returns the file of each row."""
    dealt = folder / "dealt"
    dealt.mkdir()
    files = source.files
    for number, file in enumerate(files):
        rows = pq.read_table(file, partitioning=None).combine_chunks()
        targets = target(rows)
        order = np.argsort(targets, kind="stable")
        cuts = np.searchsorted(targets[order], np.arange(len(files) + 1))
        (batch,) = rows.take(pa.array(order)).combine_chunks().to_batches()
        with ipc.new_file(dealt / str(number), batch.schema) as writer:
            for start, stop in pairwise(cuts.tolist()):
                writer.write_batch(batch.slice(start, stop - start))
    parts = [ipc.open_file(pa.memory_map(str(dealt / str(at)))) for at in range(len(files))]
    for number in range(len(files)):
        rows = pa.Table.from_batches([part.get_batch(number) for part in parts])
        _write(finish(rows), folder / f"part-{number:05d}.parquet")
    shutil.rmtree(dealt)


def _write(rows: pa.Table, path: Path) -> None:
    """Write one file like the set's own: snappy, no Arrow schema."""
    pq.write_table(rows, path, compression="snappy", store_schema=False)
