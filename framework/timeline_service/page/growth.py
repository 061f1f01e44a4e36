"""How large a table was after each of its commits, told by the commits alone.

A base file takes the place of its group's slice before, a log file is added to it, and a
replacecommit takes groups away. So the newest slice of each group is kept, as two numbers under its
file id, and commits are taken in by requested time, each once.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from framework.hudi.timeline.commit_metadata import WriteStat

__all__ = ["Growth", "Size", "Written"]

_MOST_GROUPS: Final = 400_000
"""About 60 MB. Beyond it sizes are not known; the page says so."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Size:
    """A table after a commit: the newest slice of each group.

    Attributes:
        groups: file groups.
        rows: in them; updates in log files count once, deletes are taken off.
        bytes: base and log files of the table, without a bootstrap's source.
    """

    groups: int
    rows: int
    bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    """What one commit wrote, in sum; `rows` with those that were carried over."""

    files: int = 0
    rows: int = 0
    bytes: int = 0
    inserts: int = 0
    updates: int = 0
    deletes: int = 0


class Growth:
    """The newest slices as of the last commit that was taken in.

    Attributes:
        is_whole: False where a commit builds on one that is not there any more, so that all sizes
            are too small.
    """

    def __init__(self) -> None:
        self.is_whole = True
        self._groups: dict[str, tuple[int, int]] = {}
        self._rows = 0
        self._bytes = 0
        self._is_known = True

    @property
    def size(self) -> Size | None:
        """The table's size, None where it has too many groups to be followed."""
        if not self._is_known:
            return None
        return Size(groups=len(self._groups), rows=self._rows, bytes=self._bytes)

    def take(
        self, stats: Iterable[WriteStat], replaced: Mapping[str, frozenset[str]] | None = None
    ) -> Written:
        """Take a commit in and return what it wrote.

        Args:
            stats: its files, read once and never held.
            replaced: file ids that it takes away, by partition path.
        """
        sums = [0] * 6
        for file_ids in (replaced or {}).values():
            for each in file_ids:
                self._set(each, None)
        for stat in stats:
            self._write(stat)
            numbers = (1, stat.rows, stat.size, stat.inserts, stat.updates, stat.deletes)
            sums = [n + more for n, more in zip(sums, numbers, strict=True)]
        names = ("files", "rows", "bytes", "inserts", "updates", "deletes")
        return Written(**dict(zip(names, sums, strict=True)))

    def give_up(self) -> None:
        """Sizes are not known from here on: a commit could not be read."""
        self._is_known = False
        self._groups.clear()

    def _write(self, stat: WriteStat) -> None:
        """Take one file in."""
        if not self._is_known:
            return
        before = self._groups.get(stat.file_id)
        if before is None and stat.previous is not None:
            self.is_whole = False
        if stat.log is None:
            self._set(stat.file_id, (stat.rows, stat.size))
        else:
            rows, size = before or (0, 0)
            self._set(stat.file_id, (rows + stat.inserts - stat.deletes, size + stat.size))
        if len(self._groups) > _MOST_GROUPS:
            self.give_up()

    def _set(self, file_id: str, after: tuple[int, int] | None) -> None:
        """Put a slice in the place of the one before; None takes the group away."""
        rows, size = self._groups.pop(file_id, (0, 0))
        self._rows, self._bytes = self._rows - rows, self._bytes - size
        if after is not None:
            self._groups[file_id] = after
            self._rows, self._bytes = self._rows + after[0], self._bytes + after[1]
