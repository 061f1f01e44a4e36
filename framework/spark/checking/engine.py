"""Great Expectations' engine for Spark, limited to one attempt."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any, Final

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from framework.spark.checking import great_expectations as gx
from framework.spark.task_faults import SPARK_REFUSES, from_text

__all__ = ["SparkDFExecutionEngine", "SuiteStoppedError"]

_CANCELLED: Final = re.compile(r"SPARK_JOB_CANCELLED|\bJob \d+ cancelled\b")


class SuiteStoppedError(BaseException):
    """Spark failed for a reason unrelated to any check; `error` is the exception.

    It is not an `Exception`, because GX takes each of those for the fault of a check, and
    continues.
    """

    def __init__(self, error: Exception) -> None:
        self.error = error
        super().__init__(str(error))


class SparkDFExecutionEngine(gx.SparkDFExecutionEngine):
    """An engine that asks Spark for a metric at most once, whatever the outcome.

    After a metric has failed, GX computes it three more times, each time with all the others of its
    round; and it blames one metric's error on all that failed with it. Here, known metrics are
    cached, and each metric fails with its own error. Metrics are cached for the engine's lifetime,
    so that a second suite on the same frame costs only its new metrics.

    It has the name of the class that it extends, because GX looks up metrics by that name, and
    would add any other to its registry.
    """

    def __init__(self, spark: SparkSession) -> None:
        super().__init__(persist=False, spark=spark)
        self._known: dict[Any, Any] = {}
        self._refused: dict[Any, gx.MetricResolutionError] = {}
        self._bundles: dict[frozenset[Any], dict[Any, Any] | Exception] = {}

    def resolve_metrics(
        self,
        metrics_to_resolve: Iterable[Any],
        metrics: dict[Any, Any] | None = None,
        runtime_configuration: dict[str, Any] | None = None,
    ) -> dict[Any, Any]:
        """Return the metrics by id; if one fails, raise its own error and store the rest."""
        wanted = {each.id: each for each in metrics_to_resolve}
        given = {} if metrics is None else metrics
        news = [m for key, m in wanted.items() if key not in self._known | self._refused]
        try:
            self._known |= super().resolve_metrics(news, given, runtime_configuration)
        except gx.MetricResolutionError as error:
            _stop_if_common(error.__cause__)
            self._resolve_each(news, given, runtime_configuration)
        given.update({key: self._known[key] for key in wanted if key in self._known})
        for key in wanted:
            if key in self._refused:
                raise self._refused[key]
        return {key: self._known[key] for key in wanted}

    def resolve_metric_bundle(self, metric_fn_bundle: Iterable[Any]) -> dict[Any, Any]:
        """Return metrics that one aggregate computes; equal ones are computed once."""
        bundle = list(metric_fn_bundle)
        key = frozenset(each.metric_configuration.id for each in bundle)
        if key not in self._bundles:
            self._bundles[key] = self._aggregate(bundle)
        found = self._bundles[key]
        if isinstance(found, Exception):
            raise found
        return found

    def _aggregate(self, bundle: list[Any]) -> dict[Any, Any] | Exception:
        """Return the results of an aggregate, or the exception that Spark raised."""
        try:
            found: dict[Any, Any] = super().resolve_metric_bundle(bundle)
        except (PySparkException, Py4JError) as error:
            _stop_if_common(error)
            return error
        return found

    def _resolve_each(
        self, news: list[Any], given: dict[Any, Any], configuration: dict[str, Any] | None
    ) -> None:
        """Compute metrics one by one, and record the result or the error of each."""
        for metric in news:
            try:
                self._known |= super().resolve_metrics([metric], given, configuration)
            except gx.MetricResolutionError as error:
                _stop_if_common(error.__cause__)
                self._refused[metric.id] = error


def _stop_if_common(error: BaseException | None) -> None:
    """Leave the suite on an error of no single check: cancellation, a lost JVM, or our own."""
    if isinstance(error, PySparkException | Py4JError) and _is_common(error):
        raise SuiteStoppedError(error) from error


def _is_common(error: Exception) -> bool:
    """Return whether every other check would fail the same way."""
    if not isinstance(error, SPARK_REFUSES):
        return True
    text = str(error)
    return bool(_CANCELLED.search(text)) or from_text(text).condition != "task/failed"
