"""Writes to a table that is there: what they publish, and what a kill at any step leaves."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from uuid import uuid4

import pytest

from framework.errors import FrameworkError
from framework.hudi.commit.pending import PendingKind, find_pending
from framework.hudi.commit.statuses import AuditedFiles, written_files
from framework.hudi.commit.transaction import Publication, begin, publish
from framework.hudi.storage.local import LocalStorage
from framework.hudi.storage.memory import MemoryStorage
from framework.hudi.storage.port import Storage
from framework.hudi.table.layout import BOOTSTRAP_INSTANT
from framework.hudi.timeline.clock import ManualClock
from framework.hudi.timeline.commit_body import read_commit, read_commit_body
from framework.hudi.timeline.commit_metadata import LogAppend, read_commit_head
from framework.hudi.timeline.instant import Action
from tests.support.fault_storage import FaultStorage, Killed
from tests.support.loads import (
    LOAD_TIME,
    LOADER,
    REPLACED,
    a_load,
    a_log,
    group_of,
    load,
    visible_changes,
)
from tests.support.storage_suite import put, tree
from tests.support.transactions import TTL_MS, a_transaction, bootstrap, recover

pytestmark = pytest.mark.long

ACTIONS = (Action.COMMIT, Action.DELTACOMMIT, Action.REPLACECOMMIT)


@pytest.fixture
def fresh() -> Iterator[Callable[[], MemoryStorage]]:
    """Return a maker of tables that were bootstrapped, all forgotten at the end."""
    made: list[MemoryStorage] = []
    first = MemoryStorage(uuid4().hex)
    bootstrap(a_transaction(first))
    begun = tree(first)

    def make() -> MemoryStorage:
        """Return a table."""
        made.append(MemoryStorage(uuid4().hex))
        for path, data in begun.items():
            put(made[-1], path, data)
        return made[-1]

    yield make
    for each in (first, *made):
        each.forget()


def test_load_says_of_each_file_what_it_is_to_its_group(
    fresh: Callable[[], MemoryStorage],
) -> None:
    """A new version, a log file, a new group, and a group of log files alone."""
    storage = fresh()
    instant = load(a_transaction(storage, a_load()))
    merged, logged, new, alone = read_commit(storage, instant.path)
    assert (merged.previous, merged.inserts, merged.updates) == (BOOTSTRAP_INSTANT, 1, 2)
    assert merged.log is None
    assert logged.log == LogAppend(version=1, base_file="b.parquet")
    assert (logged.previous, logged.inserts, logged.deletes) == (BOOTSTRAP_INSTANT, 0, 1)
    assert logged.path == f"p=1/{a_log(group_of(1))}"
    assert (new.previous, new.log, new.inserts) == (None, None, new.rows)
    assert (alone.previous, alone.log) == (None, LogAppend(version=1))
    assert read_commit_body(storage, instant.path).replaced == {}


def test_load_is_visible_with_its_log_files(fresh: Callable[[], MemoryStorage]) -> None:
    """Blocks count when the instant is completed, whatever the file's name says."""
    storage = fresh()
    before = visible_changes(storage)
    load(a_transaction(storage, a_load()))
    after = visible_changes(storage)
    assert after[f"logs of {group_of(1)}"] == [f"k{LOAD_TIME}"]
    assert after["logs of logs-only"] == [f"k{LOAD_TIME}"]
    assert after[f"p=1/{group_of(0)}_0-1-1_{LOAD_TIME}.parquet"] == b"more rows"
    assert len(after) == len(before) + 3


def test_load_that_replaces_hides_the_groups_that_it_names(
    fresh: Callable[[], MemoryStorage],
) -> None:
    """The replacecommit names them, also for partitions in which nothing was."""
    storage = fresh()
    instant = load(a_transaction(storage, a_load(action=Action.REPLACECOMMIT)))
    assert instant.path == f".hoodie/{LOAD_TIME}.replacecommit"
    replaced = read_commit_body(storage, instant.path).replaced
    found = {name: tuple(sorted(ids)) for name, ids in replaced.items()}
    assert found == {name: tuple(sorted(ids)) for name, ids in REPLACED.items()}
    in_first = [path for path in visible_changes(storage) if path.startswith("p=1/")]
    assert in_first == [f"p=1/new_0-1-1_{LOAD_TIME}.parquet"]


def test_load_that_drops_a_partition_writes_no_file(fresh: Callable[[], MemoryStorage]) -> None:
    """Nothing but the names of what goes."""
    storage = fresh()
    transaction = a_transaction(storage, a_load(action=Action.REPLACECOMMIT))
    begin(transaction)
    empty = AuditedFiles(written=written_files(()), proof={})
    publish(transaction, empty, Publication(replaced=REPLACED))
    assert not any(path.startswith("p=1/") for path in visible_changes(storage))


def test_publish_of_replaced_groups_by_another_action_is_refused(
    fresh: Callable[[], MemoryStorage],
) -> None:
    """Readers look for them in replacecommits only, so they would stay visible."""
    storage = fresh()
    transaction = a_transaction(storage, a_load())
    begin(transaction)
    empty = AuditedFiles(written=written_files(()), proof={})
    with pytest.raises(ValueError, match="replaces nothing"):
        publish(transaction, empty, Publication(replaced=REPLACED))
    assert storage.stat(transaction.intent.completed.path) is None


@pytest.mark.parametrize("gone", [(), ("replacecommit.inflight",)])
def test_dead_replacecommit_is_found_by_its_plan(
    fresh: Callable[[], MemoryStorage], gone: tuple[str, ...]
) -> None:
    """The requested file is Avro and says whose it is, as the inflight one does in JSON."""
    storage = fresh()
    intent = a_load(action=Action.REPLACECOMMIT)
    begin(a_transaction(storage, intent))
    for name in gone:
        storage.delete(f".hoodie/{LOAD_TIME}.{name}")
    pending = find_pending(storage)
    assert pending is not None
    assert (pending.kind, pending.write_id) == (PendingKind.DEAD_RUN, LOADER)
    assert pending.facts == {**intent.facts, "lakestrap.write_id": LOADER}
    assert pending.intent == intent
    head = read_commit_head(storage, intent.requested.path)
    assert (dict(head.extra), head.operation) == (pending.facts, "UNKNOWN")


def steps_of(storage: Storage, action: Action) -> int:
    """Return how many steps the load has."""
    counted = FaultStorage(storage)
    load(a_transaction(counted, a_load(action=action)))
    return counted.steps


def killed_at(storage: Storage, step: int, clock: ManualClock, action: Action) -> None:
    """Run the load and kill it at `step`."""
    faulty = FaultStorage(storage, kill_at=step)
    with pytest.raises(Killed):
        load(a_transaction(faulty, a_load(action=action), clock=clock))


@pytest.mark.parametrize("action", ACTIONS)
def test_load_killed_anywhere_leaves_the_old_or_the_new_table(
    fresh: Callable[[], MemoryStorage], action: Action
) -> None:
    """Readers see one or the other; recovery leaves no file that the table did not have."""
    whole = fresh()
    old, steps = tree(whole), steps_of(fresh(), action)
    seen = visible_changes(whole)
    load(a_transaction(whole, a_load(action=action)))
    new = visible_changes(whole)
    outcomes = set()
    for step in range(1, steps + 1):
        storage, clock = fresh(), ManualClock()
        killed_at(storage, step, clock, action)
        before = visible_changes(storage)
        assert before in (seen, new), step
        recover(storage, clock, "b" * 32)
        assert visible_changes(storage) == before, step
        assert find_pending(storage) is None, step
        assert tree(storage) == (tree(whole) if before == new else old), step
        assert storage.stat("p=3") is None or before == new, step
        outcomes.add(before == new)
        storage.forget()
    assert outcomes == {True, False}


@pytest.mark.long
def test_recovery_of_a_load_killed_anywhere_is_recovered_by_the_next(
    fresh: Callable[[], MemoryStorage],
) -> None:
    """Log files go before the markers that lead to them, so none is ever lost sight of."""
    whole = fresh()
    old, steps = tree(whole), steps_of(fresh(), Action.DELTACOMMIT)
    load(a_transaction(whole, a_load()))
    killed = 0
    for step in range(1, steps + 1, 3):
        second, alive = 0, False
        while not alive:
            second += 2
            storage, clock = fresh(), ManualClock()
            killed_at(storage, step, clock, Action.DELTACOMMIT)
            before = visible_changes(storage)
            alive = recovers(FaultStorage(storage, kill_at=second), clock)
            recover(storage, clock, "d" * 32)
            assert visible_changes(storage) == before, (step, second)
            expected = (tree(whole), old)
            assert tree(storage) in expected, (step, second)
            storage.forget()
            killed += not alive
    assert killed > 100


def recovers(storage: FaultStorage, clock: ManualClock) -> bool:
    """Recover, and return whether that survived."""
    try:
        recover(storage, clock, "b" * 32)
    except Killed:
        return False
    return True


@pytest.mark.parametrize("action", ACTIONS)
def test_load_on_disk_that_was_killed_is_undone_and_done_again(
    tmp_path: Path, action: Action
) -> None:
    """Real files behave as those in memory do."""
    storage = LocalStorage(str(tmp_path))
    bootstrap(a_transaction(storage))
    before = tree(storage)
    counted = FaultStorage(MemoryStorage(uuid4().hex))
    bootstrap(a_transaction(counted.inner))
    load(a_transaction(counted, a_load(action=action)))
    for step in range(10, counted.steps // 2, 5):
        clock = ManualClock()
        killed_at(storage, step, clock, action)
        recover(storage, clock, "b" * 32)
        assert tree(storage) == before, step
    load(a_transaction(storage, a_load(action=action)))
    assert visible_changes(storage) == visible_changes(counted.inner)


@pytest.mark.parametrize("action", ACTIONS)
def test_load_killed_anywhere_can_be_resumed(
    fresh: Callable[[], MemoryStorage], action: Action
) -> None:
    """The same intent continues after a kill anywhere before the commit, to the same table."""
    whole = fresh()
    load(a_transaction(whole, a_load(action=action)))
    resumed = 0
    for step in range(1, steps_of(fresh(), action) + 1):
        storage, clock = fresh(), ManualClock()
        killed_at(storage, step, clock, action)
        pending = find_pending(storage)
        if pending is None or not pending.can_resume or pending.intent is None:
            continue
        clock.advance(TTL_MS)
        load(a_transaction(storage, pending.intent, clock=clock))
        assert tree(storage) == tree(whole), step
        resumed += 1
        storage.forget()
    assert resumed > 10


def test_paused_load_that_was_recovered_publishes_nothing(
    fresh: Callable[[], MemoryStorage],
) -> None:
    """Before every single step another run takes over and rolls back, or forward."""
    whole = fresh()
    old, seen, steps = tree(whole), visible_changes(whole), steps_of(fresh(), Action.DELTACOMMIT)
    load(a_transaction(whole, a_load()))
    refused = 0
    for step in range(1, steps + 1):
        storage, clock = fresh(), ManualClock()

        def take_over(
            at: int, storage: MemoryStorage = storage, clock: ManualClock = clock, step: int = step
        ) -> None:
            """Recover while the writer is paused."""
            if at == step:
                recover(storage, clock, "b" * 32)

        faulty = FaultStorage(storage, hook=take_over)
        try:
            load(a_transaction(faulty, a_load(), clock=clock))
        except FrameworkError:
            refused += 1
        assert visible_changes(storage) in (seen, visible_changes(whole)), step
        recover(storage, clock, "c" * 32)
        assert tree(storage) in (old, tree(whole)), step
        storage.forget()
    assert refused > 20
