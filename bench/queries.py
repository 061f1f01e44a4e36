"""The queries that every reader runs, on any DataFrame of a data set."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any

from pyspark.sql import DataFrame, functions

__all__ = ["QUERIES", "reader"]

QUERIES = ("count", "filtered-sum", "full-scan", "point", "key-and-column", "full-scan-meta")
"""`full-scan-meta` also reads the five meta columns, if the frame has them."""
_SCANS = frozenset({"full-scan", "full-scan-meta", "key-and-column"})
"""Scans read every selected value, and keep none."""


def reader(
    opened: Callable[[str], DataFrame], since: Callable[[str, str], DataFrame] | None = None
) -> Mapping[str, Callable[..., object]]:
    """Return the actions `open` and `query` of a side that opens data sets with `opened`.

    `since` opens the rows written to one after an instant.
    """
    frames: list[DataFrame] = []

    def open_query(location: str, name: str, *, begin: str = "", **facts: Any) -> float:
        """Open a data set; return the seconds until the physical plan of a query exists."""
        began = time.perf_counter()
        frame = since(location, begin) if since is not None and begin else opened(location)
        frames[:] = [_asked(frame, name, facts)]
        asked: Any = frames[0]
        asked._jdf.queryExecution().executedPlan()  # noqa: SLF001 - plans without running
        return time.perf_counter() - began

    def query(name: str) -> object:
        """Run the open query; return a result that all sides must agree on."""
        if name in _SCANS:
            frames[0].write.format("noop").mode("overwrite").save()
            return None
        return None if name == "plan" else str(frames[0].collect())

    return {"open": open_query, "query": query}


def _asked(frame: DataFrame, name: str, facts: Mapping[str, Any]) -> DataFrame:
    """Return the frame of a query, without running it."""
    data = frame.select(*(c for c in frame.columns if not c.startswith("_hoodie_")))
    measure: str = facts["measure"]
    meta = "_hoodie_record_key" in frame.columns
    keys = ["_hoodie_record_key"] if meta else list(facts["keys"])
    total = functions.sum(measure).cast("decimal(38,2)").alias("total")
    asked: dict[str, Callable[[], DataFrame]] = {
        "changes": lambda: frame.agg(functions.count("*"), total),
        "count": lambda: frame.agg(functions.count("*")),
        "filtered-sum": lambda: data.where(functions.col(measure) > 40).agg(total),
        "full-scan": lambda: data,
        "full-scan-meta": lambda: frame,
        "key-and-column": lambda: frame.select(*keys, measure),
        "plan": lambda: frame,
        "point": lambda: data.where(facts["where"]).agg(functions.count("*")),
    }
    return asked[name]()
