"""The jobs of a session: in a JVM that is in reach, or over Spark Connect."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, suppress
from typing import TYPE_CHECKING, Any, Final, Protocol
from weakref import WeakSet

from pyspark.errors import PySparkException
from pyspark.sql.functions import spark_partition_id

from framework.errors import NotYetBuiltError
from framework.hudi.storage.store_settings import STORAGE_VARIABLE
from framework.spark.cluster.package_zip import package_zip
from framework.spark.cluster.preflight import check_new_executors
from framework.spark.jobs import cancel_tagged, inherited, tagged
from framework.spark.object_stores import reach_stores
from framework.spark.session import is_connect
from framework.spark.task_faults import typed

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["ClassicJobs", "ConnectJobs", "Jobs", "jobs_of"]


class Jobs(Protocol):
    """How the jobs of a session are prepared, named, and cancelled."""

    @property
    def parallelism(self) -> int:
        """The number of tasks that run at once, as Spark counts cores; at least 1."""
        ...

    def prepare(self) -> None:
        """Make the executors ready for tasks of this package.

        Raises:
            EngineError: `cluster/…`; an executor cannot run them.
        """
        ...

    def inherited(self) -> Mapping[str, str]:
        """Return the properties that jobs inherit from the calling thread."""
        ...

    def tagged(
        self, tag: str, local: Mapping[str, str], description: str
    ) -> AbstractContextManager[None]:
        """Tag and describe the jobs of this thread."""
        ...

    def cancel(self, tag: str) -> None:
        """Cancel the jobs with a tag; those of an ended server are cancelled already."""
        ...


def jobs_of(spark: SparkSession) -> Jobs:
    """Return the jobs of a session of either kind."""
    return ConnectJobs(spark) if is_connect(spark) else ClassicJobs(spark)


class ClassicJobs:
    """The jobs of a session whose JVM is in reach."""

    def __init__(self, spark: SparkSession) -> None:
        self._spark = spark

    @property
    def parallelism(self) -> int:
        """See `Jobs`."""
        return max(1, self._spark.sparkContext.defaultParallelism)

    def prepare(self) -> None:
        """See `Jobs`."""
        reach_stores(self._spark)
        check_new_executors(self._spark)

    def inherited(self) -> Mapping[str, str]:
        """Return the thread's pool and job group."""
        return inherited(self._spark.sparkContext)

    @contextmanager
    def tagged(self, tag: str, local: Mapping[str, str], description: str) -> Iterator[None]:
        """See `Jobs`."""
        context = self._spark.sparkContext
        with tagged(context, tag, local):
            context.setJobDescription(description)
            yield

    def cancel(self, tag: str) -> None:
        """See `Jobs`."""
        cancel_tagged(self._spark.sparkContext, tag)


_SENT: Final[WeakSet[Any]] = WeakSet()
"""The sessions of Spark Connect that have this package."""


class ConnectJobs:
    """The jobs of a session of Spark Connect, whose executors get the package as an artifact."""

    def __init__(self, spark: SparkSession) -> None:
        self._spark: Any = spark
        self._parallelism = 0

    @property
    def parallelism(self) -> int:
        """See `Jobs`; costs a small job the first time."""
        if not self._parallelism:
            with typed():
                found = self._spark.range(1 << 10).select(spark_partition_id()).distinct().count()
            self._parallelism = max(1, found)
        return self._parallelism

    def prepare(self) -> None:
        """Send the package, once for each session.

        Raises:
            NotYetBuiltError: `spark/connect-storage`.
        """
        if os.environ.get(STORAGE_VARIABLE):
            raise NotYetBuiltError(
                "spark/connect-storage",
                "the section `storage` cannot be passed on to the tasks of Spark Connect",
                remedy="Leave it out, and let the server and its executors find credentials and"
                " endpoint by their own chain (`AWS_…` variables, a profile, a role).",
            )
        archive = package_zip()
        if self._spark in _SENT or archive is None:
            return
        with typed():
            self._spark.addArtifacts(str(archive), pyfile=True)
        _SENT.add(self._spark)

    def inherited(self) -> Mapping[str, str]:
        """Return nothing: tags of the calling thread are not passed on."""
        return {}

    @contextmanager
    def tagged(self, tag: str, local: Mapping[str, str], description: str) -> Iterator[None]:
        """Tag the jobs; Spark Connect has no description."""
        del local, description
        self._spark.addTag(tag)
        try:
            yield
        finally:
            self._spark.removeTag(tag)

    def cancel(self, tag: str) -> None:
        """See `Jobs`."""
        with suppress(PySparkException):
            self._spark.interruptTag(tag)
