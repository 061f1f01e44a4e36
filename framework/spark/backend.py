"""Runs on Spark: the backend, and a whole run on a session of the caller's."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from framework.engine.backend import Backend
from framework.engine.events import Events, silent
from framework.engine.prepare import PlanningContext, Request, prepare
from framework.engine.runner import RunResult
from framework.spark.checking.checker import SparkChecker
from framework.spark.loading.reader import SparkInput
from framework.spark.reading.jvm import Jvm
from framework.spark.tasks import SparkTasks
from framework.spark.views import views_for
from framework.spec.sections.timeline_service_spec import TimelineServiceSpec

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["run", "spark_backend"]


def run(
    spark: SparkSession,
    spec: str | Path,
    *,
    target: str | None = None,
    variables: Mapping[str, str] | None = None,
    run_id: str | None = None,
) -> RunResult:
    """Run a spec file and return what was done; nothing new is no error.

    The session is used as it is: the spec's section `spark` is not applied, and it stays open. A
    run that was cut off is resumed when spec and source are the same, else undone and begun again.
    A load of a `run_id` that was published before does nothing.

    Raises:
        SpecError, PlanError: the spec is faulty, or does not fit what is there.
        AuditFailedError: the gate refused; the table is as it was.
        RetryableError, EngineError: nothing was published.
        AfterCommitError: published, but a later step failed.
        OutcomeUnknownError: the outcome is unknown; nothing was deleted.
    """
    request = Request(path=Path(spec), target=target, variables=variables or {}, run_id=run_id)
    tasks = SparkTasks(spark)  # before the spec is read: it refuses some sessions
    with TemporaryDirectory() as scratch, Jvm(spark).keeping_active():
        prepared = prepare(request, PlanningContext(tasks=tasks, scratch=Path(scratch)))
        plan = prepared.plan
        if not plan.has_changes:
            return RunResult.unchanged(plan)
        return spark_backend(spark, prepared.spec.timeline_service).run(plan)


def spark_backend(
    spark: SparkSession, service: TimelineServiceSpec | None, events: Events = silent
) -> Backend:
    """Return the backend on a session, which stays open and as it was.

    Args:
        spark: the session.
        service: the spec's section `timeline_service`, None for the defaults.
        events: receive what the reader of inputs has to report.

    Raises:
        PlanError: `spark/speculation-refused`.
    """
    return Backend(
        tasks=SparkTasks(spark),
        reader=SparkInput(spark, events),
        checker=SparkChecker(spark),
        views=views_for(spark, service),
    )
