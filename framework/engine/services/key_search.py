"""The task that searches base and log files for record keys.

A bloom filter excludes a base file; all others have their keys read, so that no holder is missed.
Bounds of keys are not used: writers compare texts in different orders. Every block of a log file is
searched, also those of instants that were rolled back.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from framework.engine.reading.slice_rows import SliceFiles, SliceTable, slice_columns
from framework.engine.shares import shared
from framework.engine.tasks import Tasks, decode, encode
from framework.hudi.filegroup.key_footer import read_key_footer
from framework.hudi.filegroup.log_changes import every_change
from framework.hudi.filegroup.names import BaseFileName
from framework.hudi.storage.locations import open_storage
from framework.hudi.table.layout import MetaField, name_of

__all__ = ["Held", "SearchTask", "search_keys", "search_task"]

_KEY = MetaField.RECORD_KEY.value


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchTask:
    """Files to search, by their paths in the table, and the keys."""

    slices: SliceTable
    keys: tuple[str, ...]
    files: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Held:
    """A file that holds some of the keys, or may.

    Attributes:
        path: of the file.
        keys: those that it holds, in the order of the search.
        is_torn: whether it is a log file with bytes that are not a block.
    """

    path: str
    keys: tuple[str, ...]
    is_torn: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundKeys:
    """The files of a task that hold a key, or may."""

    files: tuple[Held, ...]


def search_keys(
    tasks: Tasks, table: SliceTable, keys: Sequence[str], files: Mapping[str, int]
) -> dict[str, Held]:
    """Return the files that hold one of the keys, or may, by path.

    Args:
        tasks: search the files, shared among them by bytes.
        table: the parameters of their table.
        keys: record keys, each once.
        files: sizes by path in the table; of base and log files.

    Raises:
        CorruptFileError, UnsupportedTableError: a file cannot be read.
    """
    parts = shared(list(files), files.__getitem__, tasks.parallelism) if files else []
    descriptors = [
        encode(SearchTask(slices=table, keys=tuple(keys), files=tuple(part))) for part in parts
    ]
    found = (decode(FoundKeys, each) for each in tasks.run(search_task, descriptors))
    return {each.path: each for part in found for each in part.files}


def search_task(descriptor: str) -> str:
    """Search the files of a `SearchTask`; return the `FoundKeys` as JSON.

    Raises:
        CorruptFileError, UnsupportedTableError: a file cannot be read.
    """
    task = decode(SearchTask, descriptor)
    keys = pa.array(task.keys, pa.string())
    found = (_searched(task.slices, path, keys) for path in task.files)
    return encode(FoundKeys(files=tuple(each for each in found if each.keys or each.is_torn)))


def _searched(table: SliceTable, path: str, keys: pa.Array) -> Held:
    """Return what one file holds."""
    if BaseFileName.parse(name_of(path)) is not None:
        return Held(path=path, keys=_in_base(table, path, keys))
    names = pa.array([], pa.string())
    is_torn = False
    for change in _blocks(table, path):
        is_torn = is_torn or change is None
        names = pa.concat_arrays([names, change]) if change is not None else names
    return Held(path=path, keys=_met(keys, names), is_torn=is_torn)


def _in_base(table: SliceTable, path: str, keys: pa.Array) -> tuple[str, ...]:
    """Return the keys that a base file holds."""
    may = read_key_footer(open_storage(table.location), path).might_contain(keys)
    left = keys if may is None else keys.filter(pa.array(np.asarray(may, dtype=bool)))
    if not len(left):
        return ()
    rows = slice_columns(table, SliceFiles(base=path), [_KEY])
    return _met(left, rows[_KEY])


def _blocks(table: SliceTable, path: str) -> Iterator[pa.Array | None]:
    """Yield the keys of each block of a log file, written or deleted; None for a torn one."""
    schema = pa.schema([pa.field(_KEY, pa.string())])
    for change in every_change(open_storage(table.location), path, schema):
        if change is None:
            yield None
        elif change.rows is None:
            yield pa.array([each.record_key for each in change.deleted], pa.string())
        else:
            yield change.rows[_KEY].combine_chunks()


def _met(keys: pa.Array, there: pa.Array | pa.ChunkedArray) -> tuple[str, ...]:
    """Return which keys are among others."""
    found: tuple[str, ...] = tuple(keys.filter(pc.is_in(keys, value_set=_flat(there))).to_pylist())
    return found


def _flat(texts: pa.Array | pa.ChunkedArray) -> pa.Array:
    return texts.combine_chunks() if isinstance(texts, pa.ChunkedArray) else texts
