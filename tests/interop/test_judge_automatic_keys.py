"""Tables whose rows were numbered when they were adopted: Apache Hudi reads them and writes on."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from framework.spark import read
from tests.interop.canonical import canonical_rows
from tests.interop.cases import CASES, Case
from tests.interop.judge import Judge
from tests.interop.printed import printed_options, run_sql
from tests.interop.queries import Query, expected_rows
from tests.interop.sources import write_source
from tests.interop.support import adopt
from tests.interop.upserts import Upsert, write_batch

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.interop

BY_NAME = {case.name: case for case in CASES}
NAMES = ("hive", "two-levels", "unpartitioned", "merge-on-read", "mixed")
KEY = "_hoodie_record_key"


def adopt_numbered(case: Case, folder: Path) -> Path:
    """Adopt the source of a case with automatic keys."""
    write_source(case.files, folder / "source")
    document: dict[str, Any] = case.spec(
        source=str(folder / "source"), location=str(folder / "table")
    )
    document["table"]["record_key"] = "auto"
    return adopt(document, folder)


@pytest.mark.taking_turns
@pytest.mark.parametrize("name", NAMES)
def test_table_with_automatic_keys_is_read_and_written_on(
    name: str, judge: Judge, spark: SparkSession, tmp_path: Path
) -> None:
    """Inserts by DataFrame, updates and deletes by SQL; rows that stay keep our keys."""
    case = BY_NAME[name]
    location = adopt_numbered(case, tmp_path)
    query = Query(name="data", columns=tuple(case.schema.names))
    assert judge.rows(location, query.columns) == expected_rows(case, case.rows, query)
    numbered = {row[1]: row[0] for row in judge.rows(location, [KEY, "id"])}
    assert len(set(numbered.values())) == len(case.rows)
    assert set(numbered.values()) == {row[0] for row in read(spark, location).select(KEY).collect()}

    new = {name: value for name, value in case.rows[-1].items() if not name.startswith("_hoodie")}
    added = {**new, "id": 900_000, "v": "added"}
    upsert = Upsert(batch=(added,), expected=(), touched=frozenset())
    options = printed_options(location)
    assert not [option for option in options if "recordkey" in option]
    operation = {"hoodie.datasource.write.operation": "insert"}
    batch = write_batch(case, upsert, tmp_path / "batch.parquet")
    judge.ask("write", location=str(location), batch=str(batch), options={**options, **operation})
    last = max(row["id"] for row in case.rows)
    update = "UPDATE {table} SET v = 'by sql' WHERE id = 0"
    delete = f"DELETE FROM {{table}} WHERE id = {last}"  # noqa: S608 - a number of our own
    run_sql(judge, location, [update, delete])
    changed = [{**row, "v": "by sql"} if row["id"] == 0 else row for row in case.rows]
    rows = [*(row for row in changed if row["id"] != last), added]
    expected = expected_rows(case, rows, query)
    assert judge.rows(location, query.columns) == expected
    ours = read(spark, location)
    found = canonical_rows([tuple(row) for row in ours.select(*query.columns).collect()])
    assert found == expected
    keys = {row.id: row[KEY] for row in ours.select("id", KEY).collect()}
    assert len(set(keys.values())) == len(keys)
    assert {i: k for i, k in keys.items() if i != 900_000} == {
        i: k for i, k in numbered.items() if i != last
    }
