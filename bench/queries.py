"""The queries that every reader runs, on any DataFrame of a data set."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from pyspark.sql import functions

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from pyspark.sql import DataFrame

__all__ = ["QUERIES", "reader"]

QUERIES = ("count", "filtered-sum", "full-scan", "point", "key-and-column", "full-scan-meta")
"""`full-scan-meta` asks for the five meta columns too, where the frame has them."""


def reader(opened: Callable[[str], DataFrame]) -> Mapping[str, Callable[..., object]]:
    """Return the actions `open` and `query` of a side that opens data sets so."""
    frames: list[DataFrame] = []

    def open_frame(location: str) -> float:
        """Open a data set; return the seconds until the plan of a scan of all of it is there."""
        began = time.perf_counter()
        frames[:] = [opened(location)]
        frame: Any = frames[0]
        frame._jdf.queryExecution().executedPlan()  # noqa: SLF001 - plans without running
        return time.perf_counter() - began

    def query(name: str, **facts: Any) -> object:
        """Run one query on what is open; return an answer that all sides must agree on."""
        return _answer(frames[0], name, facts)

    return {"open": open_frame, "query": query}


def _answer(frame: DataFrame, name: str, facts: Mapping[str, Any]) -> object:
    """Run one query on an open frame; the query `plan` is done by then."""
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
