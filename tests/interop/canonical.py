"""Values of any reader in one comparable JSON form."""

from __future__ import annotations

import datetime as dt
import decimal
import math
from collections.abc import Iterable, Mapping, Sequence

__all__ = ["canonical", "canonical_rows", "sort_key"]


def canonical(value: object) -> object:
    """Return `value` as JSON-able data that is equal exactly when the values are.

    A struct becomes `{name: value}`, a map a sorted list of pairs, a timestamp its ISO text
    (aware ones in UTC), a decimal and a date tagged text, bytes tagged hex, NaN a tag.
    """
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        return "NaN" if math.isnan(value) else value
    scalar = _scalar(value)
    return _nested(value) if scalar is None else scalar


def canonical_rows(rows: Iterable[Sequence[object]]) -> list[list[object]]:
    """Return rows in canonical form, sorted by their text, so that order never matters."""
    return sorted(([canonical(value) for value in row] for row in rows), key=sort_key)


def sort_key(row: object) -> str:
    """Return a text that orders canonical rows of mixed types."""
    return repr(row)


def _scalar(value: object) -> str | None:
    """Return tagged text for a scalar that JSON does not know, None for anything else."""
    match value:
        case dt.datetime():
            aware = value if value.tzinfo is None else value.astimezone(dt.UTC)
            return f"t:{aware.replace(tzinfo=None).isoformat()}"
        case dt.date():
            return f"date:{value.isoformat()}"
        case decimal.Decimal():
            return f"d:{value}"
        case bytes() | bytearray():
            return f"x:{bytes(value).hex()}"
        case _:
            return None


def _nested(value: object) -> object:
    """Return the canonical form of a struct, map or list.

    A PySpark Row offers `asDict`; pyarrow gives a struct as a dict, and a map as a list of
    pairs. A mapping of PySpark is a map: its keys need not be text.
    """
    as_dict = getattr(value, "asDict", None)
    if as_dict is not None:
        return {name: canonical(item) for name, item in as_dict().items()}
    if isinstance(value, Mapping):
        return {str(name): canonical(item) for name, item in value.items()}
    if isinstance(value, list | tuple) and value and all(_is_pair(item) for item in value):
        return {str(key): canonical(item) for key, item in value}
    if isinstance(value, list | tuple):
        return [canonical(item) for item in value]
    message = f"no canonical form for {type(value).__name__}"
    raise TypeError(message)


def _is_pair(item: object) -> bool:
    """Say whether `item` is one entry of a map as pyarrow gives it, and not a Row."""
    return isinstance(item, tuple) and len(item) == 2 and not hasattr(item, "asDict")
