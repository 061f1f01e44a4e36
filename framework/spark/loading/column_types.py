"""The types that our Parquet files support, judged by Spark's schema as JSON.

PySpark 3.5 has no class for some of the types, so its own schema cannot be used.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any, Final

from framework.errors import PlanError

__all__ = ["refuse_columns"]

_HELD: Final = re.compile(
    r"boolean|byte|short|integer|long|float|double|decimal(?:\(.*\))?"
    r"|string|char\(.*\)|varchar\(.*\)|binary|date|timestamp|timestamp_ntz"
)


def refuse_columns(schema_json: str) -> None:
    """Refuse a frame's schema if a file cannot store its columns; pure.

    Raises:
        PlanError: `input/unsupported-type` with all faulty columns; `schema/duplicate-name`,
            `schema/same-but-case`.
    """
    fields = json.loads(schema_json)["fields"]
    unheld = [f"`{path}` ({kind})" for path, kind in _unheld_fields(fields, "")]
    if unheld:
        raise PlanError(
            "input/unsupported-type",
            f"a Hudi table has no type for {', '.join(unheld)}",
            remedy="Cast these columns in a transform, or omit them.",
        )
    _refuse_twins([field["name"] for field in fields])


def _unheld_fields(fields: Sequence[Any], above: str) -> Iterator[tuple[str, str]]:
    """Yield dotted path and type of each field that a file cannot store."""
    for field in fields:
        yield from _unheld(field["type"], f"{above}{field['name']}")


def _unheld(kind: Any, path: str) -> Iterator[tuple[str, str]]:
    """Yield dotted path and type of the unsupported parts of one type."""
    if isinstance(kind, str):
        if not _HELD.fullmatch(kind):
            yield path, kind
        return
    if kind["type"] == "struct":
        yield from _unheld_fields(kind["fields"], f"{path}.")
    elif kind["type"] == "array":
        yield from _unheld(kind["elementType"], f"{path}.element")
    elif kind["type"] == "map":
        yield from _unheld(kind["keyType"], f"{path}.key")
        yield from _unheld(kind["valueType"], f"{path}.value")
    else:
        yield path, str(kind["type"])


def _refuse_twins(names: Sequence[str]) -> None:
    """Refuse columns whose names are equal for Spark, which then refuses to write them."""
    exact, lowered = Counter(names), Counter(name.lower() for name in names)
    for name in names:
        if exact[name] > 1:
            raise PlanError(
                "schema/duplicate-name",
                f"column '{name}' occurs twice in the rows to load",
                remedy="Rename one of them in a transform.",
            )
        if lowered[name.lower()] > 1:
            raise PlanError(
                "schema/same-but-case",
                f"column '{name}' differs from another one in case only, which Spark ignores",
                remedy="Rename one of them in a transform.",
            )
