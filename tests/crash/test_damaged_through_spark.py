"""One file of a table is damaged at a time and read by Spark: right rows or a typed error."""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING

import pytest

from framework.spark import read
from framework.spark.spark_faults import typed
from framework.vocabulary import TableType
from tests.support.damaged_lakes import adopted_lake, files_of, written_lake
from tests.support.mutants import Subject, mutants

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.crash, pytest.mark.full, pytest.mark.timeout(1800)]


@pytest.mark.parametrize("name", ["copy_on_write", "merge_on_read", "adopted"])
def test_damaged_file_read_by_spark_is_right_or_refused(
    spark: SparkSession, name: str, tmp_path: Path
) -> None:
    """Through the reader of ours; a page header or a footer may mislead Spark's scan (ADR 0027)."""

    def rows(location: str) -> list[str]:
        with typed():
            return sorted(map(repr, read(spark, location).collect()))

    source = None
    if name == "adopted":
        location, source = adopted_lake(tmp_path)
    else:
        location = written_lake(TableType(name), tmp_path)
    subject = Subject(location=location, files=files_of(location, source), read=rows)
    found = list(mutants(subject, 110, Random(31)))
    unsound = [each for each in found if not each.is_sound]
    limits = [
        each
        for each in unsound
        if each.outcome == "wrong" and (each.kind in {"source", "base"} or each.damage == "delete")
    ]
    assert len(found) >= 100
    assert [each for each in unsound if each not in limits] == []
    assert len(limits) <= len(found) // 20
