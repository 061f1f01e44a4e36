"""What a Hudi job with its default options does to an adopted table, and that `status` sees it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from framework.engine.inspect.status import table_status
from tests.interop.cases import CASES, Case
from tests.interop.judge import Judge
from tests.interop.queries import Query, expected_rows
from tests.interop.upserts import upsert_for, write_batch, writer_options

BY_NAME = {case.name: case for case in CASES}
NO_COLUMN_STATS = {"hoodie.metadata.index.column.stats.enable": "false"}


@pytest.mark.interop
@pytest.mark.taking_turns
def test_default_options_put_an_adopted_table_in_danger_and_status_says_so(
    judge: Judge, table_copy: Callable[[Case], Path], tmp_path: Path
) -> None:
    """1.2.0 upgrades to version 9 and then loses rows to filters; 0.15.0 adds a metadata table."""
    location = table_copy(BY_NAME["hive"])
    assert not table_status(str(location)).dangers
    case, rows = _upsert(judge, location, tmp_path, {})
    filtered = Query(
        name="on data",
        columns=("id", "v"),
        where="v like 'v%'",
        keeps=lambda row: row["v"].startswith("v"),
    )
    found = judge.rows(location, filtered.columns, filtered.where)
    expected = expected_rows(case, rows, filtered)
    assert (location / ".hoodie/metadata").is_dir()
    assert (found == expected) == (judge.version == "0.15.0")
    assert table_status(str(location)).dangers


@pytest.mark.interop
@pytest.mark.taking_turns
def test_upgrade_without_column_statistics_keeps_all_rows(
    judge: Judge, table_copy: Callable[[Case], Path], tmp_path: Path
) -> None:
    """The rows are lost by statistics over skeletons, so without those they are not."""
    if judge.version == "0.15.0":
        pytest.skip("0.15.0 does not upgrade")
    location = table_copy(BY_NAME["hive"])
    case, rows = _upsert(judge, location, tmp_path, NO_COLUMN_STATS)
    query = Query(
        name="on data", columns=("id", "v"), where="n = 3", keeps=lambda row: row["n"] == 3
    )
    assert judge.rows(location, query.columns, query.where) == expected_rows(case, rows, query)
    assert "hoodie.table.version=9\n" in (location / ".hoodie/hoodie.properties").read_text()


def _upsert(
    judge: Judge, location: Path, folder: Path, options: dict[str, str]
) -> tuple[Case, tuple[dict[str, object], ...]]:
    """Upsert as a job does that knows nothing of us; return the rows that must be there."""
    case = BY_NAME["hive"]
    upsert = upsert_for(case, index="SIMPLE")
    batch = write_batch(case, upsert, folder / "batch.parquet")
    every = {
        **writer_options(case, "SIMPLE"),
        "hoodie.datasource.write.operation": "upsert",
        "hoodie.upsert.shuffle.parallelism": "2",
        **options,
    }
    judge.ask("write", location=str(location), batch=str(batch), options=every)
    return case, upsert.expected
