"""What the driver reports of a task that failed: never an empty cause."""

from __future__ import annotations

import traceback
from collections.abc import Callable

import pyarrow as pa
import pytest

from framework.errors import CorruptFileError, Where
from framework.spark.task_faults import FaultInTaskError, from_text


class Odd(Exception):  # noqa: N818 - the name is what is tested
    """An exception whose name does not say that it is one."""


def _concatenate() -> None:
    pa.concat_arrays([pa.array(["a"]), pa.array(["a"]).dictionary_encode()])


def _raise_odd() -> None:
    raise Odd("first line\n  second line")


def _raise_silent() -> None:
    raise Odd


def _raise_from_another() -> None:
    try:
        _raise_odd()
    except Odd as error:
        raise ValueError("outer") from error


def _text_of(work: Callable[[], None], head: str) -> str:
    """Return what Spark says of a task that raised."""
    try:
        work()
    except Exception:  # noqa: BLE001 - whatever a task meets
        return f"{head}{traceback.format_exc()}\n\tat org.apache.spark.Task.run(Task.scala:1)\n"
    raise AssertionError("nothing was raised")


@pytest.mark.parametrize(
    ("work", "cause"),
    [
        (_concatenate, "pyarrow.lib.ArrowInvalid: arrays to be concatenated must be"),
        (_raise_odd, "Odd: first line"),
        (_raise_silent, "Odd"),
        (_raise_from_another, "Odd: first line"),
    ],
)
@pytest.mark.parametrize("head", ["", "\n  An exception was thrown from the Python worker:\n"])
def test_cause_of_a_failed_task_is_in_the_message(
    work: Callable[[], None], cause: str, head: str
) -> None:
    """Whatever the class is called, and whether it says something or not."""
    found = from_text(_text_of(work, head))
    assert found.condition == "task/failed"
    assert cause in found.message


@pytest.mark.parametrize(
    ("text", "cause"),
    [
        ("", "Spark gives no cause"),
        ("\n \n", "Spark gives no cause"),
        ("\nJob aborted due to stage failure", "Job aborted due to stage failure"),
        ("\nJob aborted\nCaused by: java.io.EOFException", "Caused by: java.io.EOFException"),
        ("\nJob aborted\nPython worker exited unexpectedly", "Python worker exited unexpectedly"),
    ],
)
def test_failed_job_without_a_traceback_has_a_cause_that_is_not_empty(
    text: str, cause: str
) -> None:
    """The line that says most, or that there is none."""
    assert from_text(text).message.endswith(cause)


def test_typed_fault_of_a_task_comes_back_as_itself() -> None:
    """With its place and its remedy."""
    fault = CorruptFileError(
        "file/not-readable", "it is torn", where=Where(file="a.parquet"), remedy="Restore it."
    )
    found = from_text(f"Traceback (most recent call last)\n{FaultInTaskError(fault)}\nmore")
    assert (type(found), found.as_json()) == (CorruptFileError, fault.as_json())


@pytest.mark.parametrize(
    "said",
    [
        "[FAILED_READ_FILE.NO_HINT] Encountered error while reading file {}.  SQLSTATE: KD001",
        "Encountered error while reading file {}. Details:",
    ],
)
def test_file_that_spark_cannot_read_is_named(said: str) -> None:
    """As Spark 4.1 and 3.5 say it; the path is decoded."""
    said = said.format("file:///lake/p=2/b%20é.x.parquet")
    text = (
        f"org.apache.spark.SparkException: {said}\n\tat a.B.c\nCaused by: java.io.IOException: torn"
    )
    found = from_text(f"An error occurred while calling o1.count.\n: {text}\n\t... 3 more")
    assert (type(found), found.condition) == (CorruptFileError, "file/not-readable")
    assert found.where.file == "/lake/p=2/b é.x.parquet"
    assert found.message.endswith("Caused by: java.io.IOException: torn")


def test_typed_fault_beside_a_file_that_spark_names_comes_back_as_itself() -> None:
    """What a task of ours says is more than what Spark says of its file."""
    fault = CorruptFileError("log/damaged", "it is torn", where=Where(file="a.log"))
    said = "Encountered error while reading file file:///a.parquet. Details:"
    assert from_text(f"{said}\n{FaultInTaskError(fault)}").condition == "log/damaged"
