"""The sources that a table was bootstrapped from, and whether they are inside its folder."""

from __future__ import annotations

from contextlib import suppress

from framework.engine.places import canonical
from framework.engine.reading.table_memory import read_memory
from framework.errors import FrameworkError
from framework.hudi.bootstrap.index import BootstrapIndex
from framework.hudi.storage.locations import open_storage
from framework.hudi.storage.port import Storage
from framework.hudi.table.layout import join
from framework.hudi.table.properties import TableProperties
from framework.hudi.timeline.timeline import Timeline

__all__ = ["folders_apart", "is_within", "sources_of"]


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
