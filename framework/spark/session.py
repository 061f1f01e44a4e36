"""The Spark session: the caller's own if there is one, else a quiet local one of this program.

A session that this program did not start is used unchanged and never stopped.
"""

from __future__ import annotations

import contextlib
import logging
import os
import re
import shutil
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final, Self

from py4j.protocol import Py4JError
from pyspark import SparkConf, SparkContext
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from framework.errors import EngineError, NotYetBuiltError, PlanError, Where
from framework.spark.cluster.executors import is_local
from framework.spark.task_faults import SPARK_REFUSES, first_line

__all__ = [
    "DEFAULT_MASTER",
    "OpenSession",
    "check_speculation",
    "is_connect",
    "open_session",
    "require_classic",
]

_LOGGER: Final = logging.getLogger(__name__)

DEFAULT_MASTER: Final = "local[*,4]"
"""All cores of this machine; a task gets four attempts, as on a cluster."""

_APP_NAME: Final = "run-pipeline"
_MINIMUM_JAVA: Final = 17
_NO_CONF: Final[Mapping[str, str]] = MappingProxyType({})
_PYTHON: Final = "PYSPARK_PYTHON"
_SAFE_PATH: Final = "PYTHONSAFEPATH"
_PYTHON_SETTING: Final = "spark.pyspark.python"
_SUBMITTED: Final = "PYSPARK_GATEWAY_PORT"
"""The variable by which `spark-submit` gives a program the JVM that it has started."""
_JAVA_OPTIONS: Final = "spark.driver.extraJavaOptions"
_MASTER: Final = "spark.master"
_TIME_ZONE: Final = "spark.sql.session.timeZone"
_CONTEXT_LOGGERS: Final = ("SQLQueryContextLogger", "DataFrameQueryContextLogger")
_QUIET: Final = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    _TIME_ZONE: "UTC",
    "spark.log.level": "WARN",
}
_SPECULATION: Final = "spark.speculation"
_LOOPBACK: Final = {
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
}
_LOG4J: Final = """\
rootLogger.level = warn
rootLogger.appenderRef.file.ref = file
appender.file.type = File
appender.file.name = file
appender.file.fileName = {log}
appender.file.append = true
appender.file.layout.type = PatternLayout
appender.file.layout.pattern = %d{{yyyy-MM-dd'T'HH:mm:ss.SSS}} %p %c{{1}}: %m%n%ex
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenSession:
    """A session to work with, as a context manager that stops it only if it is ours.

    Attributes:
        spark: the session.
        is_ours: whether `open_session` started it.
        log_file: the file of Spark's log, None if another program started the session.
    """

    spark: SparkSession
    is_ours: bool
    log_file: Path | None

    def close(self) -> None:
        """Stop the session if it is ours; if its JVM has ended, forget it."""
        if not self.is_ours:
            return
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)  # about the case handled below
            try:
                self.spark.stop()
            except (Py4JError, OSError):
                _forget()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def open_session(
    *,
    master: str | None = None,
    conf: Mapping[str, str] = _NO_CONF,
    log_folder: Path | None = None,
) -> OpenSession:
    """Return the active session, or start one.

    Args:
        master: None means `DEFAULT_MASTER`, or the active session's. In a program that
            `spark-submit` has started it has no effect: the master and the log are those of the
            submission.
        conf: settings that override our own; a running session keeps its own.
        log_folder: where Spark's log is written; None creates a temporary folder.

    Raises:
        PlanError: `spark/speculation-refused`, `spark/other-master`.
        EngineError: `spark/java-missing`, `spark/not-started`.
    """
    _refuse_speculation(conf.get(_SPECULATION))
    running = SparkSession.getActiveSession()
    if running is not None:
        _check_master(running, master)
        check_speculation(running)
        return OpenSession(spark=running, is_ours=False, log_file=None)
    submitted = _SUBMITTED in os.environ
    if not submitted:
        _check_java()
    folder = log_folder or Path(tempfile.mkdtemp(prefix="run-pipeline-"))
    folder.mkdir(parents=True, exist_ok=True)
    log = folder / "spark.log"
    settings = _settings(master or DEFAULT_MASTER, conf, _log4j(folder, log))
    if submitted:
        settings = {_TIME_ZONE: _QUIET[_TIME_ZONE], **conf}
    spark = _start(settings, log)
    _silence_query_contexts()
    return OpenSession(spark=spark, is_ours=True, log_file=log)


def _silence_query_contexts() -> None:
    """Keep PySpark 4 from writing the trace of each faulty query to stderr; 3.5 does not.

    The exception that follows has all of it.
    """
    try:
        logger = import_module("pyspark.logger").PySparkLogger
    except ImportError:
        return
    for name in _CONTEXT_LOGGERS:
        logger.getLogger(name).setLevel(logging.CRITICAL + 1)


def _forget() -> None:
    """Let PySpark start another JVM after the known one has ended."""
    SparkSession._instantiatedSession = None  # noqa: SLF001  `stop` does not get this far
    SparkSession._activeSession = None  # noqa: SLF001
    SparkContext._gateway = None  # noqa: SLF001
    SparkContext._jvm = None  # noqa: SLF001


def check_speculation(spark: SparkSession) -> None:
    """Refuse a session that runs tasks twice on purpose.

    A late duplicate writes files after its task was counted as done (reliability.md, B6).

    Raises:
        PlanError: `spark/speculation-refused`.
    """
    if is_connect(spark):
        _refuse_speculation(spark.conf.get(_SPECULATION, "false"))
    else:
        _refuse_speculation(spark.sparkContext.getConf().get(_SPECULATION))


def is_connect(spark: SparkSession) -> bool:
    """Return whether a session is of Spark Connect, which has no JVM in reach."""
    return not isinstance(spark, SparkSession)


def require_classic(spark: SparkSession) -> None:
    """Refuse a session of Spark Connect.

    Raises:
        NotYetBuiltError: `spark/connect-not-built`.
    """
    if is_connect(spark):
        raise NotYetBuiltError(
            "spark/connect-not-built",
            "this version works in Spark's own process, not over Spark Connect",
            remedy="Use a session that was started with a master.",
        )


def _refuse_speculation(value: str | None) -> None:
    """Raise if `value`, a setting's text, enables speculation."""
    if (value or "false").strip().lower() == "true":
        raise PlanError(
            "spark/speculation-refused",
            "spark.speculation=true runs the same task twice at once",
            remedy="Set spark.speculation=false for this application.",
        )


def _check_master(running: SparkSession, master: str | None) -> None:
    """Refuse another master than the running session's, which cannot be changed."""
    actual = running.sparkContext.master
    if master is not None and master != actual:
        raise PlanError(
            "spark/other-master",
            f"a session with master {actual} is running; {master} was requested",
            remedy="Omit the master, or stop that session first.",
        )


def _check_java() -> None:
    """Refuse to start Spark without a suitable Java."""
    home = os.environ.get("JAVA_HOME")
    java = str(Path(home) / "bin" / "java") if home else shutil.which("java")
    if java is None or not Path(java).is_file():
        raise _no_java("Java was not found")
    found = subprocess.run([java, "-version"], capture_output=True, text=True, check=False)  # noqa: S603 - the Java that Spark would start
    match = re.search(r'version "(?:1\.)?(\d+)', found.stderr)
    if match is None or int(match[1]) < _MINIMUM_JAVA:
        first = found.stderr.strip().splitlines()[:1] or ["it prints nothing"]
        raise _no_java(f"{java} is not Java {_MINIMUM_JAVA} or later ({first[0]})")


def _no_java(message: str) -> EngineError:
    """Return the error for a missing or old Java."""
    return EngineError(
        "spark/java-missing",
        message,
        remedy=f"Spark needs Java {_MINIMUM_JAVA}+: `apt install openjdk-17-jre-headless` (Debian),"
        " `dnf install java-17-openjdk-headless` (Fedora), `brew install openjdk@17` (macOS).",
    )


def _log4j(folder: Path, log: Path) -> Path:
    """Write the logging configuration and return its path."""
    path = folder / "log4j2.properties"
    path.write_text(_LOG4J.format(log=log))
    return path


def _settings(master: str, conf: Mapping[str, str], log4j: Path) -> dict[str, str]:
    """Return the settings of a new session; the caller's override ours, Java options are joined."""
    ours = {**_QUIET, **(_LOOPBACK if master.startswith("local") else {})}
    java = f"-Dlog4j2.configurationFile={log4j.as_uri()} {conf.get(_JAVA_OPTIONS, '')}".strip()
    fixed = {_MASTER: master, _JAVA_OPTIONS: java}
    return {"spark.app.name": _APP_NAME, **ours, **conf, **fixed}


def _start(settings: Mapping[str, str], log: Path) -> SparkSession:
    """Start a session with exactly these settings."""
    configured = SparkConf().setAll(list(settings.items()))
    try:
        with _stderr_into(log), _workers_python(settings, _master_of(settings)):
            spark = SparkSession.builder.config(conf=configured).getOrCreate()
    except (PySparkException, Py4JError, OSError, RuntimeError) as error:
        reason = first_line(error) if isinstance(error, SPARK_REFUSES) else error
        raise EngineError(
            "spark/not-started",
            f"Spark did not start: {reason}",
            where=Where(file=str(log)),
            remedy="The log named above has the reason.",
        ) from error
    _log_faults_of_accumulators(spark)
    return spark


def _master_of(settings: Mapping[str, str]) -> str:
    """Return the master of the settings, or else that of the submission."""
    if _MASTER in settings:
        return settings[_MASTER]
    SparkContext._ensure_initialized()  # noqa: SLF001 - defaults are known once the JVM is
    return SparkConf().get(_MASTER, DEFAULT_MASTER) or DEFAULT_MASTER


def _log_faults_of_accumulators(spark: SparkSession) -> None:
    """Make the accumulator server log the end of a JVM instead of printing a traceback."""
    server: Any = getattr(spark.sparkContext, "_accumulatorServer", None)
    if server is not None:
        server.handle_error = lambda *_: _LOGGER.warning("accumulators: %r", sys.exception())


@contextlib.contextmanager
def _stderr_into(log: Path) -> Iterator[None]:
    """Make processes started in the context inherit `log` as their standard error.

    The JVM and its Python workers keep it, so that a terminal stays free for progress.
    """
    sys.stderr.flush()
    kept = os.dup(2)
    handle = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
    try:
        os.dup2(handle, 2)
        yield
    finally:
        sys.stderr.flush()
        os.dup2(kept, 2)
        os.close(kept)
        os.close(handle)


@contextlib.contextmanager
def _workers_python(settings: Mapping[str, str], master: str) -> Iterator[None]:
    """Make workers run the right interpreter: a local session's this one, and its modules alone.

    Spark reads `PYSPARK_PYTHON` once, at the start; another Python that it names may lack what
    tasks import. Workers inherit the other variable: without it a folder of the user's beside the
    spec would hide a package of the same name. On a cluster the variables are its owner's; the
    setting counts there, as with `spark-submit`, though PySpark itself looks at the variable only.
    """
    ours = {_PYTHON: settings[_PYTHON_SETTING]} if _PYTHON_SETTING in settings else {}
    if is_local(master):
        ours = {_PYTHON: sys.executable, _SAFE_PATH: "1"}
    before = {name: os.environ.get(name) for name in ours}
    os.environ.update(ours)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value
