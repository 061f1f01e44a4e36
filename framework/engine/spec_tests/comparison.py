"""Rows that are expected beside those that are there, both as multisets."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final

from framework.engine.spec_tests.rows import fitted_rows

if TYPE_CHECKING:
    import pyarrow as pa

    from framework.plan.faults import Fault
    from framework.plan.spec_tests.spec_test import SpecTestRows

__all__ = ["Difference", "Row", "compare", "text_of"]

Row = tuple[str, ...]
"""The texts of a row's values, in the order of columns."""

_NAN: Final = "NaN"


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """How rows differ from what is expected of them.

    Attributes:
        what: which rows, such as `written`.
        columns: those that were compared.
        missing: expected rows that are not there, each as often as it is missing.
        unexpected: rows that nobody expects, likewise.
        matched: expected rows that are there.
    """

    what: str
    columns: tuple[str, ...]
    missing: tuple[Row, ...]
    unexpected: tuple[Row, ...]
    matched: int


def compare(
    what: str, expected: SpecTestRows, found: pa.Table, faults: list[Fault]
) -> Difference | None:
    """Return how rows differ from those expected, None where they do not.

    The columns are those that an expected row names; without any, all. Faults of the expected rows
    themselves are added to `faults`, and then nothing is compared.
    """
    before = len(faults)
    # Without columns nothing was made: rows that are expected are missing, whatever they hold.
    wanted: Sequence[Mapping[str, Any]] = expected.rows
    if found.num_columns:
        wanted = fitted_rows(expected, found.schema, faults)
    if len(faults) > before:
        return None
    columns = tuple(dict.fromkeys(name for row in wanted for name in row))
    columns = columns or tuple(name for name in found.column_names if not name.startswith("_"))
    there = found.select([name for name in columns if name in found.column_names]).to_pylist()
    texts: dict[Hashable, Row] = {}
    left, right = _counted(wanted, columns, texts), _counted(there, columns, texts)
    missing, unexpected = left - right, right - left
    if not missing and not unexpected:
        return None
    return Difference(
        what=what,
        columns=columns,
        missing=tuple(texts[key] for key in missing.elements()),
        unexpected=tuple(texts[key] for key in unexpected.elements()),
        matched=(left & right).total(),
    )


def _counted(
    rows: Sequence[Mapping[str, Any]], columns: Sequence[str], texts: dict[Hashable, Row]
) -> Counter[Hashable]:
    """Return how often each row comes; `texts` gets how it is shown."""
    counted: Counter[Hashable] = Counter()
    for row in rows:
        values = [row.get(name) for name in columns]
        key = tuple(map(_key, values))
        texts.setdefault(key, tuple(map(text_of, values)))
        counted[key] += 1
    return counted


def _key(value: Any) -> Hashable:
    """Return what equal values have in common: of maps whatever their order, NaN like NaN."""
    if isinstance(value, float) and math.isnan(value):
        return _NAN
    if isinstance(value, Mapping):
        return tuple((name, _key(item)) for name, item in value.items())
    if isinstance(value, list):
        items = [_key(item) for item in value]
        is_map = all(isinstance(item, tuple) for item in value)
        return tuple(sorted(items, key=repr) if is_map else items)
    if isinstance(value, tuple):
        return tuple(map(_key, value))
    return value if isinstance(value, Hashable) else repr(value)


def text_of(value: Any) -> str:
    """Return a value as a spec would have it; text that could be taken for more is quoted."""
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{name}: {text_of(item)}" for name, item in value.items()) + "}"
    if isinstance(value, list):
        if value and all(isinstance(item, tuple) for item in value):
            return text_of(dict(value))
        return "[" + ", ".join(map(text_of, value)) + "]"
    return _scalar_text(value)


def _scalar_text(value: Any) -> str:
    """Return a value that holds no other."""
    if isinstance(value, str):
        is_plain = value == value.strip() and value not in _WORDS.values() and value
        return value if is_plain else repr(value)
    if isinstance(value, datetime):
        return (
            (value.astimezone(UTC) if value.tzinfo else value).replace(tzinfo=None).isoformat(" ")
        )
    if isinstance(value, bytes):
        return value.decode("utf-8", "backslashreplace")
    return _WORDS[value] if value is None or isinstance(value, bool) else str(value)


_WORDS: Final = {None: "null", True: "true", False: "false"}
