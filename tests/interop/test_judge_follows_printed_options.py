"""What `status --hudi-options` and `--ddl` print is enough for a Hudi job to write on."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.interop.cases import CASES, Case
from tests.interop.differences import Effect, effect_of
from tests.interop.judge import Judge, JudgeError
from tests.interop.printed import printed_options, run_sql
from tests.interop.queries import Query, expected_rows
from tests.interop.upserts import upsert_for, write_batch

BY_NAME = {case.name: case for case in CASES}
SMALL = {"hoodie.upsert.shuffle.parallelism": "2", "hoodie.insert.shuffle.parallelism": "2"}


@pytest.mark.interop
@pytest.mark.taking_turns
@pytest.mark.parametrize(
    "name", ["hive", "two-levels", "positional", "unpartitioned", "merge-on-read"]
)
def test_upsert_under_the_printed_options_is_right_and_keeps_the_version(
    name: str, judge: Judge, table_copy: Callable[[Case], Path], tmp_path: Path
) -> None:
    """The options alone decide: key generator, partitions, index, version 6, no metadata table."""
    case = BY_NAME[name]
    location = table_copy(case)
    options = printed_options(location)
    upsert = upsert_for(case, index=options["hoodie.index.type"])
    batch = write_batch(case, upsert, tmp_path / "batch.parquet")
    operation = {"hoodie.datasource.write.operation": "upsert"}
    options = {**SMALL, **operation, **options}
    query = Query(name="data", columns=tuple(case.schema.names))
    index = options["hoodie.index.type"]
    if effect_of(case.exceptions, judge.version, Effect.WRITE_FAILS, index=index):
        with pytest.raises(JudgeError, match="Ordering value is null"):
            judge.ask("write", location=str(location), batch=str(batch), options=options)
        assert judge.rows(location, query.columns) == expected_rows(case, case.rows, query)
        return
    judge.ask("write", location=str(location), batch=str(batch), options=options)
    assert judge.rows(location, query.columns) == expected_rows(case, upsert.expected, query)
    _still_version_6(location)


@pytest.mark.interop
@pytest.mark.taking_turns
@pytest.mark.parametrize("name", ["hive", "positional", "unpartitioned", "merge-on-read"])
def test_sql_under_the_printed_settings_updates_and_inserts(
    name: str, judge: Judge, table_copy: Callable[[Case], Path]
) -> None:
    """The printed DDL declares the table; UPDATE and DELETE touch the rows that they name."""
    case = BY_NAME[name]
    location = table_copy(case)
    last = max(row["id"] for row in case.rows)
    changes = [
        "UPDATE {table} SET v = 'by sql' WHERE id = 0",
        f"DELETE FROM {{table}} WHERE id = {last}",  # noqa: S608 - numbers of our own
    ]
    run_sql(judge, location, changes)
    rows = [
        {**row, "v": "by sql"} if row["id"] == 0 else row for row in case.rows if row["id"] != last
    ]
    query = Query(name="data", columns=tuple(case.schema.names))
    assert judge.rows(location, query.columns) == expected_rows(case, rows, query)
    _still_version_6(location)


@pytest.mark.interop
@pytest.mark.taking_turns
def test_sql_on_a_table_with_custom_keys_is_refused_and_changes_nothing(
    judge: Judge, table_copy: Callable[[Case], Path]
) -> None:
    """One key and several partition columns: SQL fails on both releases, and the rows stay."""
    case = BY_NAME["two-levels"]
    location = table_copy(case)
    with pytest.raises(JudgeError):
        run_sql(judge, location, ["UPDATE {table} SET v = 'by sql' WHERE id = 0"])
    query = Query(name="data", columns=tuple(case.schema.names))
    assert judge.rows(location, query.columns) == expected_rows(case, case.rows, query)


def _still_version_6(location: Path) -> None:
    """Check that nothing was upgraded and no metadata table was made."""
    text = (location / ".hoodie/hoodie.properties").read_text()
    assert "hoodie.table.version=6\n" in text
    assert not (location / ".hoodie/metadata").exists()
