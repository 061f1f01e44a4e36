"""The input files of a load: which are new, and the rows, sizes and columns in their footers."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from framework.engine.load.job import InputFile
from framework.engine.load.schema_evolution import InputSchema
from framework.engine.places import canonical
from framework.engine.reading.table_memory import TableMemory, file_hash
from framework.errors import CorruptFileError, PlanError, SourceDriftError, Where
from framework.hudi.bootstrap.discovery import Ignored, SourceFile, discover
from framework.hudi.codecs.parquet_seal import UNREADABLE
from framework.hudi.storage.locations import open_storage
from framework.hudi.storage.port import Entry, Storage
from framework.hudi.table.layout import name_of, parent_of
from framework.hudi.table.schema import parquet_schema, unify
from framework.plan.load import InputListing, LoadRequest

__all__ = ["InputFooters", "input_footers", "list_input"]

_READERS = 8
_BATCH = 4096


@dataclass(frozen=True, slots=True, kw_only=True)
class InputFooters:
    """The files of an input.

    Attributes:
        files: in the order of the input.
        schemas: the columns of the first file, then of each file that differs from the file
            before it; empty without files.
    """

    files: tuple[InputFile, ...]
    schemas: tuple[InputSchema, ...]

    def united(self) -> pa.Schema:
        """Return one schema that all files fit into.

        Raises:
            CorruptFileError: `input/schema-conflict`.
        """
        seen = {each.number: each for each in reversed(self.schemas)}
        first = [seen[number] for number in sorted(seen)]
        found = unify([each.schema for each in first])
        for conflict in found.conflicts:
            raise CorruptFileError(
                "input/schema-conflict",
                f"column '{conflict.column}' is {conflict.right}, but {conflict.left} in"
                f" {first[conflict.left_index].file}",
                where=Where(file=first[conflict.right_index].file),
                remedy="Write it in one type, or move such files to a separate folder and load"
                " them with a transform that casts it.",
            )
        return found.schema


def input_footers(paths: Sequence[str]) -> InputFooters:
    """Read the footers of files, several at once.

    Raises:
        SourceDriftError: `input/drift`; a file is missing.
        CorruptFileError: `input/corrupt-file`.
    """
    files: list[InputFile] = []
    distinct: list[pa.Schema] = []
    schemas: list[InputSchema] = []
    with ThreadPoolExecutor(_READERS) as pool:
        for first in range(0, len(paths), _BATCH):
            some = paths[first : first + _BATCH]
            for path, (entry, metadata) in zip(some, pool.map(_footer, some), strict=True):
                schema = parquet_schema(metadata)
                if schema not in distinct:
                    distinct.append(schema)
                number = distinct.index(schema)
                if not schemas or schemas[-1].number != number:
                    schemas.append(InputSchema(number=number, schema=distinct[number], file=path))
                files.append(
                    InputFile(
                        number=len(files),
                        path=path,
                        size=entry.size,
                        mtime_ns=entry.mtime_ns,
                        rows=metadata.num_rows,
                    )
                )
    return InputFooters(files=tuple(files), schemas=tuple(schemas))


def _footer(path: str) -> tuple[Entry, pq.FileMetaData]:
    """Return a file's current entry, and its footer."""
    folder, name = open_storage(parent_of(path)), name_of(path)
    entry = folder.stat(name)
    if entry is None:
        raise SourceDriftError(
            "input/drift",
            "an input file is missing",
            where=Where(file=path),
            remedy="Nothing was published. Run the same command again.",
        )
    try:
        with folder.open_input(name) as stream:
            return entry, pq.ParquetFile(stream).metadata
    except UNREADABLE as error:
        raise CorruptFileError(
            "input/corrupt-file",
            f"an input file cannot be read: {error}",
            where=Where(file=path),
            remedy="Restore the file, or remove it from the source.",
        ) from error


_MOST_FILES: Final = 250_000


def list_input(table: Storage, request: LoadRequest, memory: TableMemory | None) -> InputListing:
    """Return the files that a load takes, and those that earlier loads took.

    Costs a listing of each folder of the source. `memory` is that of the table, None without one.

    Raises:
        PlanError: `source/missing`, `load/too-many-files`, or see `discover`.
        CorruptFileError: `load/facts-not-readable`.
        StorageError: a folder cannot be listed.
    """
    is_done = bool(memory and request.run_id and memory.has_run(table, request.run_id))
    if request.input is not None and request.input.files is not None:
        return _as_named(request.input.files, is_done=is_done)
    if request.input is None or request.input.path is None or not request.is_folder:
        return InputListing(is_done=is_done)
    root, files = _files(request.input.path)
    hashes = np.array([file_hash(e.path, e.size, e.mtime_ns) for e in files], np.uint64)
    known = memory.loaded.get(request.source_id) if memory is not None else None
    loaded = np.zeros(hashes.size, np.bool_) if known is None else known.holds(table, hashes)
    chosen = [
        each
        for each, is_loaded in zip(files, loaded, strict=True)
        if not (request.only_new and is_loaded)
    ]
    digest = hashlib.sha256()
    for each in chosen:
        digest.update(f"{each.path}\0{each.size}\0{each.mtime_ns}\n".encode())
    return InputListing(
        files=tuple(f"{root}/{each.path}" for each in chosen),
        bytes=sum(each.size for each in chosen),
        earlier_files=int(np.count_nonzero(loaded)),
        fresh=tuple(np.unique(hashes[~loaded]).tolist()),
        sha256=digest.hexdigest(),
        has_folders=any("=" in folder for each in chosen for folder in each.path.split("/")[:-1]),
        is_done=is_done,
    )


def _as_named(paths: tuple[str, ...], *, is_done: bool) -> InputListing:
    """Return the files that the request names, none of which is remembered."""
    entries = [open_storage(parent_of(path)).stat(name_of(path)) for path in paths]
    size = sum(each.size for each in entries if each)
    return InputListing(files=paths, bytes=size, is_done=is_done)


def _files(path: str) -> tuple[str, list[SourceFile]]:
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
    files = list(discover(storage, 0, Ignored()))
    if len(files) > _MOST_FILES:
        raise PlanError(
            "load/too-many-files",
            f"the source has {len(files):,} files; one load takes at most {_MOST_FILES:,}",
            where=Where(file=path),
            remedy="Move loaded files elsewhere, or load subfolders by separate specs.",
        )
    return root, files
