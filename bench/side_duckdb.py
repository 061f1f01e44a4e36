"""DuckDB: grouping by SQL over Parquet."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import duckdb

__all__ = ["start"]


def start(settings: Mapping[str, str]) -> Mapping[str, Callable[..., object]]:
    """Connect with as many threads as cores; actions are `open` and `unique`."""
    config = {"threads": settings["cores"], "temp_directory": settings["work_dir"]}
    connection = duckdb.connect(config=config)
    held: list[tuple[str, Sequence[str]]] = []

    def open_source(location: str, keys: Sequence[str]) -> None:
        """Set the folder."""
        held[:] = [(location, keys)]

    def unique() -> dict[str, Any]:
        """Group by the keys; return groups of more than one row, and their rows."""
        location, keys = held[0]
        source = connection.read_parquet(f"{location}/*.parquet")
        counted = source.aggregate(", ".join([*keys, "count(*) AS times"])).filter("times > 1")
        found = counted.aggregate("count(*), coalesce(sum(times), 0)").fetchall()
        ((groups, rows),) = found
        return {"groups": groups, "rows": int(rows)}

    return {"open": open_source, "unique": unique}
