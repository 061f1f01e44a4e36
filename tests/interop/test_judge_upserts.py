"""Apache Hudi continues to write an adopted table; both it and Lakestrap read the result."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from framework.spark import read
from tests.interop.canonical import canonical_rows
from tests.interop.cases import Case
from tests.interop.differences import Effect, effect_of
from tests.interop.judge import Judge, JudgeError
from tests.interop.matrix import upsert_params
from tests.interop.queries import Query, expected_rows
from tests.interop.upserts import upsert_for, write_batch, writer_options

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

BOOTSTRAP_INSTANT = "00000000000001"
COMMIT_TIME = ("_hoodie_record_key", "_hoodie_commit_time")
COMPACT = {"hoodie.compact.inline": "true", "hoodie.compact.inline.max.delta.commits": "1"}


@pytest.mark.taking_turns(2)
@pytest.mark.parametrize(("case", "index"), upsert_params())
def test_upsert_by_the_judge_is_read_right_by_the_judge_and_by_us(
    *,
    case: Case,
    index: str,
    judge: Judge,
    table_copy: Callable[[Case], Path],
    spark: SparkSession,
    tmp_path: Path,
) -> None:
    """Updated, inserted, moved and untouched rows are right; the table stays at version 6."""
    _readable(case, judge)
    location = table_copy(case)
    upsert = upsert_for(case, index=index)
    batch = write_batch(case, upsert, tmp_path / "batch.parquet")
    query = Query(name="data", columns=tuple(case.schema.names))
    if effect_of(case.exceptions, judge.version, Effect.WRITE_FAILS, index=index):
        with pytest.raises(JudgeError):
            judge.upsert(location, batch, {**writer_options(case, index), **_each_time(case)[-1]})
        assert judge.rows(location, query.columns) == expected_rows(case, case.rows, query)
        return
    expected = expected_rows(case, upsert.expected, query)
    for options in _each_time(case):
        judge.upsert(location, batch, {**writer_options(case, index), **options})
        if effect_of(case.exceptions, judge.version, Effect.WRITE_IS_WRONG):
            assert judge.rows(location, query.columns) != expected
            return
        assert judge.rows(location, query.columns) == expected
        ours = read(spark, str(location)).select(*query.columns)
        assert canonical_rows([tuple(row) for row in ours.collect()]) == expected
    assert "hoodie.table.version=6\n" in (location / ".hoodie/hoodie.properties").read_text()
    untouched = [row for row in judge.rows(location, COMMIT_TIME) if row[0] not in upsert.touched]
    assert {row[1] for row in untouched} <= {BOOTSTRAP_INSTANT}


def _readable(case: Case, judge: Judge) -> None:
    """Skip what the release cannot read in the first place."""
    for effect in (Effect.READ_FAILS, Effect.ESCAPED_VALUE):
        if effect_of(case.exceptions, judge.version, effect):
            pytest.skip(f"{judge.version}: {effect.value}")


def _each_time(case: Case) -> list[dict[str, str]]:
    """Return options beside the writer's: logs first, then the same once more and compacted."""
    return [{}, COMPACT] if case.table_type == "merge_on_read" else [{}]
