"""Random access to one object by ranged requests, few of them.

Opening costs one request, which also fetches the object's last 64 KiB: a Parquet footer, or all of
a small file. A read that follows the one before fetches ahead, up to 8 MiB; a read elsewhere
fetches what was asked for, at least 64 KiB. Each request names the object's ETag, so that bytes of
two versions are never mixed.
"""

from __future__ import annotations

import io
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Final

from typing_extensions import override

__all__ = ["TAIL_BYTES", "Fetch", "RangedInput"]

TAIL_BYTES: Final = 64 << 10
"""Bytes that opening fetches from the object's end."""

_LEAST_BYTES: Final = 64 << 10  # a request costs about as much as a megabyte of transfer
_AHEAD_BYTES: Final = 8 << 20
_PART_BYTES: Final = 16 << 20  # one connection is slower than the network of a large machine
_PARTS_AT_ONCE: Final = 4

Fetch = Callable[[int, int], bytes]
"""Returns the bytes from a start (inclusive) to a stop (exclusive), by one request."""


class RangedInput(io.RawIOBase):
    """A readable, seekable stream over an object.

    Args:
        fetch: makes one request.
        size: bytes of the object.
        tail: its last bytes, already fetched.
    """

    def __init__(self, fetch: Fetch, size: int, tail: bytes) -> None:
        super().__init__()
        self._fetch = fetch
        self._size = size
        self._tail = _Block(size - len(tail), tail)
        self._block = _Block(0, b"")
        self._at = 0
        self._expected = 0
        self._ahead = _LEAST_BYTES

    @override
    def readable(self) -> bool:
        """Return True."""
        return True

    @override
    def seekable(self) -> bool:
        """Return True."""
        return True

    @override
    def tell(self) -> int:
        """Return the position of the next read."""
        return self._at

    @override
    def seek(self, offset: int, whence: int = io.SEEK_SET, /) -> int:
        """Set the position of the next read; makes no request."""
        start = {io.SEEK_SET: 0, io.SEEK_CUR: self._at, io.SEEK_END: self._size}[whence]
        self._at = max(0, start + offset)
        return self._at

    @override
    def read(self, size: int | None = -1, /) -> bytes:
        """Return the next `size` bytes, all of the rest for None or -1; fewer only at the end."""
        wanted = self._size if size is None or size < 0 else self._at + size
        start, stop = self._at, min(wanted, self._size)
        if start >= stop:
            return b""
        follows, self._at, self._expected = start == self._expected, stop, stop
        for block in (self._tail, self._block):
            if block.has(start, stop):
                return block.cut(start, stop)
        return self._fetched(start, stop, follows=follows)

    def _fetched(self, start: int, stop: int, *, follows: bool) -> bytes:
        """Return bytes by at least one request; what is read ahead is kept."""
        self._ahead = min(2 * self._ahead, _AHEAD_BYTES) if follows else _LEAST_BYTES
        begun = self._block.cut(start, stop) if self._block.has(start, start + 1) else b""
        first = start + len(begun)
        rest = b""
        last = min(max(stop, first + self._ahead), self._size)
        if stop > self._tail.start >= first:
            last, rest = self._tail.start, self._tail.cut(self._tail.start, stop)
        elif self._tail.start >= stop:
            last = min(last, self._tail.start)
        fresh = self._parts(first, last) if last > first else b""
        if last - first <= _AHEAD_BYTES:
            self._block = _Block(first, fresh)
        return begun + fresh[: stop - first] + rest if begun or rest else fresh[: stop - first]

    def _parts(self, start: int, stop: int) -> bytes:
        """Return bytes by one request, or by several at once if there are many."""
        if stop - start <= _PART_BYTES:
            return self._fetch(start, stop)
        starts = range(start, stop, _PART_BYTES)
        with ThreadPoolExecutor(_PARTS_AT_ONCE) as pool:
            return b"".join(
                pool.map(lambda at: self._fetch(at, min(at + _PART_BYTES, stop)), starts)
            )


class _Block:
    """Consecutive bytes of the object."""

    __slots__ = ("data", "start")

    def __init__(self, start: int, data: bytes) -> None:
        self.start = start
        self.data = data

    def has(self, start: int, stop: int) -> bool:
        """Return whether all bytes from `start` to `stop` are here."""
        return self.start <= start and stop <= self.start + len(self.data)

    def cut(self, start: int, stop: int) -> bytes:
        """Return the bytes from `start` to `stop`, as far as they are here."""
        return self.data[start - self.start : stop - self.start]
