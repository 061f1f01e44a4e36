"""The rows of a frame as a table of Arrow."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql.pandas.types import to_arrow_schema

from framework.spark.jobs import run_job

__all__ = ["arrow_rows"]


def arrow_rows(frame: DataFrame) -> pa.Table:
    """Return all rows of a frame, which are few; one Spark job."""
    context = frame.sparkSession.sparkContext

    def collect() -> Any:
        if hasattr(DataFrame, "toArrow"):
            return frame.toArrow()
        older: Any = frame
        batches = older._collect_as_arrow()  # noqa: SLF001  PySpark 3.5 has no other way
        return pa.Table.from_batches(batches) if batches else _empty(frame)

    return run_job(context, "rows of a test", collect)


def _empty(frame: DataFrame) -> pa.Table:
    """Return no rows with the frame's columns."""
    return to_arrow_schema(frame.schema).empty_table()
