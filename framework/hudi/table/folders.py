"""The folders of a table, without those of other tables and of its source inside it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from framework.errors import StorageError
from framework.hudi.storage.port import Entry, Storage
from framework.hudi.table.layout import HOODIE, PARTITION_METADATA

__all__ = ["Folder", "folders"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Folder:
    """A listed folder of a table.

    Attributes:
        path: relative to the table; "" is its root.
        entries: its children by name.
        is_partition: whether it has partition metadata; then it is not searched further.
        is_own: False for a folder of the source, of another table, or behind a symbolic link, of
            which nothing is listed.
    """

    path: str
    entries: tuple[Entry, ...] = ()
    is_partition: bool = False
    is_own: bool = True


def folders(storage: Storage, apart: frozenset[str] = frozenset()) -> Iterator[Folder]:
    """Yield the folders of a table outside `.hoodie`, parents first; costs one listing each.

    Args:
        storage: the table.
        apart: paths of folders that are not the table's.
    """
    yield from _below(storage, "", apart)


def _below(storage: Storage, path: str, apart: frozenset[str]) -> Iterator[Folder]:
    try:
        entries = tuple(storage.list(path))
    except StorageError as error:
        if error.condition != "storage/symbolic-link":
            raise
        yield Folder(path=path, is_own=False)
        return
    names = {each.name for each in entries}
    if path and (path in apart or HOODIE in names):
        yield Folder(path=path, is_own=False)
        return
    marked = PARTITION_METADATA in names
    yield Folder(path=path, entries=entries, is_partition=marked)
    for entry in () if marked else entries:
        if entry.is_folder and entry.path != HOODIE:
            yield from _below(storage, entry.path, apart)
