"""Time travel, incremental and read-optimized queries give what Apache Hudi's give."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from framework.hudi.storage.locations import open_storage
from framework.hudi.timeline.instant import DATA_ACTIONS
from framework.hudi.timeline.timeline import load_timeline
from framework.spark import read, read_incremental, read_optimized
from tests.interop.canonical import canonical_rows
from tests.interop.cases import CASES, Case
from tests.interop.judge import Judge
from tests.interop.upserts import upsert_for, write_batch, writer_options

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = pytest.mark.interop

BEFORE_ALL = "00000000000000"
TABLE_TYPES = ("copy_on_write", "merge_on_read")


@pytest.mark.taking_turns
@pytest.mark.parametrize("table_type", TABLE_TYPES)
def test_history_of_a_table_that_the_judge_wrote_on_is_read_as_the_judge_reads_it(
    judge: Judge,
    table_copy: Callable[[Case], Path],
    spark: SparkSession,
    tmp_path: Path,
    table_type: str,
) -> None:
    """As of each instant, for each window between two, and of base files alone."""
    plain = next(case for case in CASES if case.table_type == table_type and case.sample)
    case = replace(plain, name=f"history-{table_type}")
    location = table_copy(case)
    _write_on(judge, case, location, tmp_path)
    timeline = load_timeline(open_storage(str(location)))
    instants = [i.requested_time for i in timeline.completed if i.action in DATA_ACTIONS]
    assert len(instants) == 4
    columns = ["_hoodie_commit_time", "_hoodie_record_key", *case.schema.names]

    def rows(frame: DataFrame) -> list[list[object]]:
        return canonical_rows([tuple(row) for row in frame.select(*columns).collect()])

    def judged(**options: str) -> list[list[object]]:
        named = {name.replace("__", "."): text for name, text in options.items()}
        found = judge.ask("read", location=str(location), columns=columns, options=named)
        answer: list[list[object]] = found["rows"]
        return answer

    seen = set()
    for instant in instants:
        expected = judged(as__of__instant=instant)
        assert rows(read(spark, location, as_of=instant)) == expected, instant
        seen.add(repr(expected))
    assert len(seen) == len(instants)
    for begin, end in combinations([BEFORE_ALL, *instants], 2):
        window = {
            "hoodie.datasource.query.type": "incremental",
            "hoodie.datasource.read.begin.instanttime": begin,
            "hoodie.datasource.read.end.instanttime": end,
        }
        expected = judge.ask("read", location=str(location), columns=columns, options=window)
        found = rows(read_incremental(spark, location, begin, end))
        assert _same(found, expected["rows"], judge, case, begin), (begin, end)
    optimized = {"hoodie.datasource.query.type": "read_optimized"}
    expected = judge.ask("read", location=str(location), columns=columns, options=optimized)
    assert rows(read_optimized(spark, location)) == expected["rows"]


def _same(
    found: list[list[object]], expected: list[list[object]], judge: Judge, case: Case, begin: str
) -> bool:
    """Compare rows; 0.15.0 gives a skeleton's rows without data on merge-on-read."""
    loses = judge.version == "0.15.0" and case.table_type == "merge_on_read"
    if not loses or begin != BEFORE_ALL:
        return found == expected
    assert [row for row in expected if row[2:] == [None] * len(row[2:])]
    return sorted(str(row[:2]) for row in found) == sorted(str(row[:2]) for row in expected)


def _write_on(judge: Judge, case: Case, location: Path, tmp_path: Path) -> None:
    """Let the judge update and insert, delete, and update once more; nothing is compacted."""
    options = writer_options(case, "SIMPLE")
    upsert = upsert_for(case, index="SIMPLE")
    first = write_batch(case, upsert, tmp_path / "first.parquet")
    judge.upsert(location, first, options)
    gone = replace(upsert, batch=upsert.batch[:1])
    operation = {"hoodie.datasource.write.operation": "delete"}
    batch = write_batch(case, gone, tmp_path / "gone.parquet")
    judge.upsert(location, batch, {**options, **operation})
    again = tuple({**row, "v": "again", "n": 99} for row in upsert.batch[1:])
    batch = write_batch(case, replace(upsert, batch=again), tmp_path / "again.parquet")
    judge.upsert(location, batch, options)
