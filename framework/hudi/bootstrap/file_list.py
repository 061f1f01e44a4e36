"""A list of many files as one Arrow IPC file: a plan holds its handle, not a path for each."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from framework.hudi.codecs.hash_sort import distinct
from framework.hudi.storage.locations import open_storage
from framework.hudi.storage.port import Storage

__all__ = ["FILE_LIST_SCHEMA", "FileList", "read_file_list", "write_file_list"]

_BATCH_ROWS: Final = 4096

FILE_LIST_SCHEMA: Final = pa.schema(
    [
        pa.field("path", pa.string(), nullable=False),
        pa.field("size", pa.int64(), nullable=False),
        pa.field("mtime_ns", pa.int64(), nullable=False),
        pa.field("hash", pa.uint64(), nullable=False),
        pa.field("is_new", pa.bool_(), nullable=False),
    ]
)
"""One row per file. `path` is relative to the list's root, `hash` is how a table's memory knows the
file, and `is_new` says that it does not know it yet."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FileList:
    """A handle of a list; as a collection, the absolute paths of its files in order.

    Each iteration reads the list, one batch at a time.

    Attributes:
        folder: location of the folder that contains the list.
        name: the list's name in it.
        root: location of the folder that paths are relative to.
        files: number of files.
        bytes: their total size.
        sha256: over paths, sizes and times.
        has_folders: whether some of them are in folders named `column=value`.
    """

    folder: str
    name: str
    root: str
    files: int
    bytes: int
    sha256: str
    has_folders: bool

    def __len__(self) -> int:
        """Return the number of files."""
        return self.files

    def __iter__(self) -> Iterator[str]:
        """Yield the absolute paths."""
        for batch in self._batches():
            for path in batch["path"].to_pylist():
                yield f"{self.root}/{path}"

    def __contains__(self, path: object) -> bool:
        """Return whether one of the files has this absolute path; reads the list."""
        return any(path == each for each in self)

    def new_hashes(self) -> np.ndarray:
        """Return the distinct hashes of files that the table's memory lacks, ascending."""
        found = [
            batch["hash"].filter(batch["is_new"]).to_numpy(zero_copy_only=False)
            for batch in self._batches()
        ]
        return distinct(np.concatenate([np.empty(0, np.uint64), *found]))

    def _batches(self) -> Iterator[Any]:
        return read_file_list(open_storage(self.folder), self.name)


def read_file_list(storage: Storage, name: str) -> Iterator[Any]:
    """Yield the list's rows as record batches of `FILE_LIST_SCHEMA`."""
    with storage.open_input(name) as stream:
        reader = pa.ipc.open_file(stream)
        for at in range(reader.num_record_batches):
            yield reader.get_batch(at)


def write_file_list(storage: Storage, name: str, root: str, batches: Iterable[Any]) -> FileList:
    """Write record batches of `FILE_LIST_SCHEMA` as a new list; it need not survive a power loss.

    Args:
        storage: where to write it.
        name: the list's name.
        root: as of `FileList`.
        batches: in order; batches without rows are omitted.
    """
    files = size = 0
    has_folders = False
    digest = hashlib.sha256()
    with (
        storage.create(name, durable=False) as out,
        pa.ipc.new_file(out, FILE_LIST_SCHEMA) as writer,
    ):
        for batch in batches:
            if batch.num_rows:
                writer.write_table(pa.Table.from_batches([batch]), max_chunksize=_BATCH_ROWS)
            files += batch.num_rows
            size += pc.sum(batch["size"]).as_py() or 0
            columns = (batch[each].to_pylist() for each in ("path", "size", "mtime_ns"))
            for path, length, mtime_ns in zip(*columns, strict=True):
                digest.update(f"{path}\0{length}\0{mtime_ns}\n".encode())
                has_folders = has_folders or "=" in path.rpartition("/")[0]
    return FileList(
        folder=storage.location,
        name=name,
        root=root,
        files=files,
        bytes=size,
        sha256=digest.hexdigest(),
        has_folders=has_folders,
    )
