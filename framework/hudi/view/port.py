"""What every file-system view answers, however it came to know (RFC-03).

A question is a value, `Query`, so that one pure function answers it from a group's files, one table
of routes serves it over HTTP, and one conformance suite asks every view all of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from enum import StrEnum, unique
from typing import NamedTuple, Protocol

from framework.hudi.filegroup.slices import FileSlice

__all__ = ["FileSystemView", "Query", "Selection"]


@unique
class Selection(StrEnum):
    """Which slices of the file groups are wanted.

    A slice counts where its base instant is completed, or is that of a compaction under way: then
    it has only the logs that were written since that was planned. The selections of base files give
    slices without logs. Unless said otherwise, groups that a completed replacecommit replaced are
    left out.
    """

    MERGED = "merged"
    """The newest state of each group as of `instant`: with a compaction under way, the slice before
    it and the logs since. Replaced by then is left out, replaced later is not."""
    LATEST = "latest"
    """The newest slice of each group, as a writer appends to it."""
    UNCOMPACTED = "uncompacted"
    """The newest slice, of groups under compaction the newest before it."""
    BEFORE_OR_ON = "before_or_on"
    """The newest slice that is not later than `instant` and not empty; groups under compaction only
    with `include_pending`. Replaced by then is left out."""
    IN_RANGE = "in_range"
    """The newest slice that began at one of `instants`; replaced by the last is left out."""
    ALL = "all"
    """All slices, newest first."""
    BASE_LATEST = "base_latest"
    """The newest base file."""
    BASE_BEFORE_OR_ON = "base_before_or_on"
    """The newest base file that is not later than `instant`; replaced by then is left out."""
    BASE_ON = "base_on"
    """The base file of exactly `instant`; replaced by then is left out."""
    BASE_IN_RANGE = "base_in_range"
    """The newest base file of one of `instants`; replaced by the last of them is left out."""
    BASE_ALL = "base_all"
    """All base files, newest first."""
    REPLACED = "replaced"
    """All slices of replaced groups, and of no others."""
    REPLACED_BEFORE = "replaced_before"
    """All slices of groups that were replaced before `instant`."""
    REPLACED_BEFORE_OR_ON = "replaced_before_or_on"
    """All slices of groups that were replaced at `instant` or before."""
    REPLACED_AFTER_OR_ON = "replaced_after_or_on"
    """All slices of groups that were replaced at `instant` or later."""


class Query(NamedTuple):
    """A question to a view.

    Attributes:
        selection: which slices.
        partition_path: `""` is the partition of an unpartitioned table; None asks all partitions.
        file_ids: only these groups; None asks all of them. One that is not there has no answer.
        instant: inclusive bound as the selection says; None for the latest.
        instants: of the selections in a range.
        include_pending: as `BEFORE_OR_ON` says.
    """

    selection: Selection
    partition_path: str | None = None
    file_ids: tuple[str, ...] | None = None
    instant: str | None = None
    instants: frozenset[str] = frozenset()
    include_pending: bool = False


class FileSystemView(Protocol):
    """Which file slices make up a table as of one timeline."""

    def partitions(self) -> Iterator[str]:
        """Yield the partition paths by name; `""` is the one of an unpartitioned table."""
        ...

    def select(self, query: Query) -> Sequence[FileSlice]:
        """Return what a query asks for: by partition as of `partitions`, file id, newest first.

        A partition that does not exist has no slices.
        """
        ...

    def latest_slices(self, partition_path: str) -> Sequence[FileSlice]:
        """Return the newest state of each file group, by file id: `Selection.MERGED`."""
        ...
