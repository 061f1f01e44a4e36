"""Random access to one file of HDFS by ranged reads, few of them."""

from __future__ import annotations

import io
from typing import Any, Final

from typing_extensions import override

from framework.hudi.storage.hdfs_errors import hdfs_error

__all__ = ["WHOLE_BYTES", "HdfsInput"]

WHOLE_BYTES: Final = 1 << 20
"""Files up to this size are read whole when they are opened."""

_TAIL_BYTES: Final = 256 << 10  # a Parquet footer
_LEAST_BYTES: Final = 1 << 20  # a request to a DataNode costs about as much


class HdfsInput(io.RawIOBase):
    """A readable, seekable stream over a file whose blocks are already located.

    Opening reads a small file whole, or the end of a large one, where Parquet's footer is. A read
    elsewhere fetches at least 1 MiB, of which the next reads are served. Errors are typed.

    Args:
        reader: of the client.
        place: the file's location, for errors.
    """

    def __init__(self, reader: Any, place: str) -> None:
        super().__init__()
        self._reader = reader
        self._place = place
        self._size = len(reader)
        self._at = 0
        kept = self._size if self._size <= WHOLE_BYTES else _TAIL_BYTES
        self._tail = (self._size - kept, self._fetch(self._size - kept, kept))
        self._block = (0, b"")

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
        """Return the next `size` bytes, the rest for None or -1; fewer only at the end."""
        wanted = self._size if size is None or size < 0 else self._at + size
        start, stop = self._at, min(wanted, self._size)
        if start >= stop:
            return b""
        self._at = stop
        for first, data in (self._tail, self._block):
            if first <= start and stop <= first + len(data):
                return data[start - first : stop - first]
        fetched = self._fetch(start, min(max(stop - start, _LEAST_BYTES), self._size - start))
        self._block = (start, fetched if len(fetched) == _LEAST_BYTES else b"")
        return fetched[: stop - start]

    def _fetch(self, start: int, count: int) -> bytes:
        """Return bytes by one ranged read."""
        if not count:
            return b""
        try:
            found: bytes = self._reader.read_range(start, count)
        except Exception as error:
            raise hdfs_error(error, self._place) from error
        return found
