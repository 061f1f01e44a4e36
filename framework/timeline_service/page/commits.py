"""Commits of one table, each read once, on a thread that no answer waits for long.

A commit of a large table is many megabytes of JSON. So an answer gives what was read so far, and
says how much is left; the page asks again.
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
"""About 60 MB. Beyond it sizes are not known; the page says so."""

_HEADS: Final = 1_000
_HEAD_BYTES: Final = 4 << 20
"""Whoever waits for a head does not wait for a larger file: other writers put it last."""


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
    """What one commit wrote, in sum; `rows` with those that were kept."""

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


_NOTHING: Final = Written()


@dataclass(frozen=True, slots=True, kw_only=True)
class CommitFacts:
    """What one commit says.

    Attributes:
        operation: Hudi's name of the write operation.
        run: the run of ours that wrote it, None where another writer did.
        gate: what its gate found, as of `gate_of`.
        written: what it wrote.
        size: the table after it, None where that is not known.
        fault: why it cannot be read, None where it can.
    """

    operation: str = ""
    run: str | None = None
    gate: Mapping[str, Any]
    written: Written = _NOTHING
    size: Size | None = None
    fault: str | None = None


class CommitReading:
    """Reads the commits of one table.

    Args:
        storage: of the table.
        pool: runs the reading.
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
        """Return what the completed commits say; those that are still to be read are missing.

        Args:
            known: the timeline, as one look saw it.
            wait_s: how long to wait for those that are missing.
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
        """Return what an instant says besides its files, at once; None where it is not known.

        So it is where it is no commit, where its file is large, gone by now, or damaged.
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
        """Read no further."""
        self._is_closed = True

    def _read(self, wanted: list[tuple[Instant, Identity]]) -> None:
        """Take in what is missing; all, where what was taken in is no longer the beginning."""
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
