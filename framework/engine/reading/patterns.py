"""Selection of partitions by path: exact, by a leading folder, or by a glob of folder names."""

from __future__ import annotations

import re
from collections.abc import Iterable

from framework.errors import PlanError, Where
from framework.spec.sections.fields import Pattern, PatternError, compile_pattern

__all__ = ["choose_partitions"]


def choose_partitions(paths: Iterable[str], pattern: str | None, *, table: str) -> Iterable[str]:
    """Return the partition paths that `pattern` selects; for None all of them, in order.

    A pattern that is a path, or the folder above some, selects these; nothing in it is special
    then. Else each level is a glob for one folder name: `*`, `?`, `[a-c]`, `[!a]`, `[^a]`, `{a,b}`;
    fewer levels than the partitions have select everything below.

    Raises:
        PlanError: `read/partition-matches-nothing`, `read/bad-glob`.
    """
    if pattern is None:
        return paths
    found = list(paths)
    wanted = pattern.strip("/")
    exact = [path for path in found if path == wanted or path.startswith(f"{wanted}/")]
    chosen = exact or _matching(found, _glob(wanted))
    if not chosen:
        raise PlanError(
            "read/partition-matches-nothing",
            f"no partition of the table matches {pattern!r}",
            where=Where(table=table, partition=pattern),
            remedy=f"Partitions look like {', '.join(map(repr, found[:3])) or 'nothing: empty'}.",
        )
    return chosen


def _matching(paths: Iterable[str], glob: Pattern) -> list[str]:
    return [path for path in paths if glob.fullmatch(path)]


def _glob(pattern: str) -> Pattern:
    """Return the expression for a glob of partition paths."""
    levels = "/".join(_level(level) for level in pattern.split("/"))
    try:
        return compile_pattern(f"(?s){levels}(?:/.*)?")
    except PatternError as error:
        raise PlanError(
            "read/bad-glob",
            f"{pattern!r} is not a valid glob: {error}",
            remedy="Close each '[' with ']' and each '{' with '}'.",
        ) from error


_TOKEN = re.compile(r"\*|\?|\[[!^]?\]?[^\]/]*\]|\{[^{}/]*\}|.", re.DOTALL)


def _level(glob: str) -> str:
    """Return the expression for one folder name."""
    return "".join(_piece(piece) for piece in _TOKEN.findall(glob))


def _piece(piece: str) -> str:
    """Return the expression for one piece of a glob."""
    if piece == "*":
        return "[^/]*"
    if piece == "?":
        return "[^/]"
    if piece[0] == "[" and len(piece) > 1:
        negated = piece[1] in "!^"
        inside = piece[1 + negated : -1].replace("\\", "\\\\").replace("[", "\\[")
        return f"[{'^/' if negated else ''}{inside}]"
    if piece[0] == "{" and len(piece) > 1:
        return f"(?:{'|'.join(_level(choice) for choice in piece[1:-1].split(','))})"
    return re.escape(piece)
