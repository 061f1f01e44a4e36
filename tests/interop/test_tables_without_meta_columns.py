"""Tables that Apache Hudi keeps without meta columns: right rows, or a refusal."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from framework.errors import UnsupportedTableError
from framework.spark import read, read_incremental, read_optimized
from framework.spark.sql_query import query
from framework.vocabulary import KeyScope, TableType, WriteOperation
from tests.interop.judge import Judge
from tests.interop.test_judge_made_the_table import options_of
from tests.interop.turns import Turns
from tests.support.writing import Lake

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = [pytest.mark.interop, pytest.mark.taking_turns]

WITHOUT = {"hoodie.populate.meta.fields": "false"}


@pytest.mark.parametrize("kind", list(TableType))
def test_table_without_meta_columns_gives_its_rows_or_a_refusal(
    kind: TableType, judge: Judge, spark: SparkSession, tmp_path: Path
) -> None:
    """Base files are read as they are; log files, changes and loads need keys and commit times."""
    lake = Lake(folder=tmp_path, scope=KeyScope.PARTITION, type=kind, ordering="ts")
    turns = Turns(lake=lake, judge=judge, spark=spark)
    options = options_of(kind, **WITHOUT)
    turns.under(options, turns.some(range(8)))
    location = str(turns.location)
    assert _ids(read(spark, location)) == list(range(8))
    assert _ids(read_optimized(spark, location)) == list(range(8))
    _refused(lambda: read_incremental(spark, location), "read/no-meta-columns")
    turns.under(options, turns.some([1, 9]))
    if kind is TableType.COPY_ON_WRITE:
        assert _ids(read(spark, location)) == [*range(8), 9]
    else:
        _refused(lambda: read(spark, location).count(), "read/no-meta-columns")
        _refused(
            lambda: query(spark, location, "select count(*) from this", limit=1),
            "read/no-meta-columns",
        )
    _refused(lambda: turns.ours(WriteOperation.UPSERT, turns.some([2])), "read/no-meta-columns")


def _ids(rows: DataFrame) -> list[int]:
    return sorted(row["id"] for row in rows.select("id").collect())


def _refused(question: Callable[[], object], condition: str) -> None:
    with pytest.raises(UnsupportedTableError) as caught:
        question()
    assert caught.value.condition == condition
