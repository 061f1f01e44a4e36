"""The engine's reader of inputs on a session, and a preview of a spec's load."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from framework.engine.events import Events, Note, silent
from framework.engine.run.state import PinnedInput
from framework.plan.load import InputRequest
from framework.spark.loading.determinism import refuse_indeterminate
from framework.spark.loading.file_columns import refuse_columns
from framework.spark.loading.frames import open_input
from framework.spark.loading.staging import stage_input
from framework.spark.reading.jvm import Jvm
from framework.spark.sql_query import answer_of
from framework.spark.task_faults import typed

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["Preview", "PreviewColumn", "SparkInput", "preview_rows"]


class SparkInput:
    """Reads inputs with a session, which stays unchanged; reports nondeterministic expressions."""

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
                Note(level="info", message=f"not deterministic, so written to files first: {names}")
            )
        return PinnedInput(paths=tuple(file.path for file in found.files), schema=found.schema)


_ROWS: Final = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class PreviewColumn:
    """A column's name and its SQL type, such as `array<decimal(10,2)>`."""

    name: str
    type: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Preview:
    """The first rows of a load.

    Attributes:
        columns: in order.
        rows: in the order of the input, otherwise undefined; each a JSON object by column, times
            in UTC.
        has_more: whether there are more rows than requested.
        nondeterministic: as of `nondeterministic`.
    """

    columns: tuple[PreviewColumn, ...]
    rows: tuple[str, ...]
    has_more: bool
    nondeterministic: tuple[str, ...]


def preview_rows(spark: SparkSession, request: InputRequest, limit: int = _ROWS) -> Preview:
    """Return at most `limit` rows of a request; refuse rows that could not be loaded.

    Costs the jobs that Spark needs for one row more; transforms that group or sort read all rows.
    No setting of `spark` is changed.

    Raises:
        PlanError: as of `open_input`, and `input/unsupported-type`, `input/indeterminate`,
            `schema/duplicate-name`, `schema/same-but-case`.
        TaskError: `task/failed`; rows could not be read or computed.
        EngineError: `spark/gone`.
    """
    frame = open_input(spark, request)
    jvm = Jvm(frame.sparkSession)
    with typed():
        refuse_columns(jvm.schema_json(frame))
        types = jvm.type_texts(frame)
    uncertain = refuse_indeterminate(frame, request)
    with typed():
        answer = answer_of(frame, limit=limit)
    pairs = zip(answer.columns, types, strict=True)
    return Preview(
        columns=tuple(PreviewColumn(name=name, type=kind) for name, kind in pairs),
        rows=answer.rows,
        has_more=answer.has_more,
        nondeterministic=uncertain,
    )
