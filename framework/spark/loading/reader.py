"""The engine's reader of inputs, on a session."""

from __future__ import annotations

from typing import TYPE_CHECKING

from framework.engine.events import Events, Note, silent
from framework.engine.run.context import PinnedInput
from framework.plan.load import InputRequest
from framework.spark.loading.staging import stage_input

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["SparkInput"]


class SparkInput:
    """Reads with a session, which stays as it is; says what would not be the same each time."""

    def __init__(self, spark: SparkSession, events: Events = silent) -> None:
        self._spark = spark
        self._events = events

    def stage(self, request: InputRequest, folder: str) -> PinnedInput:
        """Write the rows of a request as Parquet files into a new local folder.

        Costs and errors are those of `stage_input`.
        """
        found = stage_input(self._spark, request, folder)
        if found.nondeterministic:
            names = ", ".join(found.nondeterministic)
            self._events(
                Note(level="info", message=f"not the same each time, now pinned in files: {names}")
            )
        return PinnedInput(paths=tuple(file.path for file in found.files), schema=found.schema)
