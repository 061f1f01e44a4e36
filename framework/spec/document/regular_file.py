"""The one way in which files that a spec or a command line names are opened as text.

A FIFO or a device can keep `open` or `read` waiting for ever, so only regular files are read, links
followed, and only up to a bound.
"""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path

__all__ = ["NotRegularError", "TooBigError", "read_regular"]

_KINDS = {
    stat.S_IFDIR: "a folder",
    stat.S_IFIFO: "a FIFO",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
}
# Opening a FIFO waits for a writer, and opening a terminal may take it over.
_FLAGS = os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC


class NotRegularError(OSError):
    """What has the name is no regular file; `strerror` says what it is."""


class TooBigError(OSError):
    """The file has more bytes than may be read."""


def read_regular(path: Path, max_bytes: int) -> bytes:
    """The whole content of a regular file of at most `max_bytes` bytes; never waits for a writer.

    Raises:
        NotRegularError: it is a folder, a FIFO, a socket or a device; no device is opened.
        TooBigError: it is larger.
        OSError: it cannot be opened or read.
    """
    _check_kind(path, path.stat().st_mode)
    handle = os.open(path, _FLAGS)
    with os.fdopen(handle, "rb") as stream:
        _check_kind(path, os.fstat(handle).st_mode)  # another file may have the name since
        content = stream.read(max_bytes + 1)
    if len(content) > max_bytes:
        raise TooBigError(errno.EFBIG, f"is larger than {max_bytes:,} bytes", str(path))
    return content


def _check_kind(path: Path, mode: int) -> None:
    """Refuse what is no regular file."""
    kind = stat.S_IFMT(mode)
    if kind != stat.S_IFREG:
        message = f"it is {_KINDS.get(kind, 'of an unknown kind')}, not a regular file"
        raise NotRegularError(errno.EINVAL, message, str(path))
