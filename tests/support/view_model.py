"""Random lives of a table beside a view that is kept, and what the view must answer.

The view is to answer as a full listing does over the files of completed instants, and over those
that were there, of whatever instant, when the view itself listed the partition.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from uuid import uuid4

from framework.hudi.bootstrap.index import BootstrapIndex
from framework.hudi.filegroup.slices import BaseFileName, LogFileName
from framework.hudi.storage.memory import MemoryStorage
from framework.hudi.table.layout import BOOTSTRAP_INSTANT
from framework.hudi.timeline.instant import DATA_ACTIONS
from framework.hudi.timeline.timeline import load_timeline
from framework.hudi.view.checkpoint import Refusal, reopen, write_checkpoint
from framework.hudi.view.facts import TableFacts
from framework.hudi.view.incremental import IncrementalView
from framework.hudi.view.listing_view import ListingView, partition_order
from framework.hudi.view.port import Query, Selection
from framework.hudi.view.selection import answer
from framework.hudi.view.stores.port import GroupStore, MemoryStore
from tests.support.view_faults import FAULTS
from tests.support.view_races import RACES
from tests.support.view_services import SERVICES
from tests.support.view_table import Files, ViewedTable, parsed
from tests.support.view_watching import CompletedStorage, Listed, WatchedStorage, WatchedStore
from tests.support.view_writes import WRITES

__all__ = ["ACTIONS", "Lab", "Play"]

ACTIONS: Mapping[str, Callable[[ViewedTable], bool]] = WRITES | SERVICES | RACES | FAULTS
_OFTEN = {
    "commit": 6,
    "deltacommit": 12,
    "begin": 5,
    "finish": 8,
    "finish compaction": 8,
    "finish log compaction": 8,
    "finish clustering": 8,
    "clean": 6,
    "archive": 3,
    "archive services": 6,
    "restore": 6,
    "index": 1,
    "abort": 1,
    "unschedule": 1.5,
    "corrupt rollback": 0.5,
    "stub sizes": 1,
}
_SELDOM = RACES | FAULTS
_WEIGHTS = [_OFTEN.get(name, 0.2 if name in _SELDOM else 3) for name in ACTIONS]
_NAMES = list(ACTIONS)


@dataclass(kw_only=True)
class Lab:
    """Shared state of many plays.

    Attributes:
        make_store: makes the store of a view.
        forgets: whether the store may evict partitions.
        checkpoint: where views are written to, and opened from at random moments; None for never.
        done: number of times each action was done.
        plays: number of plays.
        reopened: number of times a view continued from a checkpoint.
        disturbed: plays in which a view evicted something.
    """

    make_store: Callable[[], GroupStore] = MemoryStore
    forgets: bool = False
    checkpoint: Path | None = None
    done: Counter[str] = field(default_factory=Counter)
    plays: int = 0
    reopened: int = 0
    disturbed: int = 0

    def play(self, seed: int) -> None:
        """Play one sequence of actions.

        Raises:
            AssertionError: the view is wrong; it names the seed.
        """
        play = Play(seed, self)
        try:
            play.run()
        except BaseException as error:
            error.add_note(f"seed {seed}: {', '.join(play.trace)}")
            raise
        finally:
            play.close()
        self.plays += 1
        self.disturbed += play.was_disturbed


class Play:
    """One sequence of actions on a table, and a view that follows it."""

    def __init__(self, seed: int, lab: Lab) -> None:
        self.rng = Random(seed)
        self.lab = lab
        self.trace: list[str] = []
        self._storage = MemoryStorage(uuid4().hex)
        self._table = ViewedTable(self._storage, self.rng)
        self._table.look = self._look
        self._table.look_closely = self._look_closely
        self._watched = WatchedStorage(self._storage, self._looked)
        self._early: Files = {}
        self._reference: Listed | None = None
        self._applied = 0
        self._seen = 0
        self._loaded: set[str] = set()
        self._disturbed = 0
        self._is_syncing = False
        self._is_reopening = False
        self._saved: _Saved | None = None
        self.was_disturbed = False
        self.view = IncrementalView(self._watched, self._new_store())

    def run(self) -> None:
        """Let things happen, and compare now and then."""
        if self.rng.random() < 0.3:
            self._adopt()
        if self.rng.random() < 0.15:
            self._happen(25)
        for _ in range(self.rng.randint(2, 3)):
            self._happen(6)
            if self.rng.random() < 0.15:
                self._look()
            if self.rng.random() < 0.1:
                self._watched.meanwhile = self._act
                self._sync()
            if self.lab.checkpoint is not None and self.rng.random() < 0.5:
                self._reopen(self.lab.checkpoint)
            self._compare()
            if self.lab.checkpoint is not None and self.rng.random() < 0.7:
                self._save(self.lab.checkpoint)

    def _happen(self, most: int) -> None:
        """Let some things happen."""
        for _ in range(self.rng.randint(1, most)):
            self._act()

    def close(self) -> None:
        """Forget the table."""
        self.view.close()
        self._storage.forget()

    def _new_store(self) -> WatchedStore:
        """Return an empty store."""
        return WatchedStore(self.lab.make_store(), self._partition_loaded)

    def _save(self, path: Path) -> None:
        """Write the view to a file, and remember what it knew."""
        self.trace.append("save")
        write_checkpoint(self.view, path)
        early = {path: dict(names) for path, names in self._early.items()}
        self._saved = _Saved(early, self._applied, set(self._loaded), set(self._table.seen))

    def _reopen(self, path: Path) -> None:
        """Close the view, and continue with one opened from the checkpoint, however old."""
        saved, listed = self._saved, self._watched.listings
        if saved is None:
            return
        self.trace.append("reopen")
        self.view.close()
        self._is_reopening = True
        found = reopen(self._watched, self._new_store(), path)
        self._is_reopening = False
        assert self._watched.listings == listed, "a checkpoint was opened by listing"
        assert found.refusal in {None, Refusal.TOO_OLD}
        self.view, self._disturbed = found.view, 0
        self._early = {path: dict(names) for path, names in saved.early.items()}
        self._applied = self._seen = saved.applied
        self._loaded = set() if found.refusal else set(saved.loaded)
        self._table.seen = set(saved.seen)
        self.was_disturbed |= found.refusal is not None
        self.lab.reopened += found.refusal is None

    def _adopt(self) -> None:
        """Begin with a bootstrap, which the view may see unfinished."""
        write = self._table.adopt()
        self._look()
        self._table.complete(write)
        self._note("adopt")
        if self.rng.random() < 0.1:
            self._compare()
            ACTIONS["adopt again"](self._table)
            self._note("adopt again")

    def _act(self) -> None:
        """Do one action that can be done."""
        while True:
            (name,) = self.rng.choices(_NAMES, _WEIGHTS)
            if ACTIONS[name](self._table):
                self._note(name)
                return

    def _note(self, name: str) -> None:
        """Count an action; a checkpoint does not record that instants were held meanwhile."""
        if name == "drop savepoint":
            self._saved = None
        self.trace.append(name)
        self.lab.done[name] += 1

    def _look(self) -> None:
        """Let the view look, and perhaps ask it before, while things are half done."""
        if self._is_syncing:
            return
        if self.rng.random() < 0.5:
            self.trace.append("ask")
            self.view.select(self._query(Selection.LATEST))
        if self.rng.random() < 0.5:
            self.trace.append("sync")
            self._sync()

    def _look_closely(self) -> None:
        """Let the view list everything, and then look."""
        if self._is_syncing:
            return
        self.trace.append("look closely")
        self.view.forget()
        self.view.select(Query(selection=Selection.ALL))
        self._sync()

    def _sync(self) -> None:
        """Let the view sync; it may list no partition for it."""
        listed = self._watched.listings
        self._is_syncing = True
        self.view.sync()
        self._is_syncing = False
        assert self._watched.listings == listed, "a sync listed a partition"
        self._catch_up()

    def _catch_up(self) -> None:
        """Forget early sightings of files that instants have recorded since."""
        for deed in self._table.deeds[self._applied : self._seen]:
            for path in deed.dropped:
                self._early.pop(path, None)
            for path, names in deed.gone.items():
                for name in names:
                    self._early.get(path, {}).pop(name, None)
            for path, files in deed.added.items():
                for name in files:
                    self._record(path, name)
        self._applied = self._seen

    def _record(self, path: str, name: str) -> None:
        """Record a file of an instant; a log file that the view saw larger keeps that size."""
        early = self._early.get(path, {})
        is_log = isinstance(parsed(name), LogFileName)
        if not is_log or early.get(name, 0) <= self._table.truth.get(path, {}).get(name, 0):
            early.pop(name, None)

    def _looked(self) -> None:
        """The view listed the timeline."""
        if self._is_reopening:
            return
        self._seen = len(self._table.deeds)
        self._table.seen = self._table.savepoints | {each.time for each in self._table.pending}

    def _partition_loaded(self, path: str) -> None:
        """The view listed a partition: it knows what is there, if it counts."""
        if self._is_reopening:
            return
        self._catch_up()
        truth = self._table.truth.get(path, {})
        there = {each.name: each.size for each in self._storage.list(path) if not each.is_folder}
        self._reference = None
        self._early[path] = {
            name: size
            for name, size in there.items()
            if truth.get(name) != size and _counts(name, self.view.facts)
        }
        forgot = self.view.counts.rebuilt + self.view.counts.resets
        if forgot > self._disturbed:
            self._loaded.clear()
            self._disturbed = forgot
        if not self.lab.forgets:
            assert path not in self._loaded, f"{path!r} was listed again for no reason"
        self._loaded.add(path)

    def _compare(self) -> None:
        """Sync, and compare every kind of answer, each to a question at random."""
        self._sync()
        self._reference = None
        for selection in Selection:
            query = self._query(selection)
            found = self.view.select(query)
            self._reference = self._reference or self._listing()
            assert found == answer(query, self._reference), query
        self.was_disturbed |= self.view.counts.rebuilt + self.view.counts.resets > 0
        partitions = list(self.view.partitions())
        assert partitions == sorted(partitions, key=partition_order)
        with_files = {path for path, names in self._table.truth.items() if names}
        assert with_files <= set(partitions), f"partitions {partitions}"

    def _listing(self) -> Listed:
        """Return a new listing of what counts."""
        files = {path: dict(names) for path, names in self._table.truth.items()}
        for path, names in self._early.items():
            there = {name: n for name, n in names.items() if self._table.size_on_disk(path, name)}
            files.setdefault(path, {}).update(there)
        storage = CompletedStorage(self._storage, files)
        index = BootstrapIndex.open(self._storage) if _has_skeletons(files) else None
        return Listed(ListingView(storage, load_timeline(storage), index))

    def _query(self, selection: Selection) -> Query:
        """Return a question at random."""
        rng = self.rng
        times = ["0", *self._table.times, "9"]
        ids = [f"g{n}" for n in range(1, 12)]
        return Query(
            selection=selection,
            partition_path=rng.choice((None, None, *self._table.paths, "none")),
            file_ids=None if rng.random() < 0.7 else tuple(rng.sample(ids, rng.randint(0, 4))),
            instant=None if rng.random() < 0.3 else rng.choice(times),
            instants=frozenset(rng.sample(times, rng.randint(0, len(times)))),
            include_pending=rng.random() < 0.5,
        )


@dataclass(frozen=True)
class _Saved:
    """What a view knew when it was written to a file."""

    early: Files
    applied: int
    loaded: set[str]
    seen: set[str]


def _counts(name: str, facts: TableFacts) -> bool:
    """Return whether a view that lists a file keeps it: not if its instant will still record it."""
    known = parsed(name)
    if known is None or (isinstance(known, LogFileName) and known.is_cdc):
        return False
    time = known.instant if isinstance(known, BaseFileName) else known.base_instant
    if time > (facts.timeline.last_requested_time or ""):
        return False
    if isinstance(known, LogFileName) and time in facts.compacting:
        return True
    times = (each.requested_time for each in facts.timeline.pending if each.action in DATA_ACTIONS)
    return time not in times


def _has_skeletons(files: Files) -> bool:
    """Whether any file may be a skeleton."""
    return any(BOOTSTRAP_INSTANT in name for names in files.values() for name in names)
