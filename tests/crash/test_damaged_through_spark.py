"""One file of a table is damaged at a time and read by Spark: right rows or a typed error."""

from __future__ import annotations

from pathlib import Path
from random import Random
from typing import TYPE_CHECKING

import pytest

from framework.errors import CorruptFileError
from framework.spark import read
from framework.spark.task_faults import typed
from framework.vocabulary import TableType, Verify
from tests.support.damaged_lakes import adopted_lake, files_of, written_lake
from tests.support.mutants import Mutant, Subject, mutants

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.crash, pytest.mark.full, pytest.mark.timeout(3600)]


@pytest.mark.parametrize("name", ["copy_on_write", "merge_on_read", "adopted"])
def test_damaged_file_read_by_spark_is_right_or_refused(
    spark: SparkSession, name: str, tmp_path: Path
) -> None:
    """Spark compares page bodies; what it does not compare in files of ours, `FULL` refuses."""

    def rows(location: str) -> list[str]:
        with typed():
            return sorted(map(repr, read(spark, location).collect()))

    def is_limit(mutant: Mutant) -> bool:
        if mutant.outcome != "wrong":
            return False
        if mutant.kind == "base":
            with pytest.raises(CorruptFileError) as caught:
                read(spark, str(location), verify=Verify.FULL)
            return caught.value.condition == "file/not-readable"
        # pages of sources have no checksums; an instant that is gone never completed
        is_gone = mutant.kind.startswith("instant") and mutant.damage == "delete"
        return mutant.kind == "source" or is_gone

    source = None
    if name == "adopted":
        location, source = adopted_lake(tmp_path)
    else:
        location = written_lake(TableType(name), tmp_path)
    subject = Subject(location=location, files=files_of(location, source), read=rows)
    tried, unsound = 0, list[Mutant]()
    for each in mutants(subject, 110, Random(31)):
        tried += 1
        if not (each.is_sound or is_limit(each)):
            unsound.append(each)
    assert tried >= 100
    assert unsound == []
