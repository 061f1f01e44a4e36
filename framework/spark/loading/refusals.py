"""What Spark refuses of an input, as errors of whoever wrote the spec."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from framework.errors import PlanError, Where
from framework.spark.spark_faults import SPARK_REFUSES, first_line, typed

if TYPE_CHECKING:
    from collections.abc import Iterator

    from py4j.protocol import Py4JJavaError
    from pyspark.errors import PySparkException

    from framework.plan.input import InputRequest

__all__ = ["reading_source", "running_sql", "taking_schema"]

_FORMAT_UNKNOWN: Final = ("DATA_SOURCE_NOT_FOUND", "is built-in but external data source")


@contextmanager
def taking_schema(request: InputRequest) -> Iterator[None]:
    """Turn what Spark raises into `input/bad-schema`."""
    try:
        with typed(passing=SPARK_REFUSES):
            yield
    except SPARK_REFUSES as error:
        raise _refusal(
            "bad-schema",
            f"Spark does not take the schema of the source: {first_line(error)}",
            request=request,
            remedy="List columns as in `id BIGINT, name STRING, at TIMESTAMP`.",
        ) from error


@contextmanager
def reading_source(request: InputRequest) -> Iterator[None]:
    """Turn what Spark raises into `input/unknown-format` or `input/not-readable`."""
    try:
        with typed(passing=SPARK_REFUSES):
            yield
    except SPARK_REFUSES as error:
        raise _not_read(request, error) from error


@contextmanager
def running_sql(request: InputRequest, name: str, views: list[str]) -> Iterator[None]:
    """Turn what Spark raises into `input/bad-sql`, and name the transform that is refused.

    Raises:
        PlanError: `input/bad-sql`, `sql/not-allowed`.
    """
    sees = f"It must be one SELECT; it sees {', '.join(f'`{view}`' for view in views)}."
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
            f"Spark does not take the transform `{name}`: {first_line(error)}",
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
            " package that brings it.",
        )
    return _refusal(
        "not-readable",
        f"Spark cannot read the source as `{request.format}`: {words}",
        request=request,
        remedy="Check its path, format, options and schema.",
    )


def _refusal(condition: str, message: str, *, request: InputRequest, remedy: str) -> PlanError:
    """Return the error for a faulty part of an input."""
    return PlanError(f"input/{condition}", message, where=Where(file=request.path), remedy=remedy)
