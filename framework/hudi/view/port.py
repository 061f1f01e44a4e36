"""The interface of every file-system view (RFC-03).

A question is a value, `Query`, so that one pure function answers it from a group's files, one table
of routes serves it over HTTP, and one conformance suite tests every view with all of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from enum import StrEnum, unique
from typing import NamedTuple, Protocol

from framework.hudi.filegroup.slices import FileSlice

__all__ = ["FileSystemView", "Query", "Selection"]


@unique
class Selection(StrEnum):
    """The slices that a query selects.

    A slice counts if its base instant is completed, or is that of a pending compaction; then it has
    only the logs written since that was planned. Selections of base files return slices without
    logs. Unless stated otherwise, groups replaced by a completed replacecommit are excluded.
    """

    MERGED = "merged"
    """The newest state of each group as of `instant`: with a pending compaction, the slice before
    it and the logs since. Excludes groups replaced by then, but not those replaced later."""
    LATEST = "latest"
    """The newest slice of each group, to which a writer appends."""
    UNCOMPACTED = "uncompacted"
    """The newest slice; for groups under compaction, the newest one before it."""
    BEFORE_OR_ON = "before_or_on"
    """The newest slice that is not later than `instant` and not empty; groups under compaction only
    with `include_pending`. Excludes groups replaced by then."""
    IN_RANGE = "in_range"
    """The newest slice that started at one of `instants`; excludes groups replaced by the last."""
    ALL = "all"
    """All slices, newest first."""
    BASE_LATEST = "base_latest"
    """The newest base file."""
    BASE_BEFORE_OR_ON = "base_before_or_on"
    """The newest base file that is not later than `instant`; excludes groups replaced by then."""
    BASE_ON = "base_on"
    """The base file of exactly `instant`; excludes groups replaced by then."""
    BASE_IN_RANGE = "base_in_range"
    """The newest base file of one of `instants`; excludes groups replaced by the last."""
    BASE_ALL = "base_all"
    """All base files, newest first."""
    REPLACED = "replaced"
    """All slices of replaced groups only."""
    REPLACED_BEFORE = "replaced_before"
    """All slices of groups replaced before `instant`."""
    REPLACED_BEFORE_OR_ON = "replaced_before_or_on"
    """All slices of groups replaced at `instant` or earlier."""
    REPLACED_AFTER_OR_ON = "replaced_after_or_on"
    """All slices of groups replaced at `instant` or later."""


class Query(NamedTuple):
    """A question to a view.

    Attributes:
        selection: the slices to return.
        partition_path: `""` is the partition of an unpartitioned table; None means all partitions.
        file_ids: only these groups; None means all. A missing one has no result.
        instant: inclusive bound, as stated for the selection; None for the latest.
        instants: the instants of a selection in a range.
        include_pending: see `BEFORE_OR_ON`.
    """

    selection: Selection
    partition_path: str | None = None
    file_ids: tuple[str, ...] | None = None
    instant: str | None = None
    instants: frozenset[str] = frozenset()
    include_pending: bool = False


class FileSystemView(Protocol):
    """The file slices that make up a table as of one timeline."""

    def partitions(self) -> Iterator[str]:
        """Yield the partition paths by name; `""` is the one of an unpartitioned table."""
        ...

    def select(self, query: Query) -> Sequence[FileSlice]:
        """Return the slices that a query selects, by partition, file id, and newest first.

        Partitions come in the order of `partitions`. One that does not exist has no slices.
        """
        ...

    def latest_slices(self, partition_path: str) -> Sequence[FileSlice]:
        """Return the newest state of each file group, by file id: `Selection.MERGED`."""
        ...
