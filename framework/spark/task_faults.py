"""Transport of faults from tasks to the driver: as JSON, in a status or an exception's text.

A fault that another attempt cannot fix is returned as a status, so that Spark does not retry. A
fault that may be transient is raised in the task, so that Spark retries, and its text has the same
JSON between two marks.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final
from urllib.parse import unquote

from py4j.protocol import Py4JError, Py4JJavaError
from pyspark.errors import PySparkException

from framework import errors
from framework.errors import (
    AuditFailedError,
    CorruptFileError,
    EngineError,
    FrameworkError,
    SpecError,
    StorageError,
    TaskError,
    Where,
)

__all__ = [
    "SPARK_REFUSES",
    "FaultInTaskError",
    "FirstCauseError",
    "fault_of",
    "first_line",
    "from_text",
    "is_lasting",
    "revive",
    "typed",
]


SPARK_REFUSES: Final = (PySparkException, Py4JJavaError)
"""Spark's errors while its JVM is alive; the second for classes that PySpark does not know."""

_LONGEST: Final = 500

_BEGIN: Final = "<<lakestrap-fault "
_END: Final = " lakestrap-fault>>"
_RAISED: Final = re.compile(r"^[A-Za-z_][\w.]*(?::.*)?$", re.MULTILINE)
_TELLING: Final = re.compile(
    r"^.*(?:exited unexpectedly|Caused by|OutOfMemory|crashed).*$", re.MULTILINE
)
_UNREADABLE: Final = re.compile(r"Encountered error while reading file (\S+?)\.?(?: Details|\s|$)")
"""The message of Spark 3.5 and later for a file that its scan cannot read; the file is a URI."""
_FILE_ROOT: Final = re.compile("^file:/+")
_TRACEBACK: Final = "Traceback (most recent call last)"
_HEADLINE_CHARS: Final = 500


@contextmanager
def typed(passing: tuple[type[Exception], ...] = ()) -> Iterator[None]:
    """Convert Spark's errors to ours, except those in `passing`."""
    try:
        yield
    except passing:
        raise
    except (PySparkException, Py4JError) as error:
        fault = _fault(error)
        raise fault from (fault.__cause__ or error)


def first_line(error: PySparkException | Py4JJavaError) -> str:
    """Return Spark's message in one line, without the plan or the trace that follows."""
    if isinstance(error, Py4JJavaError):
        text = str(error.java_exception.getMessage() or error.java_exception)
    else:
        # 4.x has no message for classes other than Spark's own, 3.5 not even the method.
        text = (hasattr(error, "getMessage") and error.getMessage()) or str(error)
    reason = next((line.strip(" ;") for line in text.splitlines() if line.strip()), "")
    return reason[:_LONGEST]


def _fault(error: PySparkException | Py4JError) -> FrameworkError:
    """Return the error for a failed job, or for a JVM that has ended."""
    if isinstance(error, PySparkException | Py4JJavaError):
        return from_text(str(error))
    return EngineError(
        "spark/gone",
        "Spark's JVM ended during the work, or can no longer be reached",
        remedy="Its log may have the reason (most often memory). Run the same command again.",
    )


class FirstCauseError(Exception):
    """The error inside a task, as text; the cause of a `TaskError`."""


class FaultInTaskError(Exception):
    """Transports a fault out of a task: text for people, then the JSON for `from_text`."""

    def __init__(self, error: FrameworkError) -> None:
        super().__init__(f"{error}\n{_BEGIN}{json.dumps(fault_of(error))}{_END}")


def is_lasting(error: FrameworkError) -> bool:
    """Return whether another attempt would meet the same fault."""
    return not isinstance(error, StorageError)


def fault_of(error: FrameworkError) -> dict[str, Any]:
    """Return an error as JSON-ready values, for `revive`."""
    report = error.report if isinstance(error, AuditFailedError) else None
    return {"class": type(error).__name__, "report": report, **error.as_json()}


def revive(fault: Mapping[str, Any]) -> FrameworkError:
    """Return the error that `fault_of` described, of its own class.

    A `SpecError` becomes a `TaskError`: tasks have no specs.
    """
    kind: type[FrameworkError] | None = getattr(errors, str(fault["class"]), None)
    if kind is None or issubclass(kind, SpecError):
        return _task_error(str(fault["message"]), json.dumps(fault))
    named: dict[str, Any] = {"where": Where(**fault["where"]), "remedy": fault["remedy"]}
    if issubclass(kind, AuditFailedError):
        named["report"] = fault["report"]
    return kind(fault["condition"], fault["message"], **named)


def from_text(text: str) -> FrameworkError:
    """Return the error for a failed job, given the text of Spark's exception."""
    start = text.find(_BEGIN)
    stop = text.find(_END, start)
    file = _UNREADABLE.search(text)
    if (start < 0 or stop < 0) and file is not None:
        return _not_readable(unquote(file[1]), text)
    if start < 0 or stop < 0:
        return _task_error(_headline(text), text)
    return revive(json.loads(text[start + len(_BEGIN) : stop]))


def _not_readable(file: str, cause: str) -> CorruptFileError:
    """Return the error for a file whose pages or footer Spark refused."""
    error = CorruptFileError(
        "file/not-readable",
        f"Spark cannot read the file: {_headline(cause)}",
        where=Where(file=_FILE_ROOT.sub("/", file)),
        remedy="Restore the file from a copy.",
    )
    error.__cause__ = FirstCauseError(cause)
    return error


def _task_error(message: str, cause: str) -> TaskError:
    """Return the error for an unexpected failure."""
    error = TaskError(
        "task/failed",
        f"a task failed on each of its attempts: {message}",
        remedy="Spark's log has the whole trace.",
    )
    error.__cause__ = FirstCauseError(cause)
    return error


def _headline(text: str) -> str:
    """Return the most informative line of a Spark exception; never empty.

    The first unindented line after a traceback is the exception, whatever its class.
    """
    python = text.partition(_TRACEBACK)[2]
    lines = [*_RAISED.findall(python)[:1], *_TELLING.findall(text)[:1], *text.split("\n")]
    found = next(filter(None, map(str.strip, lines)), "Spark gives no cause")
    return found[:_HEADLINE_CHARS]
