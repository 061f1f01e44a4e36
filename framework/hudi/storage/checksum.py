"""CRC-32C of a file's bytes, computed while they are written or from an existing file."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, BinaryIO, Final

import google_crc32c

from framework.hudi.storage.port import Storage

if TYPE_CHECKING:
    from typing_extensions import Buffer

__all__ = ["Crc32cOutput", "file_crc32c"]

_CHUNK_BYTES: Final = 1 << 20


class Crc32cOutput(io.RawIOBase):
    """Stream that writes through to `out` and keeps a checksum; closing it leaves `out` open."""

    def __init__(self, out: BinaryIO) -> None:
        self._out = out
        self.crc32c = 0
        self.size = 0

    def writable(self) -> bool:
        """Return True."""
        return True

    def write(self, data: Buffer, /) -> int:
        """Write all of `data`."""
        chunk = bytes(data)
        self._out.write(chunk)
        self.crc32c = google_crc32c.extend(self.crc32c, chunk)
        self.size += len(chunk)
        return len(chunk)


def file_crc32c(storage: Storage, path: str) -> int:
    """Return the CRC-32C of all bytes of a file, read in chunks of 1 MiB."""
    total = 0
    with storage.open_input(path) as source:
        while chunk := source.read(_CHUNK_BYTES):
            total = google_crc32c.extend(total, chunk)
    return int(total)
