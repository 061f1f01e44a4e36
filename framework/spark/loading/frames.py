"""An input as a frame: the source as Spark reads it, then the transforms in order."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from types import MappingProxyType
from typing import TYPE_CHECKING, Final
from urllib.parse import unquote

from framework.errors import PlanError, Where
from framework.hudi.keygen.spark_sql import quote_name
from framework.plan.load import InputRequest
from framework.spark.loading.file_columns import FileColumns, file_columns, refuse_absent
from framework.spark.object_stores import reach_stores
from framework.spark.reading.files import hadoop_path
from framework.spark.reading.jvm import Jvm
from framework.spark.reading.scan import private_settings
from framework.spark.spec_sql import check_frame, check_query
from framework.spark.task_faults import SPARK_REFUSES, first_line, typed

if TYPE_CHECKING:
    from py4j.protocol import Py4JJavaError
    from pyspark.errors import PySparkException
    from pyspark.sql import DataFrame, SparkSession

__all__ = ["open_input", "reading_source", "running_sql", "taking_schema"]

_FORMAT_UNKNOWN: Final = ("DATA_SOURCE_NOT_FOUND", "is built-in but external data source")

_SOURCE: Final = "source"
_NONE: Final[Mapping[str, str]] = MappingProxyType({})
_CHOOSING: Final = {"pathglobfilter", "modifiedbefore", "modifiedafter"}
_FILE_ROOT: Final = re.compile("^file:/+")


@contextmanager
def taking_schema(request: InputRequest) -> Iterator[None]:
    """Convert Spark's errors to `input/bad-schema`."""
    try:
        with typed(passing=SPARK_REFUSES):
            yield
    except SPARK_REFUSES as error:
        raise _refusal(
            "bad-schema",
            f"Spark rejects the schema of the source: {first_line(error)}",
            request=request,
            remedy="List columns as in `id BIGINT, name STRING, at TIMESTAMP`.",
        ) from error


@contextmanager
def reading_source(request: InputRequest) -> Iterator[None]:
    """Convert Spark's errors to `input/unknown-format` or `input/not-readable`."""
    try:
        with typed(passing=SPARK_REFUSES):
            yield
    except SPARK_REFUSES as error:
        raise _not_read(request, error) from error


@contextmanager
def running_sql(request: InputRequest, name: str, views: list[str]) -> Iterator[None]:
    """Convert Spark's errors to `input/bad-sql`, and name the refused transform.

    Raises:
        PlanError: `input/bad-sql`, `sql/not-allowed`.
    """
    sees = f"It must be one SELECT over {', '.join(f'`{view}`' for view in views)}."
    try:
        with typed(passing=SPARK_REFUSES):
            yield
    except PlanError as error:
        raise PlanError(
            error.condition,
            f"the transform `{name}`: {error.message}",
            where=Where(file=request.path),
            remedy=f"{error.remedy} {sees}",
        ) from error
    except SPARK_REFUSES as error:
        raise _refusal(
            "bad-sql",
            f"Spark rejects the transform `{name}`: {first_line(error)}",
            request=request,
            remedy=sees,
        ) from error


def _not_read(request: InputRequest, error: PySparkException | Py4JJavaError) -> PlanError:
    """Return the error for a source that cannot be opened."""
    words = first_line(error)
    if any(sign in words for sign in _FORMAT_UNKNOWN):
        return _refusal(
            "unknown-format",
            f"Spark does not know the format `{request.format}`: {words}",
            request=request,
            remedy="Correct the format, such as parquet, csv, json or orc, or start Spark with the"
            " package that provides it.",
        )
    return _refusal(
        "not-readable",
        f"Spark cannot read the source as `{request.format}`: {words}",
        request=request,
        remedy="Check its path, format, options and schema.",
    )


def _refusal(condition: str, message: str, *, request: InputRequest, remedy: str) -> PlanError:
    return PlanError(f"input/{condition}", message, where=Where(file=request.path), remedy=remedy)


def open_input(
    spark: SparkSession, request: InputRequest, *, settings: Mapping[str, str] = _NONE
) -> DataFrame:
    """Return the rows of a request: those of the last transform, else of the source.

    The frame belongs to a private session, which starts with the settings of `spark`, its functions
    and its catalog, but without its temporary views; `spark` itself is unchanged. Transforms see
    the source as `source`, and each other by name.

    Paths are used literally, without patterns or escapes. Folders below `path` with names like
    `column=value` give columns, after those of the files, whether or not the files are named; their
    types are those of `schema`, else inferred by Spark from the folders that it sees. A missing or
    damaged file is an error, unless the options allow it.

    Reads no rows, except that Spark infers the columns of CSV and JSON without a schema now. Lists
    `path`, or asks for each file's size; reads each footer of Parquet and ORC files, since files
    that lack a column are refused, or merged with the others.

    Args:
        spark: the caller's session.
        request: the input; a local `path` and all `files` are absolute.
        settings: of the private session, for callers that also write.

    Raises:
        PlanError: `input/unknown-format`, `input/bad-schema`, `input/not-readable`,
            `input/bad-sql`, `input/schema-differs`.
        SourceDriftError, CorruptFileError: as of `file_columns`.
        NotYetBuiltError: `spark/connect-not-built`.
        EngineError: `spark/gone`.
    """
    reach_stores(spark)
    jvm = Jvm(spark)
    with typed():
        listing = private_settings(spark.sparkContext.defaultParallelism, None)
        session = jvm.own_session({**listing, **settings})
    return _transformed(session, _source(session, request), request)


def _source(session: SparkSession, request: InputRequest) -> DataFrame:
    """Return the source without transforms."""
    columns = file_columns(request)
    reader = session.read.format(request.format).options(**_options(request, columns))
    if request.schema is not None:
        with taking_schema(request):
            reader = reader.schema(request.schema)
    with reading_source(request):
        if request.files is None:
            return reader.load() if request.path is None else reader.load(hadoop_path(request.path))
        frame = reader.load([hadoop_path(file) for file in request.files])
        found = Jvm(session).input_files(frame)
    _refuse_unread(request, found)
    if columns:
        refuse_absent(request, columns, Jvm(session).schema_json(frame))
    return frame


def _options(request: InputRequest, columns: FileColumns) -> dict[str, str]:
    """Return the options of the reader; those of the request override ours, ignoring case.

    Files with different columns are merged into all of them; otherwise Spark would use those of one
    file. Headers of CSV files are compared with the columns, which Spark otherwise matches by
    position.
    """
    if request.path is None and request.files is None:
        return dict(request.options)
    # Spark's own name for "do not expand `[`, `{` and `*`", supported by file formats only.
    ours = {"__globPaths__": "false"}
    if request.files is not None and request.path is not None and request.path not in request.files:
        ours["basePath"] = hadoop_path(request.path)
    if len(columns) > 1 and request.schema is None:
        ours["mergeSchema"] = "true"
    if request.format == "csv":
        ours["enforceSchema"] = "false"
    named = {option.lower() for option in request.options}
    kept = {name: value for name, value in ours.items() if name.lower() not in named}
    return {**kept, **request.options}


def _refuse_unread(request: InputRequest, found: list[str]) -> None:
    """Refuse files that Spark silently skips, such as hidden ones.

    If the options filter files, the skipped ones are skipped on purpose.
    """
    if _CHOOSING & {option.lower() for option in request.options}:
        return
    read = {unquote(_FILE_ROOT.sub("/", location)) for location in found}
    lost = [file for file in request.files or () if file not in read]
    if lost:
        raise PlanError(
            "input/not-readable",
            f"Spark skips {len(lost)} of the files to load",
            where=Where(file=lost[0]),
            remedy="Rename files that start with `_` or `.`, which Spark treats as hidden.",
        )


def _transformed(session: SparkSession, frame: DataFrame, request: InputRequest) -> DataFrame:
    """Return the rows of the last transform."""
    if not request.transforms:
        return frame
    views = [_SOURCE]
    with typed():
        frame.createTempView(quote_name(_SOURCE))
    for transform in request.transforms:
        with running_sql(request, transform.name, views):
            sql = transform.sql.strip().rstrip(";")  # Spark 4.1 does not accept it in a query
            check_query(session, sql, views)  # Spark runs a command immediately
            frame = session.sql(sql)
            check_frame(frame, views)
            frame.createTempView(quote_name(transform.name))
        views = [*views, transform.name]
    return frame
