r"""Java's `Properties` text, as `load` reads and `store` writes it.

Java stores plain ASCII: other characters become `\uXXXX` in UTF-16, so two escapes above U+FFFF.
Java reads all files as Latin-1; decode files that way before `parse`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from framework.errors import CorruptFileError

__all__ = ["parse", "parse_pairs", "render"]

_BLANK: Final = " \t\f"
_LINE_END: Final = re.compile(r"\r\n|\r|\n")
_ESCAPE: Final = re.compile(r"\\(?:u(.{0,4})|(.?))", re.DOTALL)
_HEX: Final = re.compile(r"[0-9A-Fa-f]{4}")
# An escaped character, or one that ends the key.
_KEY: Final = re.compile(r"(?:\\.|[^\\=: \t\f])*", re.DOTALL)
_SEPARATOR: Final = re.compile(r"[ \t\f]*[=:]?[ \t\f]*")
_MEANINGS: Final = {"t": "\t", "r": "\r", "n": "\n", "f": "\f"}
_SPECIAL: Final = {
    "\\": "\\\\",
    "\t": "\\t",
    "\n": "\\n",
    "\r": "\\r",
    "\f": "\\f",
    "=": "\\=",
    ":": "\\:",
    "#": "\\#",
    "!": "\\!",
}


def parse(text: str) -> dict[str, str]:
    r"""Return the entries of a properties text; for a repeated key, the last one counts.

    Raises:
        CorruptFileError: `properties/bad-escape` for a `\u` without four hexadecimal digits.
    """
    return dict(parse_pairs(text))


def parse_pairs(text: str) -> list[tuple[str, str]]:
    """Return the entries in their order, including repeated keys; raises as `parse`."""
    pairs = []
    for line in _logical_lines(text):
        key = _KEY.match(line)
        key_end = key.end() if key else 0
        separator = _SEPARATOR.match(line, key_end)
        value_start = separator.end() if separator else key_end
        pairs.append((_unescape(line[:key_end]), _unescape(line[value_start:])))
    return pairs


def render(pairs: Mapping[str, str], comments: Iterable[str] = ()) -> str:
    """Return the text that Java's `store` writes, without its date comment.

    Args:
        pairs: entries, written in their order.
        comments: lines for the head, without `#` and line ends.
    """
    lines = [f"#{''.join(map(_ascii, comment))}" for comment in comments]
    lines += [f"{_escape_key(key)}={_escape_value(value)}" for key, value in pairs.items()]
    return "".join(f"{line}\n" for line in lines)


def _logical_lines(text: str) -> Iterator[str]:
    """Yield the logical lines with an entry; a trailing backslash continues a line.

    Java's corner cases: a comment does not continue, but the line after a lone backslash may be a
    comment; a backslash at the end of the text is dropped, and the rest is an entry even if empty.
    """
    line, is_continued = "", False
    for natural in _LINE_END.split(text):
        more = natural.lstrip(_BLANK)
        if not line and (not more or more[0] in "#!"):
            is_continued = False
            continue
        line += more
        is_continued = _is_continued(line)
        if is_continued:
            line = line[:-1]
        else:
            yield line
            line = ""
    if is_continued:
        yield line


def _is_continued(line: str) -> bool:
    """Return whether the line ends in an odd number of backslashes."""
    return (len(line) - len(line.rstrip("\\"))) % 2 == 1


def _unescape(text: str) -> str:
    """Return the text with its escapes replaced."""
    if "\\" not in text:
        return text
    plain = _ESCAPE.sub(_meaning, text)
    # Java's characters are UTF-16 units: join the two halves of those above U+FFFF.
    return plain.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")


def _meaning(escape: re.Match[str]) -> str:
    """Return the character of one escape; an unknown escape is its own character."""
    digits, character = escape.group(1, 2)
    if digits is None:
        return _MEANINGS.get(character, character)
    if not _HEX.fullmatch(digits):
        raise CorruptFileError(
            "properties/bad-escape", f"\\u{digits} is not four hexadecimal digits"
        )
    return chr(int(digits, 16))


def _escape_key(key: str) -> str:
    """Return a key as Java stores it: every space escaped."""
    return "".join("\\ " if c == " " else _SPECIAL.get(c) or _ascii(c) for c in key)


def _escape_value(value: str) -> str:
    """Return a value as Java stores it: a leading space escaped."""
    text = "".join(_SPECIAL.get(c) or _ascii(c) for c in value)
    return f"\\{text}" if text.startswith(" ") else text


def _ascii(character: str) -> str:
    """Return a printable ASCII character as is, others as escaped UTF-16 units."""
    if " " <= character <= "~":
        return character
    units = character.encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[i]:02X}{units[i + 1]:02X}" for i in range(0, len(units), 2))
