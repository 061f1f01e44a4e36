"""Rollbacks, savepoints and restores of ours and of Apache Hudi take turns on one table."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from framework.engine.services.savepoint import create_savepoint, delete_savepoint, savepoints
from framework.engine.services.undo import plan_restore, plan_rollback, run_undo
from framework.hudi.storage.locations import open_storage
from framework.hudi.table.properties import read_properties
from framework.hudi.timeline.instant import Action
from framework.hudi.timeline.timeline import load_timeline
from framework.vocabulary import KeyScope, PartitionType, TableType, WriteOperation
from tests.interop.judge import KEEP_VERSION_6, Judge
from tests.interop.turns import Turns
from tests.support.writing import Lake

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.interop


def _call(judge: Judge, location: Path, procedure: str, **arguments: str) -> list[list[object]]:
    """Return what a procedure of Apache Hudi's returns for the table."""
    properties = read_properties(open_storage(str(location)))
    assert properties is not None
    name = ".".join(filter(None, (properties.database, properties.name)))
    words = [f"{key} => '{value}'" for key, value in {"table": name, **arguments}.items()]
    statements = [
        *([f"create database if not exists {properties.database}"] if properties.database else []),
        f"drop table if exists {name}",
        f"create table {name} using hudi location '{location}'",
        f"call {procedure}({', '.join(words)})",
    ]
    rows: list[list[object]] = judge.ask("sql", statements=statements, conf=KEEP_VERSION_6)["rows"]
    return rows


@pytest.mark.taking_turns
@pytest.mark.parametrize("kind", list(TableType))
def test_rollbacks_and_restores_of_both_sides_take_turns(
    kind: TableType, judge: Judge, spark: SparkSession, tmp_path: Path
) -> None:
    """Both read the same rows after each, the judge lists ours, and each writes on."""
    lake = Lake(
        folder=tmp_path,
        partition={"day": PartitionType.STRING},
        scope=KeyScope.PARTITION,
        type=kind,
        ordering="ts",
    )
    turns = Turns(lake=lake, judge=judge, spark=spark)
    location = str(turns.location)
    turns.ours(WriteOperation.INSERT, turns.some(range(12)))
    kept = dict(turns.rows)
    turns.ours(WriteOperation.UPSERT, turns.some([0, 1, 20]))
    ours = run_undo(plan_rollback(location), Action.ROLLBACK)
    turns.rows = dict(kept)
    turns.compare()
    assert ours in str(_call(judge, turns.location, "show_rollbacks"))
    turns.theirs(turns.some([2, 3, 21]))
    held = dict(turns.rows)
    savepoint = create_savepoint(location, comment="judged").instant
    assert savepoint in str(_call(judge, turns.location, "show_savepoints"))
    turns.ours(WriteOperation.UPSERT, turns.some([2, 4, 22]))
    turns.ours(WriteOperation.DELETE, turns.some([5]))
    run_undo(plan_restore(location, savepoint), Action.RESTORE)
    turns.rows = dict(held)
    turns.compare()
    turns.theirs(turns.some([6, 23]))
    turns.ours(WriteOperation.UPSERT, turns.some([7, 24]))
    _call(judge, turns.location, "rollback_to_savepoint", instant_time=savepoint)
    turns.rows = dict(held)
    turns.compare()
    delete_savepoint(location, savepoint)
    assert savepoints(load_timeline(open_storage(location))) == ()
    turns.ours(WriteOperation.UPSERT, turns.some([8, 25]))
    turns.theirs(turns.some([8, 26]))
