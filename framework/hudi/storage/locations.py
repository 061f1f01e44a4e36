"""Storages opened by location, as written by users and in descriptors."""

from __future__ import annotations

from framework.errors import NotYetBuiltError, PlanError, Where
from framework.hudi.storage.local import LocalStorage
from framework.hudi.storage.memory import MemoryStorage
from framework.hudi.storage.memory_objects import MemoryObjectStorage
from framework.hudi.storage.port import Storage

__all__ = ["open_storage", "open_unlinked"]


def open_storage(location: str) -> Storage:
    """Return the storage rooted at `location`, without touching any file.

    Args:
        location: `/abs`, `file:/abs`, `file:///abs`, `memory://name`, or `objects://name`, an
            object store in memory. As in Hadoop, the text after `file:` is used as is, without
            percent decoding.

    Raises:
        NotYetBuiltError: `storage/scheme-not-built` for any other scheme.
        PlanError: `storage/relative-location` for a path that is not absolute.
    """
    scheme, colon, rest = location.partition(":")
    if location.startswith("/"):
        return LocalStorage(location)
    if location.startswith("memory://"):
        return MemoryStorage(location.removeprefix("memory://"))
    if location.startswith("objects://"):
        return MemoryObjectStorage(location.removeprefix("objects://"))
    if scheme == "file" and rest.startswith("/"):
        return LocalStorage("/" + rest.lstrip("/"))
    if colon and "/" not in scheme and scheme != "file":
        raise NotYetBuiltError(
            "storage/scheme-not-built",
            f"this version opens local paths only, not {scheme}:",
            where=Where(file=location),
            remedy="Use a path such as /data/lake/flights or file:///data/lake/flights.",
        )
    raise PlanError(
        "storage/relative-location",
        "a location must be absolute here",
        where=Where(file=location),
        remedy="Start it with / or file:///.",
    )


def open_unlinked(location: str) -> Storage:
    """Return the storage at `location`, refusing symbolic links below its root.

    Raises:
        NotYetBuiltError, PlanError: as in `open_storage`.
    """
    found = open_storage(location)
    if isinstance(found, LocalStorage):
        return LocalStorage(found.location, follow_links=False)
    return found
