"""Files created under their own name, whole and exclusively, by any number of equal attempts."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import BinaryIO, cast

from framework.errors import CommitConflictError, StorageError, Where
from framework.hudi.storage.checksum import Crc32cOutput, file_crc32c
from framework.hudi.storage.port import Move, Storage, uploads_of

__all__ = ["create_bytes", "create_whole", "created_same", "name_taken", "read_bytes"]


def create_bytes(storage: Storage, path: str, data: bytes) -> None:
    """Create a file under its own name, exclusively; if it exists, it must hold `data`.

    Raises:
        CommitConflictError: `commit/name-taken`.
    """
    with created_same(storage, path) as out:
        out.write(data)


@contextlib.contextmanager
def created_same(storage: Storage, path: str) -> Iterator[BinaryIO]:
    """Open a new file; on a clean exit, a file that has the name must hold the same bytes.

    Raises:
        CommitConflictError: `commit/name-taken`.
    """
    checked: Crc32cOutput | None = None
    try:
        with storage.create(path) as out:
            checked = Crc32cOutput(out)
            yield cast("BinaryIO", checked)
    except StorageError as error:
        if error.condition != "storage/exists" or checked is None:
            raise
        entry = storage.stat(path)
        same_size = entry is not None and entry.size == checked.size
        if not same_size or file_crc32c(storage, path) != checked.crc32c:
            raise name_taken(storage, path) from error


def create_whole(storage: Storage, path: str, temporary: str, data: bytes) -> None:
    """Create a file whole and exclusively; where files move, under a temporary name first.

    Raises:
        StorageError: among others `storage/exists`; no temporary file is left by a refused name.
    """
    if uploads_of(storage) is not None:
        temporary = path
    with storage.create(temporary) as out:
        out.write(data)
    if temporary == path:
        return
    try:
        storage.move([Move(source=temporary, target=path)])
    except StorageError:
        storage.delete(temporary)
        raise


def read_bytes(storage: Storage, path: str) -> bytes:
    """Return all bytes of a small file."""
    with storage.open_input(path) as source:
        return bytes(source.read())


def name_taken(storage: Storage, path: str) -> CommitConflictError:
    """Return the error for a name that another writer gave to other bytes."""
    return CommitConflictError(
        "commit/name-taken",
        "another writer has made a file of this name with other bytes",
        where=Where(file=f"{storage.location}/{path}"),
        remedy="Nothing was published. Check for other writers to this table, then run again.",
    )
