"""Plain Spark counting keys, and Great Expectations in the same session.

Shuffles have more partitions than cores: with one per core, counting 30 million keys spills and
takes half as long again.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import great_expectations as gx
from pyspark.sql import DataFrame, functions
from spark_session import session

__all__ = ["start"]

_PARTITIONS_PER_CORE = 8


def start(settings: Mapping[str, str]) -> Mapping[str, Callable[..., object]]:
    """Start the session; actions are `open`, `unique` and `expect`."""
    partitions = str(int(settings["cores"]) * _PARTITIONS_PER_CORE)
    spark = session(settings, {"spark.sql.shuffle.partitions": partitions})
    held: list[tuple[DataFrame, Sequence[str]]] = []

    def open_source(location: str, keys: Sequence[str]) -> None:
        """List the files of a folder."""
        held[:] = [(spark.read.parquet(location), keys)]

    def unique() -> dict[str, Any]:
        """Group by the keys; return groups of more than one row, and their rows."""
        frame, keys = held[0]
        counted = frame.groupBy(*keys).agg(functions.count("*").alias("times"))
        twice = counted.where("times > 1")
        row = twice.agg(functions.count("*"), functions.sum("times")).collect()[0]
        return {"groups": row[0], "rows": row[1] or 0}

    def expect() -> dict[str, Any]:
        """Validate with Great Expectations, boolean result only; a failure counts as one row."""
        frame, keys = held[0]
        context = gx.get_context(mode="ephemeral")
        source = context.data_sources.add_spark("bench", persist=False)
        asset = source.add_dataframe_asset("keys")
        batch = asset.add_batch_definition_whole_dataframe("all")
        expected = gx.expectations.ExpectCompoundColumnsToBeUnique(column_list=list(keys))
        found = batch.get_batch({"dataframe": frame}).validate(
            expected, result_format="BOOLEAN_ONLY"
        )
        return {"rows": int(not found.success)}

    return {"open": open_source, "unique": unique, "expect": expect}
