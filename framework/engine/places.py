"""Canonical locations: links resolved, and obstacles in the way."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from itertools import takewhile
from pathlib import Path

from framework.errors import PlanError, Where
from framework.hudi.storage.hdfs_uri import is_hdfs_uri, parse_hdfs_uri
from framework.hudi.storage.object_uri import is_object_uri, parse_object_uri

__all__ = ["canonical", "missing_parents", "obstacle", "remove_empty"]


def canonical(location: str) -> str:
    """Return a local location as an absolute path without links, HDFS and stores in one form.

    Any other is unchanged.

    Raises:
        PlanError: `storage/link-loop`, `storage/bad-location`.
    """
    if is_object_uri(location):
        return str(parse_object_uri(location))
    if is_hdfs_uri(location):
        return parse_hdfs_uri(location).text
    local = _local(location)
    if local is None:
        return location
    try:
        return str(local.resolve())
    except (OSError, RuntimeError) as error:
        raise PlanError(
            "storage/link-loop",
            "symbolic links in the path form a loop",
            where=Where(file=location),
            remedy="Correct the links, or give the path without them.",
        ) from error


def obstacle(location: str) -> str | None:
    """Return what is in the way of a local folder, at its path or above it, and is not a folder.

    A dangling link counts; None means that the folder exists or can be created.
    """
    local = _local(location)
    for each in () if local is None else (local, *local.parents):
        if each.is_dir():
            return None
        if each.is_symlink() or each.exists():
            return str(each)
    return None


def missing_parents(location: str) -> tuple[Path, ...]:
    """Return the folders above a local location that do not exist, the lowest first."""
    local = _local(location)
    above = () if local is None else local.parents
    return tuple(takewhile(lambda each: not each.exists(), above))


def remove_empty(folders: Iterable[Path]) -> None:
    """Remove folders, in order, up to the first that is not empty or may not be removed."""
    with suppress(OSError):
        for each in folders:
            if each.exists():
                each.rmdir()


def _local(location: str) -> Path | None:
    """Return the path of a local location, which is absolute; None for any other."""
    text = location.removeprefix("file://") if location.startswith("file:///") else location
    return Path(text) if text.startswith("/") else None
