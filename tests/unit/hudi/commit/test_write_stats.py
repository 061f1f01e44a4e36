"""What a commit says of files, from their statuses."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from framework.hudi.commit.segments import SEGMENT_SCHEMA
from framework.hudi.commit.transaction import stats_of
from framework.hudi.timeline.commit_metadata import LogAppend, WriteStat
from tests.support.transactions import a_status

COUNTS = {"rows": 5, "size": 7, "inserts": 1, "updates": 2, "deletes": 3}
BASE = "f_0-0-0_2.parquet"


@pytest.mark.parametrize(
    ("status", "path", "log"),
    [
        ({"name": BASE, "previous": None}, f"p/{BASE}", None),
        ({"name": BASE, "previous": "1"}, f"p/{BASE}", None),
        (
            {"name": ".f_1.log.12_0-0-0", "previous": "1", "base_name": "f_0-0-0_1.parquet"},
            "p/.f_1.log.12_0-0-0",
            LogAppend(version=12, base_file="f_0-0-0_1.parquet"),
        ),
        (
            {"name": ".f_2.log.1_0-0-0", "previous": None, "base_name": None},
            "p/.f_2.log.1_0-0-0",
            LogAppend(version=1, base_file=""),
        ),
    ],
)
def test_stats_of_a_status_follow_from_name_and_counts(
    status: dict[str, Any], path: str, log: LogAppend | None
) -> None:
    """A name that is a log file's makes a log append; all counts are those of the status."""
    row = {**a_status(0), **COUNTS, **status, "file_id": "f"}
    batches = pa.Table.from_pylist([row, row], schema=SEGMENT_SCHEMA).to_batches()
    expected = WriteStat(
        file_id="f",
        path=path,
        partition_path="p",
        previous=status["previous"],
        log=log,
        **COUNTS,
    )
    assert list(stats_of("p", batches)) == [expected, expected]


def test_stats_in_an_unpartitioned_table_have_the_name_as_path() -> None:
    """There is no folder."""
    batches = pa.Table.from_pylist([a_status(3)], schema=SEGMENT_SCHEMA).to_batches()
    (found,) = stats_of("", batches)
    assert found.path == a_status(3)["name"]
    assert (found.rows, found.inserts, found.previous) == (4, 4, None)
