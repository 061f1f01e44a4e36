"""Storages opened by location, as written by users and in descriptors."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Final

from framework.errors import NotYetBuiltError, PlanError, StorageError, Where
from framework.hudi.storage.hdfs_uri import is_hdfs_uri
from framework.hudi.storage.local import LocalStorage
from framework.hudi.storage.memory import MemoryStorage
from framework.hudi.storage.memory_objects import MemoryObjectStorage
from framework.hudi.storage.object_uri import is_object_uri, parse_object_uri
from framework.hudi.storage.port import Storage

__all__ = ["open_storage", "open_unlinked"]

_IN_MEMORY: Final[Mapping[str, Callable[[str], Storage]]] = MappingProxyType(
    {"memory": MemoryStorage, "objects": MemoryObjectStorage}
)


def open_storage(location: str) -> Storage:
    """Return the storage rooted at `location`, without touching any file.

    Args:
        location: `/abs`, `file:/abs`, `file:///abs`, `hdfs://host:port/path`, `s3://bucket/prefix`,
            `s3a://bucket/prefix`, `memory://name` or `objects://name`, an object store in memory.
            As in Hadoop, the text after the scheme is used as is, without percent decoding.

    Raises:
        NotYetBuiltError: `storage/scheme-not-built` for any other scheme.
        PlanError: `storage/relative-location` for a path that is not absolute,
            `storage/bad-location` without a bucket or a NameNode.
        StorageError: `storage/extra-missing`, `storage/credentials`.
    """
    scheme, colon, rest = location.partition(":")
    if location.startswith("/"):
        return LocalStorage(location)
    if scheme in _IN_MEMORY and rest.startswith("//"):
        return _IN_MEMORY[scheme](rest.removeprefix("//"))
    if is_hdfs_uri(location):
        return _hdfs_storage(location)
    if is_object_uri(location):
        return _object_storage(location)
    if scheme == "file" and rest.startswith("/"):
        return LocalStorage("/" + rest.lstrip("/"))
    if colon and "/" not in scheme and scheme != "file":
        raise NotYetBuiltError(
            "storage/scheme-not-built",
            f"this version opens local paths, HDFS and S3, not {scheme}:",
            where=Where(file=location),
            remedy="Use a location such as /data/lake/flights or s3://bucket/flights.",
        )
    raise PlanError(
        "storage/relative-location",
        "a location must be absolute here",
        where=Where(file=location),
        remedy="Start it with / or file:///.",
    )


def _hdfs_storage(location: str) -> Storage:
    """Return the storage at an HDFS location; the client is imported only here."""
    try:
        from framework.hudi.storage.hdfs import HdfsStorage  # noqa: PLC0415  an extra's client
    except ModuleNotFoundError as error:
        raise _without_extra(error, "hdfs-native", location) from None
    return HdfsStorage(location)


def _object_storage(location: str) -> Storage:
    """Return the storage at an object store's location; the client is imported only here."""
    uri = parse_object_uri(location)
    try:
        from framework.hudi.storage.object_store import (  # noqa: PLC0415  an extra's client
            ObjectStorage,
        )
    except ModuleNotFoundError as error:
        raise _without_extra(error, "obstore", location) from None
    return ObjectStorage(uri)


def _without_extra(error: ModuleNotFoundError, package: str, location: str) -> Exception:
    """Return the error for a client that is not installed, `error` if another module is missing."""
    if error.name is None or error.name.partition(".")[0] != package.replace("-", "_"):
        return error
    return StorageError(
        "storage/extra-missing",
        f"this location needs the package {package}, which is not installed",
        where=Where(file=location),
        remedy="Run `pip install 'lakestrap[stores]'`, on each machine that runs tasks too.",
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
