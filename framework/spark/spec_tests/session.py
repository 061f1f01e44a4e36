"""The session that tests of specs run on: small and quick to warm up."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final

from framework.spark.reading.jvm import Jvm
from framework.spark.task_faults import typed

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["MASTER", "session_of", "start_settings"]

MASTER: Final = "local[2]"
_JAVA_OPTIONS: Final = "spark.driver.extraJavaOptions"
_QUICK: Final = {
    "spark.sql.shuffle.partitions": "1",
    "spark.default.parallelism": "2",
}
_QUICK_JAVA: Final = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
"""Compile little and collect with one thread: half of the CPU where everything runs a few times."""


def start_settings(confs: Sequence[Mapping[str, str]], given: Mapping[str, str]) -> dict[str, str]:
    """Return the settings to start with, for specs with these and a caller with `given`.

    The caller's beat ours, which beat the specs'; of two specs the first one counts, as far as a
    session of its own does not have the setting.
    """
    theirs = {key: value for conf in reversed(confs) for key, value in conf.items()}
    settings = {**theirs, **_QUICK, **given}
    java = settings.get(_JAVA_OPTIONS, "")
    if "-XX:" not in java:  # a second collector would keep Java from starting
        java = f"{_QUICK_JAVA} {java}".strip()
    return {**settings, _JAVA_OPTIONS: java}


def session_of(
    spark: SparkSession,
    conf: Mapping[str, str],
    given: Mapping[str, str],
    others: Sequence[Mapping[str, str]],
) -> SparkSession:
    """Return a session for one spec, with its own settings and without those of other specs.

    Settings that a running session cannot change stay what they are, and so do those that the
    caller has `given`. `others` may hold the spec's own settings too.
    """
    fixed = {*_QUICK, *given}
    with typed():
        session = Jvm(spark).own_session({})
        for key in sorted({key for other in (*others, conf) for key in other} - fixed):
            if session.conf.isModifiable(key):
                session.conf.set(key, conf[key]) if key in conf else session.conf.unset(key)
    return session
