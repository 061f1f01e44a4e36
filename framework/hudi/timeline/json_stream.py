"""Streaming JSON reader whose memory is bounded by the largest single value.

A commit of 250,000 files is about 160 MB of JSON, too much to hold just to read its head.
"""

from __future__ import annotations

import codecs
import json
from collections.abc import Iterator
from typing import Any, Final

from framework.errors import CorruptFileError, Where

__all__ = ["JsonStream"]

_CHUNK_BYTES: Final = 1 << 16
_MAX_VALUE_CHARS: Final = 256 << 20
_SPACE: Final = " \t\r\n"


class JsonStream:
    """A cursor over the JSON text of an open file; every fault is a `CorruptFileError`."""

    def __init__(self, source: Any, file: str) -> None:
        self._source = source
        self._file = file
        self._decoder = codecs.getincrementaldecoder("utf-8")()
        self._json = json.JSONDecoder()
        self._text = ""
        self._at = 0
        self._dropped = 0
        self._ended = False

    def at_end(self) -> bool:
        """Whether only whitespace is left."""
        return self._peek() == ""

    def members(self) -> Iterator[str]:
        """Yield each name of the object that starts here; the caller reads each value."""
        for _ in self._items("{", "}"):
            name = self.value()
            if not isinstance(name, str):
                raise self._fault("a name must be text")
            self._expect(":")
            yield name

    def elements(self) -> Iterator[None]:
        """Yield once before each element of the array that starts here; the caller reads it."""
        return self._items("[", "]")

    def value(self) -> Any:
        """Read the next complete value."""
        self._peek()
        wanted = _CHUNK_BYTES
        while True:
            problem = "it ends too early"
            try:
                found, end = self._json.raw_decode(self._text, self._at)
            except RecursionError as error:
                raise self._fault("it is nested too deeply") from error
            except ValueError as error:
                problem = str(error)
            else:
                if end < len(self._text) or self._ended:
                    self._at = end
                    return found
            if self._ended:
                raise self._fault(problem)
            if len(self._text) - self._at > _MAX_VALUE_CHARS:
                raise self._fault("a single value is too large")
            self._fill(wanted)
            wanted *= 2

    def _items(self, opening: str, closing: str) -> Iterator[None]:
        """Yield before each item between the brackets."""
        self._expect(opening)
        if self._peek() == closing:
            self._at += 1
            return
        while True:
            yield
            following = self._peek()
            self._at += 1
            if following == closing:
                return
            if following != ",":
                raise self._fault(f"',' or '{closing}' is missing")

    def _expect(self, character: str) -> None:
        """Consume `character`."""
        if self._peek() != character:
            raise self._fault(f"'{character}' is missing")
        self._at += 1

    def _peek(self) -> str:
        """Return the next non-whitespace character, `""` at the end."""
        while True:
            while self._at < len(self._text) and self._text[self._at] in _SPACE:
                self._at += 1
            if self._at < len(self._text):
                return self._text[self._at]
            if self._ended:
                return ""
            self._fill(_CHUNK_BYTES)

    def _fill(self, wanted_bytes: int) -> None:
        """Drop the text already read and append more."""
        try:
            chunk = self._source.read(wanted_bytes)
            more = self._decoder.decode(chunk, final=not chunk)
        except (OSError, UnicodeDecodeError) as error:
            raise self._fault(str(error)) from error
        self._dropped += self._at
        self._text = self._text[self._at :] + more
        self._at = 0
        self._ended = not chunk

    def _fault(self, reason: str) -> CorruptFileError:
        """Return the error at the current position; the offset counts characters."""
        return CorruptFileError(
            "timeline/corrupt-json",
            f"the JSON cannot be read: {reason}",
            where=Where(file=self._file, offset=self._dropped + self._at),
            remedy="The file is damaged; restore it from a copy, nothing was changed.",
        )
