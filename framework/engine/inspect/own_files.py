"""The folders of a table, without those of its source and of other tables inside them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass

from framework.engine.places import canonical
from framework.engine.reading.table_memory import read_memory
from framework.errors import FrameworkError, StorageError
from framework.hudi.bootstrap.index import BootstrapIndex
from framework.hudi.storage.locations import open_storage
from framework.hudi.storage.port import Entry, Storage
from framework.hudi.table.layout import HOODIE, PARTITION_METADATA, join
from framework.hudi.table.properties import TableProperties
from framework.hudi.timeline.timeline import Timeline

__all__ = ["Folder", "folders", "folders_apart", "is_within", "sources_of"]


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


def sources_of(
    storage: Storage, properties: TableProperties | None, timeline: Timeline
) -> frozenset[str]:
    """Return the canonical locations of the sources that a table was bootstrapped from.

    Of the properties, the bootstrap index and the table's memory, those that can be read.
    """
    found = {properties.bootstrap_base_path if properties else None}
    with suppress(FrameworkError):
        memory = read_memory(storage, timeline)
        found.add(memory.facts.source if memory and memory.facts else None)
    with suppress(FrameworkError):
        index = BootstrapIndex.open(storage)
        if index is not None:
            with index:
                found.add(index.base_uri)
    return frozenset(_location(each) for each in found if each)


def folders_apart(storage: Storage, sources: frozenset[str]) -> frozenset[str]:
    """Return the paths, relative to a table, of the sources inside it."""
    root = canonical(storage.location)
    inside = (each for each in sources if is_within(each, root) and each != root)
    return frozenset(join(each.removeprefix(root).strip("/")) for each in inside)


def is_within(location: str, root: str) -> bool:
    """Return whether a canonical location is another one or inside it."""
    return f"{location}/".startswith(f"{root.rstrip('/')}/")


def _location(uri: str) -> str:
    """Return a location as a storage names it; a scheme that is not built stays as it is."""
    try:
        return canonical(open_storage(uri).location)
    except FrameworkError:
        return uri
