"""Archives of ours and of Apache Hudi take turns on one table; no row changes."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from framework.engine.services.archival import observe_archival, run_archival
from framework.engine.services.compaction import observe_compaction, run_compaction
from framework.engine.tasks import InProcessTasks
from framework.hudi.storage.locations import open_storage
from framework.hudi.table.properties import read_properties
from framework.hudi.timeline.instant import DATA_ACTIONS
from framework.hudi.timeline.timeline import load_timeline
from framework.plan.services.archival import ArchivalLimits
from framework.vocabulary import KeyScope, PartitionType, TableType, WriteOperation
from tests.interop.judge import KEEP_VERSION_6, Judge
from tests.interop.printed import printed_options
from tests.interop.test_judge_archives import ARCHIVE_SOON
from tests.interop.turns import Turns
from tests.support.orders import Shop
from tests.support.writing import Lake

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.interop

LIMITS = ArchivalLimits(keep_min=2, keep_max=3)
CLEAN_ONLY = {**ARCHIVE_SOON, "hoodie.archive.automatic": "false"}
ALL_TIMES = "start_ts => '0', end_ts => '99999999999999999'"
KINDS = list(TableType)


def archive(location: Path) -> list[str]:
    """Archive ourselves; return the times of the commits that left the active timeline."""
    plan = observe_archival(str(location), LIMITS)
    done = run_archival(plan)
    assert done is not None
    assert done.commits > 0
    return [each.requested_time for each in plan.instants if each.action in DATA_ACTIONS]


def active(location: Path) -> list[str]:
    """Return the times of completed active instants."""
    return [each.requested_time for each in load_timeline(open_storage(str(location))).completed]


def shown(judge: Judge, location: Path) -> str:
    """Return what Apache Hudi shows of the archive."""
    properties = read_properties(open_storage(str(location)))
    assert properties is not None
    name = ".".join(filter(None, (properties.database, properties.name)))
    statements = [
        *([f"create database if not exists {properties.database}"] if properties.database else []),
        f"drop table if exists {name}",
        f"create table {name} using hudi location '{location}'",
        f"call show_archived_commits(table => '{name}', limit => 100, {ALL_TIMES})",
    ]
    return str(judge.ask("sql", statements=statements, conf=KEEP_VERSION_6)["rows"])


@pytest.mark.taking_turns
@pytest.mark.parametrize("kind", KINDS)
def test_archives_of_both_sides_take_turns(
    kind: TableType, judge: Judge, spark: SparkSession, tmp_path: Path
) -> None:
    """Both read the same rows after each archival, the judge lists ours, and each writes on."""
    lake = Lake(
        folder=tmp_path,
        partition={"day": PartitionType.STRING},
        scope=KeyScope.PARTITION,
        type=kind,
        ordering="ts",
    )
    turns = Turns(lake=lake, judge=judge, spark=spark)
    location = turns.location
    turns.ours(WriteOperation.INSERT, turns.some(range(12)))
    for number in range(4):
        turns.ours(WriteOperation.UPSERT, turns.some([0, 1, 20 + number]))
    turns.theirs(turns.some([2, 30]))
    turns.ours(WriteOperation.DELETE, turns.some([5]))
    gone = archive(location)
    turns.compare()
    listed = shown(judge, location)
    assert [time for time in gone if time not in listed] == []
    turns.ours(WriteOperation.UPSERT, turns.some([1, 40]))
    for number in range(7):
        turns.theirs(turns.some([3, 50 + number]), **ARCHIVE_SOON)
    theirs = [time for time in active(location) if time in shown(judge, location)]
    assert theirs == []
    if kind is TableType.MERGE_ON_READ:
        turns.ours(WriteOperation.UPSERT, turns.some([4]))
        assert run_compaction(observe_compaction(str(location)), InProcessTasks(2)) is not None
    turns.ours(WriteOperation.INSERT_OVERWRITE, turns.some([60], day="d0"))
    for number in range(5):
        turns.ours(WriteOperation.UPSERT, turns.some([61, 70 + number]))
    turns.theirs(turns.some([62]), **CLEAN_ONLY)
    gone = archive(location)
    turns.compare()
    listed = shown(judge, location)
    assert [time for time in gone if time not in listed] == []
    turns.theirs(turns.some([63]), **ARCHIVE_SOON)


@pytest.mark.taking_turns
@pytest.mark.parametrize("kind", KINDS)
def test_archive_of_an_adopted_table_is_read_and_written_on_by_the_judge(
    kind: TableType, judge: Judge, tmp_path: Path
) -> None:
    """The bootstrap's instant is in the archive; skeletons and sources are found without it."""
    shop = Shop(tmp_path, kind, adopts=True)
    shop.run()
    for number in range(6):
        shop.lands(f"f{number}", (f"k{number}", "d1", number), ("a", "d1", number))
    columns = ["id", "day", "v"]
    rows = judge.rows(shop.location, columns)
    assert "00000000000001" in archive(shop.location)
    assert judge.rows(shop.location, columns) == rows
    assert "00000000000001" in shown(judge, shop.location)
    shop.lands("more", ("d1-1", "d1", 7))
    batch = tmp_path / "landing/f5.parquet"
    options = {**printed_options(shop.location), **ARCHIVE_SOON}
    for _ in range(4):
        judge.upsert(shop.location, batch, options)
    shop.lands("last", ("d2-1", "d2", 8))
    values = {(row[0], row[2]) for row in judge.rows(shop.location, columns)}
    assert values == {(key, value) for key, _, value in shop.rows()}
    assert {("d1-1", 7), ("d2-1", 8), ("a", 5)} <= values
