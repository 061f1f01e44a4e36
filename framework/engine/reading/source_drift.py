"""A source file that rows of a table depend on, and that is another now."""

from __future__ import annotations

from framework.errors import SourceDriftError, Where

__all__ = ["drifted"]


def drifted(path: str, what: str) -> SourceDriftError:
    """Return the error for a source file that rows depend on and that is another now."""
    return SourceDriftError(
        "source/drift",
        f"the source file changed since the table adopted it: {what}",
        where=Where(file=path),
        remedy="Restore the file: the table has no copy of its rows.",
    )
