"""A storage that dies, or stumbles, at its k-th mutating step: the crash simulator.

Steps are finer than calls: a file that is created has a step at its birth and one at its end, each
move and each deleted file is one. A killed process does nothing more, not even in `finally`.
"""

from __future__ import annotations

import contextlib
import io
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, BinaryIO

from framework.errors import StorageError, Where
from framework.hudi.storage.port import Entry, Move, Storage

__all__ = ["FaultStorage", "Killed", "no_hook"]


class Killed(BaseException):
    """The process is dead."""


def no_hook(step: int) -> None:
    """Do nothing."""
    del step


@dataclass
class FaultStorage:
    """Hands everything on to `inner` until its hour has come.

    Attributes:
        inner: where files really are.
        kill_at: step, counted from 1, at which the process dies before doing it; 0 for never.
        fail_at: step at which one call fails with `storage/full`, after which all goes well.
        lost_reply_at: step that is done, and then reported as `storage/failed`.
        hook: called before each step with its number.
        steps: steps taken so far.
    """

    inner: Storage
    kill_at: int = 0
    fail_at: int = 0
    lost_reply_at: int = 0
    hook: Callable[[int], None] = no_hook
    steps: int = 0
    dead: bool = field(default=False, init=False)

    @property
    def location(self) -> str:
        """As of `inner`."""
        return self.inner.location

    def list(self, folder: str) -> Iterator[Entry]:
        """List, if alive."""
        self._breathe()
        return self.inner.list(folder)

    def stat(self, path: str) -> Entry | None:
        """Look, if alive."""
        self._breathe()
        return self.inner.stat(path)

    def open_input(self, path: str) -> Any:
        """Open, if alive."""
        self._breathe()
        return self.inner.open_input(path)

    @contextlib.contextmanager
    def create(self, path: str, *, durable: bool = True) -> Iterator[BinaryIO]:
        """Create; killed at the end, half of the bytes stay behind."""
        self._step(path)
        held = io.BytesIO()
        try:
            yield held
        except BaseException:
            if self.dead:
                self._leave_half(path, held)
            raise
        try:
            self._step(path)
        except Killed:
            self._leave_half(path, held)
            raise
        with self.inner.create(path, durable=durable) as out:
            out.write(held.getvalue())
        self._reply(path)

    def move(self, moves: Sequence[Move]) -> None:
        """Move one after the other, each a step."""
        for each in moves:
            self._step(each.target)
            self.inner.move([each])
            self._reply(each.target)

    def replace(self, move: Move) -> None:
        """Replace, as one step."""
        self._step(move.target)
        self.inner.replace(move)
        self._reply(move.target)

    def delete(self, *paths: str, only_empty: bool = False) -> None:
        """Delete file by file, each a step."""
        for path in paths:
            if not only_empty:
                self._delete_below(path)
            self._step(path)
            self.inner.delete(path, only_empty=only_empty)

    def _delete_below(self, folder: str) -> None:
        """Delete what is inside `folder`, deepest first."""
        self._breathe()
        for entry in list(self.inner.list(folder)):
            if entry.is_folder:
                self._delete_below(entry.path)
            self._step(entry.path)
            self.inner.delete(entry.path)

    def _leave_half(self, path: str, held: io.BytesIO) -> None:
        """Leave what a killed writer leaves."""
        data = held.getvalue()
        with contextlib.suppress(StorageError), self.inner.create(path) as out:
            out.write(data[: len(data) // 2])

    def _breathe(self) -> None:
        """Do nothing when dead."""
        if self.dead:
            raise Killed

    def _step(self, path: str) -> None:
        """Count, and die or fail if it is time."""
        self._breathe()
        self.steps += 1
        self.hook(self.steps)
        if self.steps == self.kill_at:
            self.dead = True
            raise Killed
        if self.steps == self.fail_at:
            raise StorageError("storage/full", "no space left", where=Where(file=path))

    def _reply(self, path: str) -> None:
        """Lose the reply if it is time."""
        if self.steps == self.lost_reply_at:
            raise StorageError("storage/failed", "the connection was reset", where=Where(file=path))
