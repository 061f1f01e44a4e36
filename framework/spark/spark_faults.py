"""Spark's errors as ours."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from py4j.protocol import Py4JError, Py4JJavaError
from pyspark.errors import PySparkException

from framework.errors import EngineError
from framework.spark.task_faults import from_text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from framework.errors import FrameworkError

__all__ = ["typed"]


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


def _fault(error: PySparkException | Py4JError) -> FrameworkError:
    """Return the error for a job that failed, or for a JVM that is gone."""
    if isinstance(error, PySparkException | Py4JJavaError):
        return from_text(str(error))
    return EngineError(
        "spark/gone",
        "Spark's JVM ended in the middle of the work, or cannot be reached any more",
        remedy="Its log may say why (memory, most often). Run the same command again.",
    )
