"""Files on their way into a table: written, then audited; only audited ones can be published."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from framework.hudi.commit.segments import SegmentRef

__all__ = ["AuditedFiles", "WrittenFiles", "written_files"]


@dataclass(frozen=True, slots=True, kw_only=True)
class WrittenFiles:
    """Files that successful tasks reported.

    Attributes:
        segments: where their statuses are, by first number.
        files: how many.
        rows: rows in all of them.
        bytes: sizes of all of them.
    """

    segments: tuple[SegmentRef, ...]
    files: int
    rows: int
    bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditedFiles:
    """Written files that passed the gate; nothing but the gate makes one.

    Attributes:
        written: the files that were audited.
        proof: what was proven and how, JSON-ready; it is stored in the commit.
    """

    written: WrittenFiles
    proof: Mapping[str, object]


def written_files(segments: Iterable[SegmentRef]) -> WrittenFiles:
    """Return the segments with their totals."""
    ordered = tuple(sorted(segments, key=lambda each: (each.first, each.path)))
    return WrittenFiles(
        segments=ordered,
        files=sum(each.files for each in ordered),
        rows=sum(each.rows for each in ordered),
        bytes=sum(each.bytes for each in ordered),
    )
