"""The sorted list of source files with their fingerprints, as one Arrow IPC file.

A file's position in it, from 0, is its *number*. It is part of names, sequence numbers and
journals, and therefore frozen for a run. Batches have a fixed number of rows, so any range can be
read without the rest.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, BinaryIO, Final

import pyarrow as pa

from framework.errors import CorruptFileError, Where
from framework.hudi.bootstrap.fingerprint import Fingerprint
from framework.hudi.storage.locations import open_storage

__all__ = [
    "BATCH_ROWS",
    "INVENTORY_SCHEMA",
    "InventoryFile",
    "InventoryHandle",
    "InventoryWriter",
    "read_batches",
    "read_files",
    "read_range",
]

BATCH_ROWS: Final = 4096

INVENTORY_SCHEMA: Final = pa.schema(
    [
        pa.field("number", pa.int64(), nullable=False),
        pa.field("partition_path", pa.string(), nullable=False),
        pa.field("path", pa.string(), nullable=False),
        pa.field("size", pa.int64(), nullable=False),
        pa.field("mtime_ns", pa.int64(), nullable=False),
        pa.field("etag", pa.string(), nullable=False),
        pa.field("footer_length", pa.int64(), nullable=False),
        pa.field("footer_sha256", pa.binary(32), nullable=False),
        pa.field("rows", pa.int64(), nullable=False),
        pa.field("row_groups", pa.list_(pa.int64()), nullable=False),
        pa.field("schema_hash", pa.string(), nullable=False),
        pa.field("traits", pa.list_(pa.string()), nullable=False),
    ]
)
"""One row per source file, sorted by the UTF-8 bytes of `partition_path`, then of `path`.

Both are relative to the source root. The other columns are those of `Fingerprint`; `traits` holds
values of `SourceTrait`.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class InventoryHandle:
    """The location of an inventory, and its totals.

    Attributes:
        path: full location of the file, readable by every task.
        sha256: hash of the file's bytes; inventories of an unchanged source are equal.
        files: number of source files.
        rows: total rows.
        bytes: total size.
    """

    path: str
    sha256: str
    files: int
    rows: int
    bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class InventoryFile:
    """One row of an inventory."""

    number: int
    partition_path: str
    fingerprint: Fingerprint


class InventoryWriter:
    """Writer of an inventory from tables in sorted order; it assigns the numbers."""

    def __init__(self, out: BinaryIO) -> None:
        self._hashing = _HashingOutput(out)
        self._sink = pa.PythonFile(self._hashing, "w")
        self._writer = pa.ipc.new_file(self._sink, INVENTORY_SCHEMA)
        self._waiting: list[Any] = []
        self._waiting_rows = 0
        self._files = self._rows = self._bytes = 0

    def add(self, files: Any) -> Any:
        """Append a table with all columns except `number`; return it with its numbers."""
        numbers = range(self._files, self._files + files.num_rows)
        numbered = files.add_column(0, "number", pa.array(numbers, pa.int64()))
        numbered = numbered.cast(INVENTORY_SCHEMA)
        self._files += numbered.num_rows
        self._rows += sum(numbered["rows"].to_pylist())
        self._bytes += sum(numbered["size"].to_pylist())
        self._waiting.append(numbered)
        self._waiting_rows += numbered.num_rows
        if self._waiting_rows >= BATCH_ROWS:
            self._flush(self._waiting_rows // BATCH_ROWS * BATCH_ROWS)
        return numbered

    def finish(self, path: str) -> InventoryHandle:
        """Write the rest and return the handle of the file, which is at `path`."""
        self._flush(self._waiting_rows)
        self._writer.close()
        return InventoryHandle(
            path=path,
            sha256=self._hashing.sha256.hexdigest(),
            files=self._files,
            rows=self._rows,
            bytes=self._bytes,
        )

    def _flush(self, rows: int) -> None:
        """Write the first `rows` waiting rows, in batches of the fixed size."""
        if not rows:
            return
        table = pa.concat_tables(self._waiting).combine_chunks()
        self._writer.write_table(table.slice(0, rows), max_chunksize=BATCH_ROWS)
        rest = table.slice(rows)
        self._waiting = [rest] if rest.num_rows else []
        self._waiting_rows = rest.num_rows


class _HashingOutput:
    """A binary output that hashes the bytes written to it."""

    def __init__(self, out: BinaryIO) -> None:
        self._out = out
        self.sha256 = hashlib.sha256()
        self.closed = False

    def write(self, data: bytes) -> int:
        """Hash and write `data`."""
        self.sha256.update(data)
        return self._out.write(data)

    def flush(self) -> None:
        """Do nothing: nothing is buffered."""

    def close(self) -> None:
        """Leave the underlying output open for its owner."""
        self.closed = True


def read_batches(handle: InventoryHandle, start: int = 0, stop: int | None = None) -> Iterator[Any]:
    """Yield the rows `start` (inclusive) to `stop` (exclusive) as record batches.

    Raises:
        CorruptFileError: `inventory/corrupt`.
    """
    stop = handle.files if stop is None else stop
    folder, _, name = handle.path.rpartition("/")
    with open_storage(folder or "/").open_input(name) as stream:
        try:
            reader = pa.ipc.open_file(stream)
            for index in range(start // BATCH_ROWS, -(-stop // BATCH_ROWS)):
                first = index * BATCH_ROWS
                begin = max(start - first, 0)
                yield reader.get_batch(index).slice(begin, stop - first - begin)
        except (pa.ArrowException, OSError) as error:
            raise CorruptFileError(
                "inventory/corrupt",
                f"the inventory cannot be read: {error}",
                where=Where(file=handle.path),
                remedy="Run again with --fresh.",
            ) from error


def read_range(handle: InventoryHandle, start: int, stop: int) -> Any:
    """Return the rows `start` (inclusive) to `stop` (exclusive) as one table."""
    return pa.Table.from_batches(read_batches(handle, start, stop), INVENTORY_SCHEMA)


def read_files(handle: InventoryHandle, start: int, stop: int) -> Iterator[InventoryFile]:
    """Yield the rows `start` (inclusive) to `stop` (exclusive) one by one."""
    for batch in read_batches(handle, start, stop):
        for row in batch.to_pylist():
            row["row_groups"] = tuple(row["row_groups"])
            row["footer_sha256"] = row["footer_sha256"].hex()
            del row["traits"]
            number, partition = row.pop("number"), row.pop("partition_path")
            yield InventoryFile(
                number=number, partition_path=partition, fingerprint=Fingerprint(**row)
            )
