"""Rows of a test in the format of the spec's source."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

from framework.engine.examples.row_files import lay_file
from framework.spark.jobs import run_job

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyspark.sql import DataFrame, SparkSession

    from framework.engine.examples.ready import ReadyExample
    from framework.plan.examples.stand_in import StandIn

__all__ = ["lay_source"]

_PARQUET: Final = "parquet"
_TIMES: Final = {
    "timestampFormat": "yyyy-MM-dd'T'HH:mm:ss.SSSSSSXXX",
    "timestampNTZFormat": "yyyy-MM-dd'T'HH:mm:ss.SSSSSS",
}
_BEATEN: Final[Mapping[str, Mapping[str, str]]] = {
    "csv": _TIMES,
    "json": {**_TIMES, "ignoreNullFields": "false"},
}
"""Options by which no value is lost; those of the spec beat them."""

_FIXED: Final = {"ignoreLeadingWhiteSpace": "false", "ignoreTrailingWhiteSpace": "false"}
"""Space is for the reader to keep or to leave out."""


def lay_source(spark: SparkSession, ready: ReadyExample, place: StandIn) -> None:
    """Write the rows that come in where the spec that is tried looks for them.

    Parquet is written here, other formats by Spark with the options of the source, in one job.
    Without rows there is an empty folder.
    """
    if not ready.given.num_rows:
        Path(place.source).mkdir(parents=True, exist_ok=True)
        return
    if place.format == _PARQUET and not ready.folders:
        lay_file(ready.given, place.source)
        return
    path = lay_file(ready.given, f"{place.folder}/given")
    frame = spark.read.parquet(f"file:{path}")
    work = partial(_write, frame, ready, place)
    run_job(spark.sparkContext, "rows of a test", work)


def _write(frame: DataFrame, ready: ReadyExample, place: StandIn) -> None:
    """Write a frame as the source's files."""
    fixed = {name.lower() for name in _FIXED}
    said = {n: value for n, value in place.options.items() if n.lower() not in fixed}
    options = {**_BEATEN.get(place.format, {}), **said, **_FIXED}
    writer = frame.write.format(place.format).options(**options)
    if ready.folders:
        writer = writer.partitionBy(*ready.folders)
    writer.save(f"file:{place.source}")
