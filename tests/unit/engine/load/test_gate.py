"""No operation on any table publishes without the gate."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from framework.engine.runner import run
from framework.engine.tasks import InProcessTasks
from framework.hudi.storage.locations import open_storage
from framework.hudi.timeline.commit_metadata import read_commit_head
from framework.hudi.timeline.timeline import load_timeline
from framework.plan.definition import Plan
from framework.vocabulary import TableType, WriteOperation
from tests.support.writing import Lake, a_load_plan, an_input, load


def a_plan(folder: Path, kind: TableType, operation: WriteOperation) -> tuple[Lake, Plan]:
    """Return a table with three rows, and the plan of an operation on it."""
    lake = Lake(folder=folder, type=kind, ordering="ts")
    load(lake, WriteOperation.INSERT, [{"id": n, "day": "mon", "ts": 1} for n in range(3)])
    if operation is WriteOperation.DELETE_PARTITION:
        return lake, a_load_plan(lake, operation, (), request=None, partitions=("day=mon",))
    number = 0 if operation in {WriteOperation.UPSERT, WriteOperation.DELETE} else 7
    files = an_input(lake, [{"id": number, "day": "mon", "ts": 2}])
    return lake, a_load_plan(lake, operation, files)


@pytest.mark.parametrize("kind", TableType)
@pytest.mark.parametrize("operation", WriteOperation)
def test_load_stores_the_proof_of_the_gate_in_its_commit(
    tmp_path: Path, kind: TableType, operation: WriteOperation
) -> None:
    """The commit has the proof and the counts of rows."""
    lake, plan = a_plan(tmp_path, kind, operation)
    result = run(plan, InProcessTasks(1))
    storage = open_storage(lake.location)
    instant = load_timeline(storage).completed[-1]
    proof: dict[str, Any] = json.loads(
        read_commit_head(storage, instant.path).extra["lakestrap.audit"]
    )
    assert proof == result.proof
    assert proof["unique"]
    assert proof["not_null"]
    account = proof["account"]
    reported = sum(
        account[name]
        for name in ("inserted", "updated", "superseded", "deleted", "absent", "dropped")
    )
    assert reported == account["input"]
