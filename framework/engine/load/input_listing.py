"""The listing of a load's source: its files, and those that earlier loads took."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any, Final
from uuid import uuid4

import numpy as np
import pyarrow as pa

from framework.engine.places import canonical
from framework.engine.reading.table_memory import TableMemory, file_hash
from framework.errors import PlanError, Where
from framework.hudi.bootstrap.discovery import Ignored, SourceFile, discover
from framework.hudi.bootstrap.file_list import FILE_LIST_SCHEMA, write_file_list
from framework.hudi.storage.locations import open_storage
from framework.hudi.storage.port import Storage
from framework.hudi.table.layout import name_of, parent_of
from framework.plan.load import InputListing, LoadRequest

__all__ = ["list_input"]

_BATCH: Final = 4096
_MOST_FILES: Final = 250_000


def list_input(
    table: Storage, request: LoadRequest, memory: TableMemory | None, scratch: Path
) -> InputListing:
    """Return the files that a load takes, and how many earlier loads took.

    Costs a listing of each folder of the source; the list of the files is written to `scratch`.
    Until then it is held as Arrow, about 100 bytes a file. `memory` is that of the table, None
    without one.

    Raises:
        PlanError: `source/missing`, `load/too-many-files`, or see `discover`.
        CorruptFileError: `load/facts-not-readable`.
        StorageError: a folder cannot be listed.
    """
    is_done = bool(memory and request.run_id and memory.has_run(table, request.run_id))
    if request.input is not None and request.input.files is not None:
        return _as_named(tuple(request.input.files), is_done=is_done)
    if request.input is None or request.input.path is None or not request.is_folder:
        return InputListing(is_done=is_done)
    root, found = _files(request.input.path)
    batches = list(_batches(found))
    hashes = np.concatenate([np.empty(0, np.uint64), *(each["hash"] for each in batches)])
    known = memory.loaded.get(request.source_id) if memory is not None else None
    loaded = np.zeros(hashes.size, np.bool_) if known is None else known.holds(table, hashes)
    skipped = loaded if request.only_new else np.zeros_like(loaded)
    scratch_storage = open_storage(str(scratch.absolute()))
    name = f"input-{uuid4().hex}.arrow"
    files = write_file_list(scratch_storage, name, root, _chosen(batches, loaded, skipped))
    return InputListing(
        files=files,
        bytes=files.bytes,
        earlier_files=int(np.count_nonzero(loaded)),
        sha256=files.sha256,
        has_folders=files.has_folders,
        is_done=is_done,
    )


def _as_named(paths: tuple[str, ...], *, is_done: bool) -> InputListing:
    """Return the files that the request names, none of which is remembered."""
    entries = [open_storage(parent_of(path)).stat(name_of(path)) for path in paths]
    size = sum(each.size for each in entries if each)
    return InputListing(files=paths, bytes=size, is_done=is_done)


def _files(path: str) -> tuple[str, Iterator[SourceFile]]:
    """Return the root of a source, and its files by path."""
    root = canonical(path)
    storage = open_storage(root)
    if storage.stat("") is None:
        raise PlanError(
            "source/missing",
            f"there is nothing at {path}",
            where=Where(file=path),
            remedy="Correct `source.path`, or mount the missing storage.",
        )
    return root, _bounded(discover(storage, 0, Ignored()), path)


def _bounded(files: Iterable[SourceFile], path: str) -> Iterator[SourceFile]:
    """Yield the files; raise at the first beyond the most that one load takes."""
    for number, each in enumerate(files):
        if number == _MOST_FILES:
            raise PlanError(
                "load/too-many-files",
                f"the source has more than {_MOST_FILES:,} files, the most that one load takes",
                where=Where(file=path),
                remedy="Move loaded files elsewhere, or load subfolders by separate specs.",
            )
        yield each


def _batches(files: Iterable[SourceFile]) -> Iterator[Any]:
    """Yield the files as record batches, all as new."""
    rest = iter(files)
    while some := list(islice(rest, _BATCH)):
        columns = {
            "path": [each.path for each in some],
            "size": [each.size for each in some],
            "mtime_ns": [each.mtime_ns for each in some],
            "hash": [file_hash(each.path, each.size, each.mtime_ns) for each in some],
            "is_new": [True] * len(some),
        }
        yield pa.record_batch(columns, schema=FILE_LIST_SCHEMA)


def _chosen(batches: Iterable[Any], loaded: np.ndarray, skipped: np.ndarray) -> Iterator[Any]:
    """Yield the batches without the rows that are skipped, and with those loaded not as new."""
    place = FILE_LIST_SCHEMA.get_field_index("is_new")
    first = 0
    for batch in batches:
        stop = first + batch.num_rows
        marked = batch.set_column(
            place, FILE_LIST_SCHEMA.field(place), pa.array(~loaded[first:stop])
        )
        yield marked.filter(pa.array(~skipped[first:stop]))
        first = stop
