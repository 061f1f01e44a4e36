"""Planning a clean from the timeline finds what a listing finds, and keeps what was promised."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from random import Random
from uuid import uuid4

import pytest

from framework.engine.services.clean import audit_names, observe_clean, run_clean
from framework.errors import CorruptFileError
from framework.hudi.filegroup.group import FileGroup
from framework.hudi.filegroup.slices import FileGroupId, FileSlice
from framework.hudi.storage.memory import MemoryStorage
from framework.hudi.storage.port import Entry
from framework.hudi.table.layout import HOODIE, PROPERTIES, name_of
from framework.hudi.timeline.action_metadata import read_savepoint
from framework.hudi.timeline.clock import ManualClock
from framework.hudi.timeline.instant import DATA_ACTIONS, Action
from framework.hudi.timeline.timeline import Timeline, load_timeline
from framework.hudi.view.facts import TableFacts, read_facts
from framework.hudi.view.incremental import IncrementalView
from framework.hudi.view.listing_view import ListingView
from framework.hudi.view.port import FileSystemView
from framework.hudi.view.stores.port import MemoryStore
from framework.plan.services.clean import CleanPlan, CleanPolicy, KnownFile
from tests.support.storage_suite import put
from tests.support.timeline_metadata import clean_bytes
from tests.support.view_services import SERVICES
from tests.support.view_table import Deed, ViewedTable, Write
from tests.support.view_writes import WRITES

SAVEPOINT = Action.SAVEPOINT
Held = Mapping[str, frozenset[str]]
FIRST_MS = 1_767_225_600_000
PROPERTIES_TEXT = b"""hoodie.table.name=t
hoodie.table.version=6
hoodie.table.type=MERGE_ON_READ
hoodie.table.timeline.timezone=UTC
"""
ACTS = WRITES | {
    name: SERVICES[name]
    for name in (
        "roll back failed",
        "roll back completed",
        "roll back compaction",
        "savepoint",
        "drop savepoint",
        "restore",
    )
}
OFTEN = {"commit": 8, "deltacommit": 10, "finish": 12, "begin": 2, "roll back failed": 6}
FINISHING = (
    "finish",
    "finish compaction",
    "finish log compaction",
    "finish clustering",
    "roll back failed",
)


class Counted(MemoryStorage):
    """A storage that counts listings of folders outside `.hoodie`."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.listed = 0

    def list(self, folder: str) -> Iterator[Entry]:
        """List, and count."""
        self.listed += folder.partition("/")[0] != HOODIE
        return super().list(folder)


@dataclass
class Life:
    """A random life of a table, with cleans now and then."""

    seed: int
    rng: Random = field(init=False)
    storage: Counted = field(init=False)
    table: ViewedTable = field(init=False)
    cleans: int = 0
    compared: int = 0

    def __post_init__(self) -> None:
        self.rng = Random(self.seed)
        self.storage = Counted(uuid4().hex)
        self.table = ViewedTable(self.storage, self.rng)
        put(self.storage, PROPERTIES, PROPERTIES_TEXT)
        if self.rng.random() < 0.3:
            self.table.complete(self.table.adopt())
        self.view = IncrementalView(self.storage, MemoryStore())

    def play(self) -> None:
        """Let things happen; compare plans, and clean."""
        for _ in range(self.rng.randint(3, 6)):
            for _ in range(self.rng.randint(1, 12)):
                self._act()
            self._compare(self._plan())
            if self.rng.random() < 0.8:
                self._finish_all()
                self._clean(self._plan())
        self.storage.forget()

    def _act(self) -> None:
        names = list(ACTS)
        self.table.seen |= self.table.savepoints
        while not ACTS[self.rng.choices(names, [OFTEN.get(each, 1.5) for each in names])[0]](
            self.table
        ):
            pass

    def _finish_all(self) -> None:
        while self.table.pending:
            ACTS[self.rng.choice(FINISHING)](self.table)

    def _plan(self) -> CleanPlan:
        """Plan by a random policy; no folder is listed."""
        kind = self.rng.choice(("keep_commits", "keep_versions"))
        policy = CleanPolicy(**{kind: self.rng.randint(1, 4)})
        before = self.storage.listed
        plan = observe_clean("", policy, clock=self._clock(), storage=self.storage)
        assert self.storage.listed == before
        return plan

    def _clock(self) -> ManualClock:
        """Return a clock at a time after all others."""
        return ManualClock(FIRST_MS + int(self.table.next_time()[-9:]))

    def _compare(self, plan: CleanPlan) -> None:
        """The names on disk make the same files due, and perhaps some that no instant names."""
        if self.table.pending or not (plan.earliest or plan.policy.keep_versions):
            return
        timeline = load_timeline(self.storage)
        facts = read_facts(self.storage, timeline)
        listing, held = ListingView(self.storage, timeline), held_names(self.storage, timeline)
        due = {
            path
            for partition in list(listing.partitions())
            for group in listing.groups(partition)
            for path in superseded(group, plan, facts, held)
        }
        mine = {each.path for each in plan.files}
        assert mine == {path for path in due if self._is_true(path)}
        self.compared += bool(mine)

    def _is_true(self, path: str) -> bool:
        partition, _, name = path.rpartition("/")
        return name in self.table.truth.get(partition, {})

    def _clean(self, plan: CleanPlan) -> None:
        """Clean, and compare every state that was promised, and the view that is kept."""
        self._compare(plan)
        timeline = load_timeline(self.storage)
        moments = promised(plan, timeline, self.table.savepoints)
        before = {each: self._state(timeline, each) for each in moments}
        done = run_clean(plan, self._clock(), self.storage)
        if done is None:
            assert not plan.files
            return
        self.table.times.append(done.instant)
        self.table.services[Action.CLEAN].append(done.instant)
        gone = {
            partition: [path.rpartition("/")[2] for path in paths]
            for partition, paths in plan.by_partition.items()
        }
        self.table.happened(Deed(gone=gone))
        self.cleans += 1
        after = load_timeline(self.storage)
        assert {each: self._state(after, each) for each in moments} == before
        self._follow(after)

    def _state(self, timeline: Timeline, moment: str) -> dict[str, list[FileSlice]]:
        """Return the slices of the table as of a moment."""
        view = ListingView(self.storage, timeline.as_of(moment))
        return {each: list(view.latest_slices(each)) for each in view.partitions()}

    def _follow(self, timeline: Timeline) -> None:
        """The view that follows the timeline shows what a listing shows."""
        self.view.sync()
        listing = ListingView(self.storage, timeline)
        for each in list(listing.partitions()):
            assert self._shown(self.view, each) == self._shown(listing, each)

    def _shown(self, view: FileSystemView, partition: str) -> list[tuple[str, str, set[str]]]:
        """Return the latest slices with their log files."""
        return [
            (
                each.group.file_id,
                each.base_instant,
                {log.path for log in each.logs if self._is_true(log.path)},
            )
            for each in view.latest_slices(partition)
        ]


def superseded(group: FileGroup, plan: CleanPlan, facts: TableFacts, held: Held) -> list[str]:
    """Return the paths of a group that the policy lets go, by the rules of the guide."""
    slices: dict[str, list[str]] = defaultdict(list)
    for base in group.bases:
        slices[base.name.instant].append(base.path)
    for log in group.logs:
        slices[log.name.base_instant].append(log.path)
    times = [each for each in sorted(slices) if facts.timeline.is_completed(each)]
    replaced = facts.replaced_at(*group.group)
    if replaced is not None and (plan.policy.keep_versions or replaced < plan.earliest):
        old = times
    elif plan.policy.keep_versions:
        old = times[: -plan.policy.keep_versions]
    else:
        old = [each for each in times if each < plan.earliest][:-1]
    kept = held.get(group.group.partition_path, frozenset())
    points = [
        max((time for time in times if time <= point), default="")
        for point in (e.requested_time for e in facts.timeline.completed if e.action is SAVEPOINT)
        if replaced is None or replaced > point
    ]
    return [
        path
        for each in old
        if each not in points and not any(name_of(path) in kept for path in slices[each])
        for path in slices[each]
    ]


def held_names(storage: MemoryStorage, timeline: Timeline) -> Held:
    """Return the names of the files under a savepoint by partition."""
    found: dict[str, frozenset[str]] = {}
    for each in timeline.completed:
        if each.action is SAVEPOINT:
            for partition, names in read_savepoint(storage, each.path).items():
                found[partition] = found.get(partition, frozenset()) | names
    return found


def promised(plan: CleanPlan, timeline: Timeline, savepoints: set[str]) -> list[str]:
    """Return the moments whose states a clean keeps: the one before the earliest is among them."""
    data = [each.requested_time for each in timeline.completed if each.action in DATA_ACTIONS]
    if plan.policy.keep_versions:
        return [*data[-1:], *savepoints]
    if not plan.earliest:
        return data
    return [*data[max(data.index(plan.earliest) - 1, 0) :], *savepoints]


@pytest.mark.parametrize(
    "seeds",
    [
        range(40),
        pytest.param(range(40, 120), marks=pytest.mark.long),
        pytest.param(range(120, 300), marks=pytest.mark.full),
    ],
    ids=["few", "more", "many"],
)
def test_plans_from_the_timeline_equal_plans_from_a_listing(seeds: range) -> None:
    """Over random lives with pending writes, compactions, rollbacks, restores and savepoints."""
    cleans = compared = 0
    for seed in seeds:
        life = Life(seed)
        try:
            life.play()
        except BaseException as error:
            error.add_note(f"seed {seed}")
            raise
        cleans += life.cleans
        compared += life.compared
    assert cleans > 10
    assert compared > 20


@pytest.mark.parametrize("policy", [CleanPolicy(keep_commits=1), CleanPolicy(keep_versions=1)])
def test_replaced_groups_of_archived_commits_are_cleaned_by_one_listing(
    policy: CleanPolicy,
) -> None:
    """The commit that replaced them names no file, and they would be visible without it."""
    storage = Counted(uuid4().hex)
    put(storage, PROPERTIES, PROPERTIES_TEXT)
    table = ViewedTable(storage, Random(1))
    table.paths = ("a", "b")
    old = Write(time=table.next_time(), action=Action.COMMIT)
    table.write_file(old, "a", table.new_base(old.time, "old"))
    table.complete(old)
    fresh = Write(time=table.next_time(), action=Action.COMMIT)
    table.write_file(fresh, "b", table.new_base(fresh.time, "fresh"))
    table.complete(fresh)
    replacing = Write(time=table.next_time(), action=Action.REPLACECOMMIT, replaced={"a": ["old"]})
    table.write_file(replacing, "a", table.new_base(replacing.time, "new"))
    table.complete(replacing)
    last = Write(time=table.next_time(), action=Action.COMMIT)
    table.write_file(last, "b", table.new_base(last.time, "last"))
    table.complete(last)
    clean = table.next_time()
    table.serve(Action.CLEAN, clean, clean_bytes(clean, {}), Deed())
    table.remove(old.time, Action.COMMIT)
    clock = ManualClock(FIRST_MS + int(table.next_time()[-9:]))
    plan = observe_clean("", policy, clock=clock, storage=storage)
    assert [each.path for each in plan.files] == [f"a/{name}" for name in old.files["a"]]
    assert plan.listed == ("a",)
    assert run_clean(plan, clock, storage) is not None
    again = observe_clean("", policy, clock=clock, storage=storage)
    assert (again.files, again.listed) == ((), ())
    storage.forget()


def test_a_clean_of_a_file_that_a_retained_state_needs_is_refused() -> None:
    """The names on disk show it, whatever the plan was made from; nothing is deleted."""
    storage = Counted(uuid4().hex)
    put(storage, PROPERTIES, PROPERTIES_TEXT)
    table = ViewedTable(storage, Random(1))
    table.paths = ("a",)
    writes = [Write(time=table.next_time(), action=Action.COMMIT) for _ in range(3)]
    for each in writes:
        table.write_file(each, "a", table.new_base(each.time, "g"))
        table.complete(each)
    timeline = load_timeline(storage)
    plan = observe_clean("", CleanPolicy(keep_commits=1), storage=storage)
    audit_names(storage, timeline, plan)
    for each in writes[1:]:
        (name,) = each.files["a"]
        wrong = replace(
            plan, files=(KnownFile(FileGroupId("a", "g"), each.time, f"a/{name}"), *plan.files)
        )
        with pytest.raises(CorruptFileError) as refused:
            audit_names(storage, timeline, wrong)
        assert refused.value.condition == "audit/file-needed"
    stray = replace(plan, files=(KnownFile(FileGroupId("a", "g"), "1", ".hoodie/x"),))
    with pytest.raises(CorruptFileError):
        audit_names(storage, timeline, stray)
    storage.forget()
