"""Five rounds in which Lakestrap and Apache Hudi alternate in loading and servicing one table.

In each half-round one side loads, and a service of one side meets what the other side wrote. After
it both read the same rows and list the same instants, and a check of the whole table finds no
damage.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from framework.engine.services.archival import observe_archival, run_archival
from framework.engine.services.clean import observe_clean, run_clean
from framework.engine.services.clustering import observe_clustering, run_clustering
from framework.engine.services.compaction import observe_compaction, run_compaction
from framework.engine.services.savepoint import create_savepoint, delete_savepoint, savepoints
from framework.engine.services.undo import plan_restore, plan_rollback, run_undo
from framework.engine.tasks import InProcessTasks
from framework.hudi.storage.locations import open_storage
from framework.hudi.timeline.instant import DATA_ACTIONS, Action
from framework.hudi.timeline.timeline import load_timeline
from framework.plan.services.archival import ArchivalLimits
from framework.plan.services.clean import CleanPolicy
from framework.plan.services.clustering import ClusterRequest
from framework.vocabulary import TableType, WriteOperation
from tests.interop.alternation import Alternation
from tests.interop.differences import RELEASES
from tests.interop.judge import KEEP_VERSION_6, Judge
from tests.interop.judge_calls import call
from tests.interop.printed import printed_options
from tests.interop.test_judge_follows_archives import shown

pytestmark = pytest.mark.interop

COMPACT = {"hoodie.compact.inline": "true", "hoodie.compact.inline.max.delta.commits": "1"}
CLUSTER = {"hoodie.clustering.inline": "true", "hoodie.clustering.inline.max.commits": "1"}
CLEAN = {
    "hoodie.clean.automatic": "true",
    "hoodie.clean.async": "false",
    "hoodie.cleaner.commits.retained": "1",
    "hoodie.clean.commits.retained": "1",
}
ARCHIVE = {
    **CLEAN,
    "hoodie.archive.automatic": "true",
    "hoodie.keep.min.commits": "2",
    "hoodie.keep.max.commits": "3",
}
SEALED = b"LKCR"
"""Behind the deleted keys of a delete block of ours, with a checksum; Apache Hudi reads past it."""
LIMITS = ArchivalLimits(keep_min=2, keep_max=3)


def actions(table: Alternation) -> Mapping[str, Action]:
    """Return the actions of the completed instants by time."""
    return {each.requested_time: each.action for each in table.instants() if each.is_completed}


def we_compact(table: Alternation) -> None:
    """Compact log files of both sides; a copy-on-write table has none."""
    table.load_ours()
    if table.is_merge_on_read:
        assert run_compaction(observe_compaction(table.location), InProcessTasks(2)) is not None


def they_compact(table: Alternation) -> None:
    """Let the judge compact log files of both sides, with delete blocks of ours."""
    table.load_ours()
    if table.is_merge_on_read:
        logs = table.turns.location.rglob(".*.log.*")
        assert any(SEALED in each.read_bytes() for each in logs)
    before = set(actions(table))
    table.load_theirs(**(COMPACT if table.is_merge_on_read else {}))
    made = [action for time, action in actions(table).items() if time not in before]
    assert (Action.DELTACOMMIT in made) == table.is_merge_on_read
    assert Action.COMMIT in made


def we_roll_back(table: Alternation) -> None:
    """Roll back a load of the judge's."""
    table.load_ours()
    known = dict(table.turns.rows)
    table.upsert_theirs()
    run_undo(plan_rollback(table.location), Action.ROLLBACK)
    table.turns.rows = known


def they_roll_back(table: Alternation) -> None:
    """Let the judge roll back a load of ours."""
    table.load_theirs()
    known = dict(table.turns.rows)
    table.upsert_ours()
    options = {**printed_options(table.turns.location), **KEEP_VERSION_6}
    newest = table.newest
    assert table.judge.ask("roll_back", location=table.location, instant=newest, options=options)
    assert newest not in actions(table)
    table.turns.rows = known


def they_restore(table: Alternation) -> None:
    """Let the judge go back to a savepoint of ours, over loads of both."""
    table.load_ours()
    known = dict(table.turns.rows)
    savepoint = create_savepoint(table.location).instant
    table.upsert_ours()
    table.upsert_theirs()
    call(table.judge, table.turns.location, "rollback_to_savepoint", instant_time=savepoint)
    table.turns.rows = known


def we_restore(table: Alternation) -> None:
    """Go back to a savepoint of the judge's, over loads of both."""
    table.load_theirs()
    known = dict(table.turns.rows)
    savepoint = table.newest
    call(table.judge, table.turns.location, "create_savepoint", commit_time=savepoint)
    table.upsert_ours()
    table.upsert_theirs()
    plan = plan_restore(table.location, savepoint)
    assert plan.savepoint == savepoint
    run_undo(plan, Action.RESTORE)
    table.turns.rows = known


def we_cluster_and_clean(table: Alternation) -> None:
    """Cluster files of both sides, and clean up to the savepoints of both."""
    table.load_ours()
    plan = observe_clustering(table.location, ClusterRequest(by=("v", "id")))
    assert run_clustering(plan, InProcessTasks(2)) is not None
    assert run_clean(observe_clean(table.location, CleanPolicy(keep_commits=1))) is not None


def they_cluster_and_clean(table: Alternation) -> None:
    """Let the judge do the same over clustered files of ours."""
    before = set(actions(table))
    table.load_theirs(**CLUSTER, **CLEAN)
    made = [action for time, action in actions(table).items() if time not in before]
    assert Action.REPLACECOMMIT in made
    assert Action.CLEAN in made


def we_archive(table: Alternation) -> None:
    """Release the savepoint of each side by the other one, then clean and archive."""
    ours, theirs = savepoints(load_timeline(open_storage(table.location)))
    call(table.judge, table.turns.location, "delete_savepoint", instant_time=ours)
    delete_savepoint(table.location, theirs)
    table.load_ours()
    table.turns.load(WriteOperation.UPSERT, table.turns.some(range(12, 18)))
    if table.is_merge_on_read:
        assert run_compaction(observe_compaction(table.location), InProcessTasks(2)) is not None
    assert run_clean(observe_clean(table.location, CleanPolicy(keep_commits=1))) is not None
    plan = observe_archival(table.location, LIMITS)
    done = run_archival(plan)
    assert done is not None
    assert done.commits > 0
    listed = shown(table.judge, table.turns.location)
    gone = [each.requested_time for each in plan.instants if each.action in DATA_ACTIONS]
    assert [time for time in gone if time not in listed] == []


def they_archive(table: Alternation) -> None:
    """Let the judge clean and archive commits of both sides, until it archives ours."""
    before = {time for time, action in actions(table).items() if action is not Action.CLEAN}
    for _ in range(2):
        table.load_theirs(**ARCHIVE, **(COMPACT if table.is_merge_on_read else {}))
    assert before - set(actions(table)), "the judge has not archived"


ROUNDS: tuple[tuple[Callable[[Alternation], None], Callable[[Alternation], None]], ...] = (
    (we_compact, they_compact),
    (we_roll_back, they_roll_back),
    (they_restore, we_restore),
    (we_cluster_and_clean, they_cluster_and_clean),
    (we_archive, they_archive),
)
SAMPLE = {("1.2.0", TableType.MERGE_ON_READ, True)}


def cases() -> list[object]:
    """Return (release, table type, adopted or not); all but the sample have the marker `full`."""
    every = [
        (release, kind, adopts)
        for release in RELEASES
        for kind in TableType
        for adopts in (True, False)
    ]
    return [
        pytest.param(
            *case,
            id=f"{case[0]}-{case[1]}-{'adopted' if case[2] else 'loaded'}",
            marks=() if case in SAMPLE else pytest.mark.full,
        )
        for case in every
    ]


@pytest.mark.parametrize(("judge", "kind", "adopts"), cases(), indirect=["judge"])
def test_both_sides_alternate_for_five_rounds(
    judge: Judge, kind: TableType, tmp_path: Path, *, adopts: bool
) -> None:
    """Every service of either side leaves a table that the other one reads, lists and writes on."""
    table = Alternation.on(judge, tmp_path, kind, adopts=adopts)
    table.check()
    for ours, theirs in ROUNDS:
        ours(table)
        table.check()
        theirs(table)
        table.check()
