"""Types of columns as in Spark SQL: `decimal(10,2)`, `array<struct<a:int>>`.

A type has one normalized spelling: lower case, no space, no synonym (`long` is `bigint`), decimals
with precision and scale, backquoted field names unless they are plain words.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from framework.spec.document.findings import nearest

__all__ = ["INTEGER_BITS", "TypeTextError", "field_text", "normal_type"]

INTEGER_BITS = {"tinyint": 7, "smallint": 15, "int": 31, "bigint": 63}
"""Bits of each integer type, without its sign."""

_NORMAL = {
    **{name: name for name in INTEGER_BITS},
    "byte": "tinyint",
    "short": "smallint",
    "integer": "int",
    "long": "bigint",
    "float": "float",
    "real": "float",
    "double": "double",
    "boolean": "boolean",
    "string": "string",
    "binary": "binary",
    "date": "date",
    "timestamp": "timestamp",
    "timestamp_ltz": "timestamp",
    "timestamp_ntz": "timestamp_ntz",
}
_NESTED = {"array": 1, "map": 2}
_DECIMALS = ("decimal", "dec", "numeric")
_KNOWN = (*_NORMAL, "decimal", "array", "map", "struct")
_OTHER_SYSTEMS = {
    **dict.fromkeys(("text", "str", "varchar", "char", "object", "utf8"), "string"),
    "int8": "tinyint",
    "int16": "smallint",
    "int32": "int",
    "int64": "bigint",
    "float32": "float",
    "float64": "double",
    "bool": "boolean",
    "datetime": "timestamp",
    "list": "array<string>",
    "json": "string",
    "bytes": "binary",
    "number": "decimal(38,0)",
}
_MAX_PRECISION = 38
_MAX_LENGTH = 10_000
_MAX_DEPTH = 30
_TOKEN = re.compile(r"\s*(?:(\w+)|(`(?:``|[^`])+`)|([<>(),:])|(\S))")
_WORD = re.compile(r"\w+")


class TypeTextError(Exception):
    """The text is not a type; caught and reported as a finding within this package."""

    def __init__(self, message: str, suggestion: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.suggestion = suggestion


def normal_type(text: str) -> str:
    """Return the type in its normalized spelling.

    Raises:
        TypeTextError: there is no such type, or the text is malformed.
    """
    if len(text) > _MAX_LENGTH:
        raise TypeTextError(f"a type has at most {_MAX_LENGTH:,} characters")
    reader = _Reader(words=["".join(found) for found in _TOKEN.findall(text)])
    kind = reader.type(0)
    if reader.words:
        raise TypeTextError(f"`{reader.words[0]}` follows the end of the type `{kind[:60]}`")
    return kind


@dataclass(slots=True)
class _Reader:
    """The remaining words of a type."""

    words: list[str]

    def type(self, depth: int) -> str:
        """Return the next type."""
        name = self._next("a type").lower()
        if depth > _MAX_DEPTH:
            raise TypeTextError(f"types are nested deeper than {_MAX_DEPTH}")
        if name in _DECIMALS:
            return self._decimal()
        if name in _NESTED:
            return f"{name}<{self._inside(_NESTED[name], depth)}>"
        if name == "struct":
            return f"struct<{self._fields(depth)}>"
        if name not in _NORMAL:
            close = _OTHER_SYSTEMS.get(name) or nearest(name, _KNOWN)
            message = f"`{name[:60]}` is not a Spark SQL type that a table can have"
            raise TypeTextError(message, close)
        return _NORMAL[name]

    def _decimal(self) -> str:
        """Return the decimal with precision and scale in brackets, or Spark's default."""
        if not self._takes("("):
            return "decimal(10,0)"
        precision = self._number()
        scale = self._number() if self._takes(",") else 0
        self._must(")")
        if not (1 <= precision <= _MAX_PRECISION and scale <= precision):
            message = f"a decimal has 1 to {_MAX_PRECISION} digits, and no more of them after the"
            raise TypeTextError(f"{message} point: not decimal({precision},{scale})")
        return f"decimal({precision},{scale})"

    def _inside(self, count: int, depth: int) -> str:
        """Return `count` types in angle brackets."""
        self._must("<")
        kinds = [self.type(depth + 1)]
        while len(kinds) < count:
            self._must(",")
            kinds.append(self.type(depth + 1))
        self._must(">")
        return ",".join(kinds)

    def _fields(self, depth: int) -> str:
        """Return the fields of a struct: `a:int,b:string`."""
        self._must("<")
        fields: list[str] = []
        while not self._takes(">"):
            if fields:
                self._must(",")
            name = self._next("the name of a field")
            self._takes(":")
            fields.append(f"{_field_name(name)}:{self.type(depth + 1)}")
        return ",".join(fields)

    def _number(self) -> int:
        """Return a short number."""
        word = self._next("a number")
        if not re.fullmatch(r"[0-9]{1,3}", word):
            raise TypeTextError(f"`{word[:60]}` is not a number of digits")
        return int(word)

    def _must(self, sign: str) -> None:
        """Consume the sign; raise `TypeTextError` for any other word."""
        word = self._next(f"`{sign}`")
        if word != sign:
            raise TypeTextError(f"expected `{sign}` instead of `{word[:60]}`")

    def _takes(self, sign: str) -> bool:
        """Return whether the sign comes next, and consume it."""
        if self.words and self.words[0] == sign:
            self.words.pop(0)
            return True
        return False

    def _next(self, what: str) -> str:
        """Return the next word."""
        if not self.words:
            raise TypeTextError(f"the type ends where {what} is expected")
        return self.words.pop(0)


def _field_name(name: str) -> str:
    """Return the name in lower case, quoted unless it is a plain word."""
    inner = name[1:-1].replace("``", "`") if name.startswith("`") else name
    if not name.startswith("`") and not _WORD.fullmatch(name):
        raise TypeTextError(f"`{name[:60]}` is not a valid field name")
    return field_text(inner)


def field_text(name: str) -> str:
    """Return the name of a struct's field in its normalized spelling."""
    lower = name.lower()
    return lower if _WORD.fullmatch(lower) else "`" + lower.replace("`", "``") + "`"
