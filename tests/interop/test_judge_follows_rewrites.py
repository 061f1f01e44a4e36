"""Apache Hudi reads and writes on after materialize and clustering, and services the table."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from framework.engine.services.materialize import observe_materialize, run_materialize
from framework.engine.tasks import InProcessTasks
from tests.interop.cases import CASES, Case
from tests.interop.judge import Judge
from tests.interop.judge_calls import call
from tests.interop.upserts import upsert_for, write_batch, writer_options

pytestmark = pytest.mark.interop

_ADOPTED = {"copy_on_write": "hive", "merge_on_read": "merge-on-read"}


@pytest.mark.taking_turns
@pytest.mark.parametrize("kind", _ADOPTED)
def test_materialized_table_is_read_and_written_on_by_the_judge(
    kind: str, judge: Judge, table_copy: Callable[[Case], Path], tmp_path: Path
) -> None:
    """It lists our instants, finds nothing new in them, and its next upsert continues."""
    case = {each.name: each for each in CASES}[_ADOPTED[kind]]
    location = table_copy(case)
    columns = tuple(case.schema.names)
    before = judge.rows(location, columns)
    done = run_materialize(observe_materialize(str(location)), InProcessTasks(2))
    assert done is not None
    instant = done.batches[-1].instant
    assert judge.rows(location, columns) == before
    assert instant in str(call(judge, location, "show_commits"))
    options = {
        "hoodie.datasource.query.type": "incremental",
        "hoodie.datasource.read.begin.instanttime": "00000000000002",
    }
    assert judge.ask("read", location=str(location), columns=[], options=options)["count"] == 0
    upsert = upsert_for(case, index="SIMPLE")
    batch = write_batch(case, upsert, tmp_path / "batch.parquet")
    written = {**writer_options(case, "SIMPLE"), "hoodie.datasource.write.table.type": kind.upper()}
    judge.upsert(location, batch, written)
    after = judge.rows(location, columns)
    assert after != before
