"""The look at a session's executors before tasks run there: nothing in a local session.

The package is sent, and each executor is asked once. Those that come later, as with dynamic
allocation or in place of lost ones, are asked before the next tasks of ours.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from threading import Lock
from typing import TYPE_CHECKING, Any, Final

from framework.engine.events import Events, Note, silent
from framework.engine.inspect.reach import Place, ReachTask, places_seen, reach_task
from framework.engine.tasks import encode
from framework.errors import EngineError
from framework.spark.cluster.executors import ask, executors_of, is_local
from framework.spark.cluster.needs import fault_of, needs_of
from framework.spark.cluster.package_zip import package_zip
from framework.spark.object_stores import reach_stores

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["check_executors", "check_new_executors", "is_cluster"]

_LIMIT_S: Final = 20
_NOTE_AFTER_S: Final = 10.0
_WAIT: Final = "spark.scheduler.maxRegisteredResourcesWaitingTime"
_LONGEST_WAIT: Final = "120s"
_QUIET_S: Final = 0.5
_SETTLED_S: Final = 5.0
_POLL_S: Final = 0.1


def is_cluster(spark: SparkSession) -> bool:
    """Return whether tasks of a session run in other processes, perhaps on other machines."""
    return not is_local(spark.sparkContext.master or "")


def check_executors(
    spark: SparkSession,
    *,
    reads: Sequence[str] = (),
    writes: Sequence[str] = (),
    events: Events = silent,
) -> None:
    """Send this package to the executors, and ask each for what tasks need. Nothing if local.

    Waits for the first executor, and a moment for those that come with it. Costs one process of
    Python on each.

    Args:
        spark: the session.
        reads: locations that tasks read.
        writes: locations that tasks also write to.
        events: receives a note if no executor comes for some time.

    Raises:
        EngineError: `cluster/no-executors`, `cluster/no-python`, `cluster/other-python`,
            `cluster/packages`, `cluster/no-space`, `cluster/not-shared`, `cluster/unreached`.
        StorageError: the driver itself cannot read or write there.
    """
    if not is_cluster(spark):
        return
    state = _state_of(spark)
    with state.lock:
        _send_package(spark)
        known = executors_of(spark)
        if not known:
            ask(spark, {}, _question(spark, ()), waiting=_patience(spark, events))
            known = _settled(spark)
        with places_seen(reads, writes) as places:
            _ask(spark, known, places)
        state.asked.update(known)


def check_new_executors(spark: SparkSession) -> None:
    """Ask the executors that were not asked yet. Nothing if local; a few calls if there are none.

    Raises:
        EngineError: see `check_executors`.
    """
    if not is_cluster(spark):
        return
    state = _state_of(spark)
    if not state.asked:
        check_executors(spark)
        return
    with state.lock:
        known = executors_of(spark)
        new = {name: host for name, host in known.items() if name not in state.asked}
        if new:
            _ask(spark, new, ())
            state.asked.update(new)


@dataclass(frozen=True, slots=True)
class _Asked:
    """The executors of an application that were asked."""

    lock: Lock = field(default_factory=Lock)
    asked: set[str] = field(default_factory=set)


_STATES: Final[dict[str, _Asked]] = {}


def _state_of(spark: SparkSession) -> _Asked:
    return _STATES.setdefault(str(spark.sparkContext.applicationId), _Asked())


def _send_package(spark: SparkSession) -> None:
    """Make the executors' Python import this very package."""
    reach_stores(spark)
    context: Any = spark.sparkContext
    archive = package_zip()
    if archive is not None and archive.name not in context._python_includes:  # noqa: SLF001 - see `addPyFile`
        context.addPyFile(str(archive))


def _ask(spark: SparkSession, executors: Mapping[str, str], places: Sequence[Place]) -> None:
    """Ask executors; raise the gravest fault."""
    found = ask(spark, executors, _question(spark, places))
    fault = fault_of(found, needs_of(spark.sparkContext.pythonExec, places))
    if fault is not None:
        raise fault


def _question(spark: SparkSession, places: Sequence[Place]) -> dict[str, Any]:
    """Return what `probe.answer` gets."""
    context: Any = spark.sparkContext
    needs = needs_of(context.pythonExec, places)
    return {
        "python": list(needs.python),
        "packages": dict(needs.modules),
        "paths": [".", *reversed(context._python_includes)],  # noqa: SLF001 - as workers get them
        "task": f"{reach_task.__module__}:{reach_task.__qualname__}",
        "descriptor": encode(ReachTask(places=tuple(places))) if places else "",
        "limit_s": _LIMIT_S,
    }


def _settled(spark: SparkSession) -> dict[str, str]:
    """Return the executors once no further one has come for a moment."""
    found, end = executors_of(spark), time.monotonic() + _SETTLED_S
    since = time.monotonic()
    while time.monotonic() < min(end, since + _QUIET_S):
        time.sleep(_POLL_S)
        now = executors_of(spark)
        if now != found:
            found, since = now, time.monotonic()
    return found


def _patience(spark: SparkSession, events: Events) -> Callable[[], None]:
    """Return what is called while a job waits: a note after a while, then an error."""
    context: Any = spark.sparkContext
    limit = float(context._jsc.sc().conf().getTimeAsSeconds(_WAIT, _LONGEST_WAIT))  # noqa: SLF001 - PySpark parses no times
    begun = time.monotonic()
    noted: list[bool] = []

    def waiting() -> None:
        waited = time.monotonic() - begun
        if waited > _NOTE_AFTER_S and not noted and not executors_of(spark):
            noted.append(True)
            events(Note(level="warning", message="no executor has come yet; still waiting"))
        if waited > limit and not executors_of(spark):
            raise EngineError(
                "cluster/no-executors",
                f"{context.master} has given no executor in {limit:.0f} s",
                remedy="Perhaps no machine has the cores and the memory that spark.executor.cores"
                " and spark.executor.memory ask for, or all are in use: the cluster's own page"
                f" shows it. {_WAIT} sets how long to wait.",
            )

    return waiting
