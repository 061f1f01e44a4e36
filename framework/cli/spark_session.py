"""Spark for commands: a session is opened, used, and stopped if this process started it.

Importing PySpark takes a second, so it is imported only when a session is needed.
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
from framework.engine.prepare import locations_of
from framework.errors import EngineError, FrameworkError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from framework.engine.runner import Backend
    from framework.spec.sections.pipeline_spec import PipelineSpec

__all__ = ["opened_backend", "spark_session"]


@contextmanager
def opened_backend(
    spec: PipelineSpec, events: Events, *, master: str | None, conf: Mapping[str, str]
) -> Iterator[Backend]:
    """Yield a backend on a session with the settings of the options, or else of the spec."""
    from framework.spark.backend import check_places, spark_backend
    from framework.spark.object_stores import packages_for

    wished = spec.spark
    settings = {**(wished.revealed_conf() if wished else {}), **conf}
    settings |= packages_for(locations_of(spec), settings)
    with spark_session(master or (wished.master if wished else None), settings) as spark:
        where = f"Spark {spark.version} on {spark.sparkContext.master}"
        events(Note(level="info", message=where))
        check_places(spark, spec, events)
        yield spark_backend(spark, spec.timeline_service, events)


@contextmanager
def spark_session(master: str | None, conf: Mapping[str, str]) -> Iterator[SparkSession]:
    """Yield a session, and stop it if this process started it.

    Spark's log is kept, and its path reported, if the work fails other than at the gate.
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
    """Write the logs of PySpark and Py4J in this process beside those of the JVM."""
    handler = logging.FileHandler(log, delay=True)
    root = logging.getLogger()
    root.addHandler(handler)
    try:
        yield
    finally:
        root.removeHandler(handler)
        handler.close()


def _is_of_interest(error: BaseException) -> bool:
    """Return whether Spark's log may help: for failures of the engine and of this program."""
    return isinstance(error, EngineError) or (
        isinstance(error, Exception) and not isinstance(error, FrameworkError)
    )
