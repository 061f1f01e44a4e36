"""A storage that reports success and then has other bytes, or describes files falsely."""

from __future__ import annotations

import contextlib
import io
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, BinaryIO

from framework.hudi.storage.port import Entry, Move, Storage

__all__ = ["LossyStorage", "is_data_file"]


def is_data_file(path: str) -> bool:
    """Return whether a path is of a base file or a log file, staged or at its name."""
    return path.endswith(".parquet") or ".log." in path


@dataclass(kw_only=True)
class LossyStorage:
    """Hands everything on to `inner`, but for two faults.

    Attributes:
        inner: where files really are.
        damage: what a created data file contains in the end, given its bytes; None: no file.
        lie: what `stat` and `list` report of an entry; None: nothing is there.
        damaged: paths of files that were created and have other bytes than were written.
        lies: paths of entries that were described falsely.
    """

    inner: Storage
    damage: Callable[[bytes], bytes | None] = lambda data: data
    lie: Callable[[Entry], Entry | None] = lambda entry: entry
    damaged: list[str] = field(default_factory=list)
    lies: list[str] = field(default_factory=list)

    @property
    def location(self) -> str:
        """As of `inner`."""
        return self.inner.location

    def list(self, folder: str) -> Iterator[Entry]:
        """Yield what it says of each child."""
        for entry in self.inner.list(folder):
            told = self._told(entry)
            if told is not None:
                yield told

    def stat(self, path: str) -> Entry | None:
        """Return what it says of a file."""
        entry = self.inner.stat(path)
        return None if entry is None else self._told(entry)

    def open_input(self, path: str) -> Any:
        """Open what is there."""
        return self.inner.open_input(path)

    @contextlib.contextmanager
    def create(self, path: str, *, durable: bool = True) -> Iterator[BinaryIO]:
        """Take all bytes, report success, and keep others."""
        held = io.BytesIO()
        yield held
        data = held.getvalue()
        kept = self.damage(data) if is_data_file(path) else data
        if kept != data:
            self.damaged.append(path)
        if kept is not None:
            with self.inner.create(path, durable=durable) as out:
                out.write(kept)

    def move(self, moves: Sequence[Move]) -> None:
        """Move."""
        self.inner.move(moves)

    def delete(self, *paths: str, only_empty: bool = False) -> None:
        """Delete."""
        self.inner.delete(*paths, only_empty=only_empty)

    def _told(self, entry: Entry) -> Entry | None:
        told = self.lie(entry) if is_data_file(entry.path) else entry
        if told != entry:
            self.lies.append(entry.path)
        return told
