"""Commits of one table, each read once, on a thread for which no response waits long.

A commit of a large table is many megabytes of JSON. So a response has the commits read so far and
the number of the rest; the page polls for more.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import Executor, Future
from concurrent.futures import TimeoutError as NotYet
from contextlib import suppress
from dataclasses import dataclass
from threading import Lock
from typing import Any, Final

from framework.errors import FrameworkError
from framework.hudi.commit.intent import WRITE_ID_KEY
from framework.hudi.storage.port import Storage
from framework.hudi.timeline.commit_body import CommitBody, read_commit_body
from framework.hudi.timeline.commit_metadata import CommitHead, WriteStat, read_commit_head
from framework.hudi.timeline.instant import DATA_ACTIONS, Action, Instant
from framework.hudi.view.known import Identity, Known
from framework.timeline_service.page.gate import gate_of

__all__ = ["CommitFacts", "CommitReading", "Growth", "Size", "Written"]


_MOST_GROUPS: Final = 400_000
"""About 60 MB. Beyond it, sizes are unknown, and the page says so."""

_HEADS: Final = 1_000
_HEAD_BYTES: Final = 4 << 20
"""A head is not read from a larger file, since other writers put it last."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Size:
    """A table after a commit: the newest slice of each group.

    Attributes:
        groups: file groups.
        rows: their rows; updates in log files count once, deletes are subtracted.
        bytes: size of the table's base and log files, without a bootstrap's source.
    """

    groups: int
    rows: int
    bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    """The totals of one commit; `rows` includes those that were kept."""

    files: int = 0
    rows: int = 0
    bytes: int = 0
    inserts: int = 0
    updates: int = 0
    deletes: int = 0


class Growth:
    """The newest slices as of the last added commit.

    Attributes:
        is_whole: False if a commit builds on one that no longer exists, so that all sizes are too
            small.
    """

    def __init__(self) -> None:
        self.is_whole = True
        self._groups: dict[str, tuple[int, int]] = {}
        self._rows = 0
        self._bytes = 0
        self._is_known = True

    @property
    def size(self) -> Size | None:
        """The table's size, None if it is unknown, such as with too many groups."""
        if not self._is_known:
            return None
        return Size(groups=len(self._groups), rows=self._rows, bytes=self._bytes)

    def take(
        self, stats: Iterable[WriteStat], replaced: Mapping[str, frozenset[str]] | None = None
    ) -> Written:
        """Add a commit and return its totals.

        Args:
            stats: its files, streamed and not held in memory.
            replaced: file ids that it replaces, by partition path.
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
        """Mark sizes as unknown from here on, since a commit could not be read."""
        self._is_known = False
        self._groups.clear()

    def _write(self, stat: WriteStat) -> None:
        """Add one file."""
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
        """Replace a group's slice; None removes the group."""
        rows, size = self._groups.pop(file_id, (0, 0))
        self._rows, self._bytes = self._rows - rows, self._bytes - size
        if after is not None:
            self._groups[file_id] = after
            self._rows, self._bytes = self._rows + after[0], self._bytes + after[1]


_NOTHING: Final = Written()


@dataclass(frozen=True, slots=True, kw_only=True)
class CommitFacts:
    """The facts of one commit.

    Attributes:
        operation: Hudi's name of the write operation.
        run: the lakestrap run that wrote it, None for another writer.
        gate: its gate's findings, as in `gate_of`.
        written: its totals.
        size: the table's size after it, None if unknown.
        fault: why it cannot be read, None if it can.
    """

    operation: str = ""
    run: str | None = None
    gate: Mapping[str, Any]
    written: Written = _NOTHING
    size: Size | None = None
    fault: str | None = None


class CommitReading:
    """Background reader of one table's commits.

    Args:
        storage: the table's storage.
        pool: runs the reads.
    """

    def __init__(self, storage: Storage, pool: Executor) -> None:
        self._storage = storage
        self._pool = pool
        self._lock = Lock()
        self._task: Future[None] | None = None
        self._growth = Growth()
        self._facts: dict[tuple[Instant, Identity], CommitFacts] = {}
        self._heads: dict[tuple[Instant, Identity], CommitHead] = {}
        self._is_closed = False

    @property
    def is_whole(self) -> bool:
        """Whether the sizes count all groups of the table."""
        return self._growth.is_whole

    def facts(self, known: Known, wait_s: float) -> Mapping[Instant, CommitFacts]:
        """Return the facts of the completed commits read so far.

        Args:
            known: the timeline as of one look.
            wait_s: how long to wait for unread commits.
        """
        wanted = _commits(known)
        with self._lock:
            if self._task is None or self._task.done():
                missing = list(self._facts) != wanted
                self._task = self._pool.submit(self._read, wanted) if missing else None
            task = self._task
        if task is not None:
            with suppress(NotYet):
                task.result(wait_s)
        found = dict(self._facts)
        return {key[0]: found[key] for key in wanted if key in found}

    def head(self, instant: Instant, known: Known) -> CommitHead | None:
        """Return the head of an instant at once, None if it is unknown.

        It is unknown if the instant is not a commit, or its file is large, missing or damaged.
        """
        identity = known.files.get(instant.file_name)
        if identity is None or instant.action not in DATA_ACTIONS or identity[0] > _HEAD_BYTES:
            return None
        key = (instant, identity)
        if key not in self._heads:
            if len(self._heads) >= _HEADS:
                self._heads.clear()
            try:
                self._heads[key] = read_commit_head(self._storage, instant.path)
            except FrameworkError:
                return None
        return self._heads.get(key)

    def close(self) -> None:
        """Stop reading."""
        self._is_closed = True

    def _read(self, wanted: list[tuple[Instant, Identity]]) -> None:
        """Read the missing commits; read all again if earlier ones changed."""
        if list(self._facts) != wanted[: len(self._facts)]:
            self._facts, self._growth = {}, Growth()
        for key in wanted[len(self._facts) :]:
            if self._is_closed:
                return
            self._facts[key] = self._read_one(key[0])

    def _read_one(self, instant: Instant) -> CommitFacts:
        """Read one commit."""
        growth = self._growth
        try:
            head = read_commit_head(self._storage, instant.path)
            body = read_commit_body(self._storage, instant.path)
            replaced = body.replaced if instant.action is Action.REPLACECOMMIT else None
            written = growth.take(self._stats(body), replaced)
        except FrameworkError as error:
            growth.give_up()
            return CommitFacts(gate=gate_of({}), fault=f"{error.message} [{error.condition}]")
        return CommitFacts(
            operation=head.operation,
            run=head.extra.get(WRITE_ID_KEY),
            gate=gate_of(head.extra),
            written=written,
            size=growth.size,
        )

    def _stats(self, body: CommitBody) -> Iterator[WriteStat]:
        """Yield the files of a commit until the reader is closed."""
        for stat in body.files():
            if self._is_closed:
                return
            yield stat


def _commits(known: Known) -> list[tuple[Instant, Identity]]:
    """Return the completed instants that wrote files, oldest first, with their identities."""
    return [
        (each, known.files[each.file_name])
        for each in known.timeline.completed
        if each.action in DATA_ACTIONS
    ]
