"""The executors of a session, asked by a program that their own JVMs start.

Spark starts Python workers only for functions of Python, and a worker without its packages, or of
another Python, fails with a trace. A program that the JVM starts can say what is wrong instead.
This module uses private parts of PySpark, for the list of executors and for tasks without Python.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from inspect import getsource
from typing import TYPE_CHECKING, Any, Final

from framework.spark.cluster import probe
from framework.spark.jobs import cancel, inherited, new_tag, tagged
from framework.spark.task_faults import typed

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["Answer", "answers", "ask", "executors_of", "is_local"]

Answer = Mapping[str, Any]
"""What an executor said: as of `probe.answer`, or `host` and `failed` if its Python did not run."""

_MANAGER: Final = re.compile(r"BlockManagerId\(([^,]+), ([^,]+), \d+, ")
_DRIVER: Final = "driver"
_PATH: Final = "PYTHONPATH"
_POLL_S: Final = 0.1
_SHELL: Final = """
export LAKESTRAP_EXECUTOR=$PPID PYTHONPATH="$LAKESTRAP_PATH${LAKESTRAP_PATH:+:}$PYTHONPATH"
if said=$("$0" -c "$1" 2>&1); then printf '%s\\n' "$said"
else printf '!%s!%s!%s\\n' "$(uname -n)" "$PPID" "$(printf '%s' "$said" | tail -n 1)"
fi
"""
"""Starts the Python `$0` with the program `$1`; its failure is a line too, not that of the task."""


def is_local(master: str) -> bool:
    """Return whether tasks run in the driver's own process, so with its Python and its disks."""
    return master == "local" or master.startswith("local[")


def executors_of(spark: SparkSession) -> dict[str, str]:
    """Return the executors that are there now: id to host. Costs a few calls to the JVM."""
    scala: Any = spark.sparkContext._jsc.sc()  # noqa: SLF001 - there is no public way
    managers = scala.env().blockManager().master().getMemoryStatus().keys().mkString("")
    found = dict(_MANAGER.findall(managers))
    found.pop(_DRIVER, None)
    return found


def ask(
    spark: SparkSession,
    executors: Mapping[str, str],
    question: Mapping[str, Any],
    *,
    waiting: Callable[[], None] = lambda: None,
) -> list[Answer]:
    """Ask each of the executors, each by a task of its own; with none, whichever Spark chooses.

    An executor that is busy, or was lost, may be left out, and another one be asked twice.
    `waiting` is called every moment until all have answered; if it raises, nobody is asked further.
    """
    context, text = spark.sparkContext, json.dumps(question)
    places = [[f"executor_{host}_{name}"] for name, host in executors.items()] or [[]]
    tag, local = new_tag(), inherited(context)

    def work() -> list[str]:
        with typed(), tagged(context, tag, local):
            context.setJobDescription("ask the executors")
            return _lines(spark, places, text)

    with ThreadPoolExecutor(1) as pool:
        future = pool.submit(work)
        try:
            while not wait((future,), timeout=_POLL_S).done:
                waiting()
            return answers(future.result())
        finally:
            cancel(context, tag, {future})


def answers(lines: Sequence[str]) -> list[Answer]:
    """Return what executors said, each once, without what else their Python printed."""
    found: dict[tuple[str, str], Answer] = {}
    for line in lines:
        if line.startswith("!"):
            _, host, executor, failed = line.split("!", 3)
            found[host, executor] = {"host": host, "failed": failed.strip()}
        elif line.startswith('{"host"'):
            said = json.loads(line)
            found[said["host"], said["executor"]] = said
    return list(found.values())


def _lines(spark: SparkSession, places: Sequence[Sequence[str]], question: str) -> list[str]:
    """Run the program once for each of the places, and return all that was printed."""
    context: Any = spark.sparkContext
    root = context._jvm  # noqa: SLF001 - there is no public way
    sequence = root.org.apache.spark.api.python.PythonUtils.toSeq
    wanted = sequence([root.scala.Tuple2(question, sequence(list(each))) for each in places])
    tag = root.scala.reflect.ClassTag.AnyRef()
    rows = context._jsc.sc().makeRDD(wanted, tag).toJavaRDD()  # noqa: SLF001 - as above
    command = ["sh", "-c", _SHELL, context.pythonExec, getsource(probe)]
    environment = {str(name): str(value) for name, value in context.environment.items()}
    environment["LAKESTRAP_PATH"] = environment.pop(_PATH, "")
    return list(rows.pipe(command, environment).collect())
