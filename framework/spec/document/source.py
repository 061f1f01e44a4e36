"""The text of one spec file, read safely, and positions in it.

`open` or `read` may wait forever on a FIFO or a device, so only regular files are read (links are
followed), and only up to a size limit.
"""

from __future__ import annotations

import errno
import os
import re
import stat
from dataclasses import dataclass
from pathlib import Path

from framework.errors import Finding, SpecError, Where

__all__ = [
    "MAX_BYTES",
    "NotRegularError",
    "SourceText",
    "Span",
    "TooBigError",
    "one_finding",
    "read_regular",
    "read_source",
]

_KINDS = {
    stat.S_IFDIR: "a folder",
    stat.S_IFIFO: "a FIFO",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
}
# Opening a FIFO waits for a writer; opening a terminal may make it the controlling one.
_FLAGS = os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC


class NotRegularError(OSError):
    """The path is not a regular file; `strerror` says what it is."""


class TooBigError(OSError):
    """The file is larger than the limit."""


def read_regular(path: Path, max_bytes: int) -> bytes:
    """Return the content of a regular file of at most `max_bytes` bytes, without ever blocking.

    Raises:
        NotRegularError: it is a folder, a FIFO, a socket or a device; no device is opened.
        TooBigError: it is larger.
        OSError: it cannot be opened or read.
    """
    _check_kind(path, path.stat().st_mode)
    handle = os.open(path, _FLAGS)
    with os.fdopen(handle, "rb") as stream:
        _check_kind(path, os.fstat(handle).st_mode)  # the path may be another file by now
        content = stream.read(max_bytes + 1)
    if len(content) > max_bytes:
        raise TooBigError(errno.EFBIG, f"is larger than {max_bytes:,} bytes", str(path))
    return content


def _check_kind(path: Path, mode: int) -> None:
    """Raise `NotRegularError` unless the mode is that of a regular file."""
    kind = stat.S_IFMT(mode)
    if kind != stat.S_IFREG:
        message = f"it is {_KINDS.get(kind, 'of an unknown kind')}, not a regular file"
        raise NotRegularError(errno.EINVAL, message, str(path))


MAX_BYTES = 1_000_000
"""A larger spec is refused unread: no one wrote it by hand."""

_LINE_BREAK = re.compile("\r\n|[\r\n\x85\u2028\u2029]")
_FOREIGN = re.compile(
    "[^\t\n\r\x20-\x7e\x85\xa0-\ud7ff\ue002-\ufefe\uff00-\ufffd\U00010000-\U0010ffff]"
)
_WIDE_MARKS = {
    b"\xff\xfe\x00\x00": "UTF-32",
    b"\x00\x00\xfe\xff": "UTF-32",
    b"\xff\xfe": "UTF-16",
    b"\xfe\xff": "UTF-16",
}
_UTF8_MARK = b"\xef\xbb\xbf"


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceText:
    """A spec file as text.

    Attributes:
        file: the path as the user typed it.
        text: the whole content.
        lines: the same without line breaks; line 1 is at index 0.
    """

    file: str
    text: str
    lines: tuple[str, ...]

    @classmethod
    def of(cls, file: str, text: str) -> SourceText:
        """Return the text split into lines where the YAML scanner splits them."""
        return cls(file=file, text=text, lines=tuple(_LINE_BREAK.split(text)))


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """A range of characters in one file; lines and columns from 1, the end column exclusive."""

    source: SourceText
    line: int
    column: int
    end_line: int
    end_column: int

    @property
    def text(self) -> str | None:
        """The whole first line of the span; None past the end of the file."""
        lines = self.source.lines
        return lines[self.line - 1] if self.line <= len(lines) else None

    @property
    def length(self) -> int:
        """The number of characters to underline on the first line; at least 1."""
        end = self.end_column if self.end_line == self.line else len(self.text or "") + 1
        return max(1, end - self.column)

    @property
    def where(self) -> Where:
        """The start of the span as an error location."""
        return Where(file=self.source.file, line=self.line, column=self.column)


def one_finding(
    rule: str, message: str, where: Where, *, suggestion: str | None = None
) -> SpecError:
    """Return a `SpecError` with a single finding that has no source line to show."""
    found = Finding(rule=rule, key_path="", where=where, message=message, suggestion=suggestion)
    return SpecError((found,))


def read_source(path: Path) -> SourceText:
    """Return the file as UTF-8 text without byte order mark and control characters.

    Only a regular file is read; a FIFO or a device is refused without waiting.

    Raises:
        SpecError: one finding, `spec/unreadable-file`, `spec/file-too-big`,
            `spec/byte-order-mark`, `spec/not-utf8` or `spec/control-character`.
    """
    file = str(path)
    try:
        content = read_regular(path, MAX_BYTES)
    except TooBigError as error:
        message = f"is larger than {MAX_BYTES:,} bytes"
        raise one_finding("spec/file-too-big", message, Where(file=file)) from error
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise one_finding(
            "spec/unreadable-file", f"cannot be read: {reason}", Where(file=file)
        ) from error
    text = _decode(content, file)
    foreign = _FOREIGN.search(text)
    if foreign:
        line, column = _position(text[: foreign.start()])
        message = f"the character U+{ord(foreign.group()):04X} is not allowed in a spec"
        raise one_finding(
            "spec/control-character", message, Where(file=file, line=line, column=column)
        )
    return SourceText.of(file, text)


def _decode(content: bytes, file: str) -> str:
    """Return the bytes as text; raise `SpecError` if they are not plain UTF-8."""
    start = Where(file=file, line=1, column=1)
    if content.startswith(_UTF8_MARK):
        message = "starts with a byte order mark"
        raise one_finding(
            "spec/byte-order-mark", message, start, suggestion="save as UTF-8 without BOM"
        )
    for mark, name in _WIDE_MARKS.items():
        if content.startswith(mark):
            message = f"is {name}, not UTF-8"
            raise one_finding("spec/not-utf8", message, start, suggestion="save as UTF-8")
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError as error:
        line, column = _position(content[: error.start].decode("utf-8"))
        message = f"is not UTF-8: byte 0x{content[error.start]:02x}"
        place = Where(file=file, line=line, column=column, offset=error.start)
        raise one_finding("spec/not-utf8", message, place, suggestion="save as UTF-8") from error


def _position(before: str) -> tuple[int, int]:
    """Return line and column, both from 1, of the character after the text."""
    lines = _LINE_BREAK.split(before)
    return len(lines), len(lines[-1]) + 1
