"""Spark's errors as ours."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from py4j.protocol import Py4JError, Py4JJavaError
from pyspark.errors import PySparkException

from framework.errors import EngineError
from framework.spark.task_faults import from_text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from framework.errors import FrameworkError

__all__ = ["SPARK_REFUSES", "first_line", "typed"]

SPARK_REFUSES: Final = (PySparkException, Py4JJavaError)
"""What Spark raises while it is alive; of classes that PySpark does not know, the second."""

_LONGEST: Final = 500


@contextmanager
def typed(passing: tuple[type[Exception], ...] = ()) -> Iterator[None]:
    """Turn Spark's errors into ours, but for those that are let pass."""
    try:
        yield
    except passing:
        raise
    except (PySparkException, Py4JError) as error:
        fault = _fault(error)
        raise fault from (fault.__cause__ or error)


def first_line(error: PySparkException | Py4JJavaError) -> str:
    """Return what Spark says in one line, without the plan or the trace that follows."""
    if isinstance(error, Py4JJavaError):
        text = str(error.java_exception.getMessage() or error.java_exception)
    else:
        # 4.x has no message for what is not of Spark's own classes, 3.5 has not even the method.
        text = (hasattr(error, "getMessage") and error.getMessage()) or str(error)
    told = next((line.strip(" ;") for line in text.splitlines() if line.strip()), "")
    return told[:_LONGEST]


def _fault(error: PySparkException | Py4JError) -> FrameworkError:
    """Return the error for a job that failed, or for a JVM that is gone."""
    if isinstance(error, PySparkException | Py4JJavaError):
        return from_text(str(error))
    return EngineError(
        "spark/gone",
        "Spark's JVM ended in the middle of the work, or cannot be reached any more",
        remedy="Its log may say why (memory, most often). Run the same command again.",
    )
