"""The plan to name another location of a table's source."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["RelocationPlan", "moved_uri", "plain_path"]


@dataclass(frozen=True, slots=True, kw_only=True)
class RelocationPlan:
    """A source that moved.

    Attributes:
        location: the table's.
        old: location of the source that the index names.
        new: the location that it shall name.
        files: source files that a skeleton needs; all of them are the same at the new location.
        bytes: their size.
        is_done: whether every file of the table names the new location already.
    """

    location: str
    old: str
    new: str
    files: int
    bytes: int
    is_done: bool


def plain_path(uri: str) -> str:
    """Return a local location as a plain path, however its URI is written; any other unchanged."""
    if not uri.startswith("file:"):
        return uri
    return "/" + uri.removeprefix("file:").lstrip("/")


def moved_uri(uri: str, old: str, new: str) -> str | None:
    """Return the URI of a source file below its new base, None if it is below neither base.

    Args:
        uri: of the file.
        old: base of the source, as a location.
        new: its new base, as a location.
    """
    path = plain_path(uri)
    for base in (new, old):
        below = path.removeprefix(f"{base.rstrip('/')}/")
        if below != path:
            moved = f"{new.rstrip('/')}/{below}"
            return moved if "://" in moved else f"file://{moved}"
    return None
