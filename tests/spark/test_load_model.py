"""Random sequences of loads on Spark against a dictionary, with every kind of query."""

from __future__ import annotations

from itertools import combinations_with_replacement
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, given, settings

from framework.spark import read, read_incremental, read_optimized
from framework.spark.tasks import SparkTasks
from framework.vocabulary import TableType
from tests.support.load_model import (
    LOADS,
    Loads,
    Player,
    Setting,
    Version,
    every_setting,
    versions_of,
)

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = [pytest.mark.spark, pytest.mark.property]

_SEQUENCES = 2


@pytest.mark.parametrize("setting", every_setting(), ids=str)
def test_queries_after_loads_in_any_order_give_what_a_dictionary_holds(
    spark: SparkSession, tmp_path_factory: pytest.TempPathFactory, setting: Setting
) -> None:
    """Snapshots at each instant, and windows between any two; two sequences of each setting."""

    @settings(
        max_examples=_SEQUENCES,
        deadline=None,
        suppress_health_check=list(HealthCheck),
        database=None,
    )
    @given(loads=LOADS)
    def check(loads: Loads) -> None:
        lake = setting.lake(tmp_path_factory.mktemp("model"))
        player = Player(setting=setting, lake=lake, tasks=SparkTasks(spark))
        player.play(loads)
        table = lake.location
        player.check_history(lambda instant: _versions(read(spark, table, as_of=instant)))
        instants = [instant for instant, _ in player.history]
        for begin, end in combinations_with_replacement(instants, 2):
            found = _versions(read_incremental(spark, table, begin, end))
            assert found == player.changed(begin, end), (begin, end)
        if instants and setting.kind is TableType.COPY_ON_WRITE:
            assert _versions(read_optimized(spark, table)) == player.history[-1][1]

    check()


def _versions(frame: DataFrame) -> frozenset[Version]:
    """Return the rows of a frame as versions."""
    return versions_of([row.asDict() for row in frame.collect()])
