"""What a table's life is to leave: rows at each instant, and what undoing and reading may meet."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from framework.engine.fsck.table_check import check_table
from framework.engine.reading.table import open_table
from framework.engine.reading.views import LISTED, latest_slices
from framework.engine.services.savepoint import savepoints
from framework.engine.tasks import InProcessTasks
from framework.errors import FrameworkError
from framework.hudi.filegroup.slices import slice_of
from framework.hudi.storage.locations import open_storage
from framework.hudi.storage.port import Storage
from framework.hudi.table.layout import HOODIE, PROPERTIES, name_of
from framework.hudi.timeline.clock import ManualClock, SystemClock
from framework.hudi.timeline.instant import DATA_ACTIONS, Action
from framework.hudi.timeline.timeline import load_timeline
from framework.vocabulary import TableType
from tests.support.load_model import Player, Row, Setting, Version

__all__ = ["Life", "State", "refused"]

_PAST = frozenset({"read/archived", "read/cleaned", "read/before-table"})

Rows = dict[Any, tuple[Row, str]]


@dataclass(frozen=True, kw_only=True)
class State:
    """The table at a completed instant of data.

    Attributes:
        instant: its requested time.
        rows: what the table holds then.
        versions: the same as a reader sees it.
        files: paths of all files that a reader opens.
        run_ids: ids of runs that were published.
    """

    instant: str
    rows: Rows
    versions: frozenset[Version]
    files: frozenset[str]
    run_ids: frozenset[str]


@dataclass
class Life:
    """A table that loads and services work on, and what is expected of it.

    Attributes:
        player: loads into both.
        clock: the time of everything that happens.
        states: of the instants on the active timeline, oldest first.
        archived: of those that were archived.
        pending: for each scheduled compaction, the state that it was planned on.
        points: instants under a savepoint.
        bounds: instants before which a clean may have deleted slices.
        has_archive: whether there is an archive file.
        run_ids: ids of runs that are published and were not undone.
        used: ids of all runs.
        refusals: how often undoing or holding was refused, by condition.
    """

    player: Player
    clock: ManualClock
    states: list[State] = field(default_factory=list)
    archived: list[State] = field(default_factory=list)
    pending: dict[str, State] = field(default_factory=dict)
    points: set[str] = field(default_factory=set)
    bounds: list[str] = field(default_factory=list)
    has_archive: bool = False
    run_ids: frozenset[str] = frozenset()
    used: list[str] = field(default_factory=list)
    refusals: Counter[str] = field(default_factory=Counter)

    @classmethod
    def of(cls, setting: Setting, folder: Path, at: str, clock: ManualClock | None = None) -> Life:
        """Return the life of a table that is not there yet."""
        clock = clock or ManualClock(SystemClock().now_ms())
        return cls(player=Player(setting, setting.lake(folder, at), clock=clock), clock=clock)

    @property
    def location(self) -> str:
        """The table's."""
        return self.player.lake.location

    @property
    def storage(self) -> Storage:
        """The table's."""
        return open_storage(self.location)

    @property
    def is_there(self) -> bool:
        """Whether there is a table."""
        return bool(self.states)

    @property
    def merges(self) -> bool:
        """Whether it is merge-on-read."""
        return self.player.setting.kind is TableType.MERGE_ON_READ

    def files(self) -> frozenset[str]:
        """Return the data files that are there, whoever needs them."""
        return frozenset(path for path in _walk(self.storage, "") if slice_of(name_of(path)))

    def now(self, instant: str) -> State:
        """Return the table as it is, as the state at an instant."""
        return State(
            instant=instant,
            rows=dict(self.player.rows),
            versions=self.player.versions(),
            files=_files_of(open_table(self.location)),
            run_ids=self.run_ids,
        )

    def add(self, instant: str, planned: State | None = None) -> None:
        """Remember a completed instant; `planned` is the state of a compaction made earlier."""
        found = self.now(instant)
        if planned is not None:
            files = _files_of(open_table(self.location, instant))
            found = replace(planned, files=files)
        self.states = sorted([*self.states, found], key=lambda each: each.instant)

    def go_back(self, to: State | None) -> None:
        """Forget what is later than a state, None for everything."""
        if to is None:
            self.vanish()
            return
        self.states = [each for each in self.states if each.instant <= to.instant]
        self.player.rows = dict(to.rows)
        self.run_ids = to.run_ids

    def vanish(self) -> None:
        """Forget the table."""
        self.player.rows = {}
        self.states, self.archived, self.bounds = [], [], []
        self.pending, self.points = {}, set()
        self.run_ids, self.has_archive = frozenset(), False

    def why_not_undone(self, going: Iterable[State], to: State | None) -> set[str]:
        """Return the conditions by which undoing may be refused; empty if it has to be done."""
        times = [each.instant for each in going]
        found = set()
        if to is None and self.has_archive:
            found.add("rollback/archived")
        if any(each > min(times) for each in self.pending):
            found.add("rollback/compaction-pending")
        if self.points & set(times):
            found.add("rollback/savepointed")
        if to is not None and not to.files <= self.files():
            found.add("rollback/cleaned")
        return found

    def check(self) -> None:
        """Compare the timeline and the rows with what is expected."""
        timeline = load_timeline(self.storage)
        if not self.is_there:
            assert not timeline.instants
            assert self.storage.stat(PROPERTIES) is None
            return
        done = [e.requested_time for e in timeline.completed if e.action in DATA_ACTIONS]
        assert done == [each.instant for each in self.states]
        assert set(savepoints(timeline)) == self.points
        pending = {(each.requested_time, each.action) for each in timeline.pending}
        assert pending == {(each, Action.COMPACTION) for each in self.pending}
        kept = [each for each in self.states if each.instant in self.points]
        for each in (*kept, self.states[-1]):
            assert each.files <= self.files(), f"files of {each.instant} are gone"
        self.player.compare()

    def check_past(self) -> None:
        """Read every state that was, or see it refused where it was cleaned or archived."""
        oldest = max(self.bounds, default="")
        for each in (*self.archived, *self.states):
            lost = each in self.archived or each.instant < oldest
            try:
                found = self.player.in_process(each.instant)
            except FrameworkError as error:
                if error.condition not in _PAST or not lost or each.instant in self.points:
                    raise
            else:
                assert found == each.versions, f"as of {each.instant}"

    def check_whole(self) -> None:
        """The check of the table reports nothing."""
        report = check_table(self.location, InProcessTasks(1), deep=True, clock=self.clock)
        assert not report.findings, report.findings


def refused(conditions: set[str], attempt: Any) -> None:
    """An attempt is refused by one of these conditions."""
    with pytest.raises(FrameworkError) as error:
        attempt()
    assert error.value.condition in conditions, error.value


def _files_of(table: Any) -> frozenset[str]:
    """Return the paths of the files that a reader needs; not of log files that came later."""
    found = set()
    for each in latest_slices(table, LISTED, None):
        found |= {each.base.path} if each.base else set()
        found |= {log.path for log in each.logs if log.committed}
    return frozenset(found)


def _walk(storage: Storage, folder: str) -> Iterator[str]:
    """Yield the paths of the files of a table's partitions."""
    for entry in storage.list(folder):
        if not entry.is_folder:
            yield entry.path
        elif entry.path != HOODIE:
            yield from _walk(storage, entry.path)
