"""Numbers as text, the same in plans, Markdown and error messages."""

from __future__ import annotations

from typing import Final

__all__ = ["count_text", "listing", "number_text", "seconds_text", "size_text"]

_UNITS: Final = ("B", "kB", "MB", "GB", "TB", "PB")
_MINUTE: Final = 60.0
_HOUR: Final = 3600.0


def number_text(number: int) -> str:
    """Return `336776` as `336,776`."""
    return f"{number:,}"


def count_text(number: int, noun: str) -> str:
    """Return `1 file`, `12 files`, `3,500 partitions`; every noun here takes a plain `s`."""
    return f"{number_text(number)} {noun}{'' if number == 1 else 's'}"


def size_text(size_bytes: int) -> str:
    """Return bytes in decimal units with one decimal from kB up: `0 B`, `6.1 MB`."""
    size, unit = float(size_bytes), 0
    while round(size, 1) >= 1000 and unit < len(_UNITS) - 1:  # noqa: PLR2004  the SI step
        size, unit = size / 1000, unit + 1
    return f"{size_bytes} B" if unit == 0 else f"{size:.1f} {_UNITS[unit]}"


def seconds_text(seconds: float) -> str:
    """Return core-seconds in a unit that suits their size, with two significant digits or so."""
    if seconds < _MINUTE:
        return f"{seconds:.1f} core-seconds"
    if seconds < _HOUR:
        return f"{seconds / _MINUTE:.1f} core-minutes"
    return f"{seconds / _HOUR:.1f} core-hours"


def listing(names: tuple[str, ...], *, limit: int = 5, total: int | None = None) -> str:
    """Return the names joined by commas; beyond `limit`, the number of others.

    `total` is the full number if `names` are only samples.
    """
    shown = names[:limit]
    hidden = (len(names) if total is None else total) - len(shown)
    text = ", ".join(shown)
    return f"{text} and {number_text(hidden)} more" if shown and hidden > 0 else text
