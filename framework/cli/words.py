"""The words of a command line before they are parsed."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Collection

__all__ = ["is_place", "option_value", "with_default_command"]

_SUFFIXES: Final = (".yml", ".yaml", ".json")
_HELP: Final = {"-h", "--help", "--version"}


def with_default_command(words: list[str], commands: Collection[str]) -> list[str]:
    """Return the words with `run` before them where they name a spec and no command.

    `-C FOLDER` stays in front. Options may stand before the spec: `-t prod flights.pipeline.yml`.
    """
    skip = _global_words(words)
    front, rest = words[:skip], words[skip:]
    if not rest or rest[0] in commands or rest[0] in _HELP:
        return words
    folder = Path(front[-1].removeprefix("-C")) if front else Path()
    if is_place(rest[0], folder) or (
        rest[0].startswith("-") and any(word.endswith(_SUFFIXES) for word in rest[1:])
    ):
        return [*front, "run", *rest]
    return words


def is_place(word: str, folder: Path) -> bool:
    """Whether a word is a path, by its look or because it is there."""
    if word.startswith("-"):
        return False
    return word.endswith(_SUFFIXES) or "/" in word or (folder / word).exists()


def option_value(words: list[str], name: str) -> str | None:
    """Return the value of `--name VALUE` or `--name=VALUE`, the last one; None without."""
    found = None
    for number, word in enumerate(words):
        if word == name and number + 1 < len(words):
            found = words[number + 1]
        elif word.startswith(f"{name}="):
            found = word.partition("=")[2]
    return found


def _global_words(words: list[str]) -> int:
    """How many words `-C FOLDER` takes: 2, or 1 where it is written as one, or 0."""
    if words[:1] == ["-C"]:
        return 2
    return 1 if words and words[0].startswith("-C") else 0
