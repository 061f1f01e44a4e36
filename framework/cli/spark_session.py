"""Spark for commands: a session is opened, used, and stopped if it is ours.

Importing PySpark takes a second, so it is imported when a session is asked for, not before.
"""

from __future__ import annotations

import logging
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from framework.cli.exits import listen
from framework.engine.events import Events, Note
from framework.errors import EngineError, FrameworkError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from framework.engine.backend import Backend
    from framework.spec.sections.pipeline_spec import PipelineSpec

__all__ = ["opened_backend", "spark_session"]


@contextmanager
def opened_backend(
    spec: PipelineSpec, events: Events, *, master: str | None, conf: Mapping[str, str]
) -> Iterator[Backend]:
    """Give a backend on the session that options, or else the spec, ask for."""
    from framework.spark.backend import spark_backend

    wished = spec.spark
    settings = {**(wished.revealed_conf() if wished else {}), **conf}
    with spark_session(master or (wished.master if wished else None), settings) as spark:
        where = f"Spark {spark.version} on {spark.sparkContext.master}"
        events(Note(level="info", message=where))
        yield spark_backend(spark, spec.timeline_service, events)


@contextmanager
def spark_session(master: str | None, conf: Mapping[str, str]) -> Iterator[SparkSession]:
    """Give a session, and stop it if it is ours.

    Spark's log is kept, and its path reported, where the work fails other than at the gate.
    """
    from framework.spark.session import open_session

    folder = Path(tempfile.mkdtemp(prefix="run-pipeline-"))
    keep_log = False
    try:
        with (
            _logging_into(folder / "spark.log"),
            open_session(master=master, conf=conf, log_folder=folder) as session,
        ):
            listen()
            yield session.spark
    except BaseException as error:
        log = folder / "spark.log"
        keep_log = log.is_file() and _is_of_interest(error)
        if keep_log:
            error.add_note(f"Spark's log: {log}")
        raise
    finally:
        if not keep_log:
            shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def _logging_into(log: Path) -> Iterator[None]:
    """Put what PySpark and Py4J log in this process beside what the JVM logs."""
    handler = logging.FileHandler(log, delay=True)
    root = logging.getLogger()
    root.addHandler(handler)
    try:
        yield
    finally:
        root.removeHandler(handler)
        handler.close()


def _is_of_interest(error: BaseException) -> bool:
    """Whether Spark's log may say more: failures of the engine and of this program do."""
    return isinstance(error, EngineError) or (
        isinstance(error, Exception) and not isinstance(error, FrameworkError)
    )
