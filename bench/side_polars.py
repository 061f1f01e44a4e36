"""Polars: grouping with its streaming engine."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import polars as pl

__all__ = ["start"]


def start(settings: Mapping[str, str]) -> Mapping[str, Callable[..., object]]:
    """Return the actions `open` and `unique`.

    Raises:
        ValueError: `POLARS_MAX_THREADS`, which is read at import, is not the number of cores.
    """
    if pl.thread_pool_size() != int(settings["cores"]):
        message = f"polars has {pl.thread_pool_size()} threads, not {settings['cores']}"
        raise ValueError(message)
    held: list[tuple[pl.LazyFrame, Sequence[str]]] = []

    def open_source(location: str, keys: Sequence[str]) -> None:
        """Read the schema of a folder."""
        held[:] = [(pl.scan_parquet(f"{location}/*.parquet"), keys)]

    def unique() -> dict[str, Any]:
        """Group by the keys; return groups of more than one row, and their rows."""
        frame, keys = held[0]
        counted = frame.group_by(list(keys)).agg(pl.len().alias("times"))
        twice = counted.filter(pl.col("times") > 1)
        found = twice.select(groups=pl.len(), rows=pl.col("times").sum())
        return dict(found.collect(engine="streaming").row(0, named=True))

    return {"open": open_source, "unique": unique}
