"""The queries that every reader runs, on any DataFrame of a data set."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from pyspark.sql import functions

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from pyspark.sql import DataFrame

__all__ = ["QUERIES", "run_query"]

QUERIES = ("count", "filtered-sum", "full-scan", "point", "key-and-column", "full-scan-meta")
"""`full-scan-meta` asks for the five meta columns too, where the frame has them."""


def run_query(
    opened: Callable[[], DataFrame], name: str, facts: Mapping[str, Any]
) -> tuple[float, object]:
    """Run one query to its end; return seconds of planning and an answer that all must agree on.

    The query `plan` ends when the physical plan of a scan of all data columns is there.
    """
    began = time.perf_counter()
    frame = opened()
    if name == "plan":
        execution: Any = frame
        execution._jdf.queryExecution().executedPlan()  # noqa: SLF001 - plans without running
    planning_s = time.perf_counter() - began
    return planning_s, _answer(frame, name, facts)


def _answer(frame: DataFrame, name: str, facts: Mapping[str, Any]) -> object:
    """Run one query on an open frame."""
    data = frame.select(*(c for c in frame.columns if not c.startswith("_hoodie_")))
    measure: str = facts["measure"]
    answer: object = None
    match name:
        case "count":
            answer = frame.count()
        case "filtered-sum":
            chosen = data.where(functions.col(measure) > 40)
            answer = str(chosen.agg(functions.sum(measure).cast("decimal(38,2)")).first()[0])
        case "full-scan":
            _scan(data)
        case "full-scan-meta":
            _scan(frame)
        case "point":
            answer = len(data.where(facts["where"]).collect())
        case "key-and-column":
            meta = "_hoodie_record_key" in frame.columns
            keys = ["_hoodie_record_key"] if meta else list(facts["keys"])
            _scan(frame.select(*keys, measure))
    return answer


def _scan(frame: DataFrame) -> None:
    """Read every value of every column and keep none of them."""
    frame.write.format("noop").mode("overwrite").save()
