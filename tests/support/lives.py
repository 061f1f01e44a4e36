"""Random lives of tables: what happens in them, how often, and the view that is kept meanwhile."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any
from uuid import uuid4

import pyarrow as pa
import pyarrow.parquet as pq

from framework.engine.tasks import Tasks
from framework.hudi.storage.locations import open_storage
from framework.hudi.table.layout import BOOTSTRAP_INSTANT, parent_of
from framework.hudi.timeline.clock import ManualClock
from tests.support.life_deaths import die_and_recover
from tests.support.life_follower import Sightings
from tests.support.life_model import Life
from tests.support.life_services import SERVICES, load_rows, load_run_again
from tests.support.load_model import KEY, Setting, every_setting
from tests.support.writing import Lake, run_spec

__all__ = ["ACTIONS", "Lives"]

ACTIONS: Mapping[str, Callable[[Life, Random], bool]] = {
    "load": load_rows,
    "load an undone run again": load_run_again,
    "die and recover": die_and_recover,
    **SERVICES,
}
_OFTEN = {
    "load": 14,
    "compact": 2,
    "materialize": 4,
    "restore": 2.5,
    "roll back": 1.5,
    "maintain shortly": 0.5,
    "schedule": 4,
    "execute": 2.5,
    "retry": 2.5,
    "savepoint": 1.5,
    "restore to savepoint": 2,
    "drop": 0.3,
    "die and recover": 1.5,
    "fsck": 0.4,
    "load a published run": 0.4,
    "maintain by default": 0.4,
}
_WEIGHTS = [_OFTEN.get(name, 1) for name in ACTIONS]
_NAMES = list(ACTIONS)
_WITHOUT_TABLE = {"load", "load an undone run again"}
_TRIES = 4
_LOADS = 30
_ADOPTED = 0.4
_MS_PER_HOUR = 3_600_000
_MS_PER_MINUTE = 60_000


@dataclass(kw_only=True)
class Lives:
    """Shared state of many lives.

    Attributes:
        folder: for inputs, and tables on disk.
        places: where tables and adopted sources are, "" for memory and the folder.
        clock: the time of all lives; None gives each its own.
        length: actions of a life.
        watch: called after each action with the life and the action's name.
        tasks: the backend of loads.
        sightings: of the views that follow the tables.
        done: number of times each action was done.
        refusals: number of times undoing or holding was refused, by condition.
    """

    folder: Path
    places: str = ""
    clock: ManualClock | None = None
    length: int = 14
    watch: Callable[[Life, str], None] = lambda _life, _name: None
    tasks: Tasks | None = None
    sightings: Sightings = field(default_factory=Sightings)
    done: Counter[str] = field(default_factory=Counter)
    refusals: Counter[str] = field(default_factory=Counter)

    def live(self, seed: int) -> None:
        """Play one life, of any kind of table.

        Raises:
            AssertionError: the table is wrong; it names the seed.
        """
        rng = Random(seed)
        setting = rng.choice(every_setting())
        adopts = not setting.automatic and rng.random() < _ADOPTED
        self._live(seed, setting, lambda life, trace: self._act(life, rng, trace), adopts=adopts)

    def live_through(self, seed: int, setting: Setting, names: Sequence[str]) -> None:
        """Play a life in which each of these actions is done, in this order, loads in between.

        It begins with a bootstrap if `materialize` is among them.
        """
        rng, left = Random(seed), iter(names)

        def act(life: Life, trace: list[str]) -> None:
            self._insist(next(left), life, rng, trace)

        adopts = "materialize" in names
        self._live(seed, setting, act, adopts=adopts, length=len(names))

    def _live(
        self,
        seed: int,
        setting: Setting,
        act: Callable[[Life, list[str]], None],
        *,
        adopts: bool,
        length: int | None = None,
    ) -> None:
        """Let things happen, and compare after each."""
        folder = self.folder / f"{setting}-{seed}"
        folder.mkdir()
        at = "" if adopts or self.tasks else f"memory://life-{uuid4().hex}"
        if self.places:
            at = f"{self.places}/{setting}-{seed}/table"
        life = Life.of(setting, folder, at, self.clock)
        life.player.tasks = self.tasks
        trace = [str(setting)]
        rng = Random(seed)
        try:
            with closing(self.sightings.follow(life, rng)) as follower:
                if adopts:
                    _adopt(life, rng)
                    self._note(life, "adopt", trace)
                    follower.check()
                for _ in range(length or self.length):
                    life.clock.advance(rng.randint(1, 40) * _MS_PER_MINUTE)
                    act(life, trace)
                    follower.check()
                life.check_past()
                if life.is_there:
                    life.check_whole()
        except BaseException as error:
            error.add_note(f"seed {seed}: {', '.join(trace)}")
            raise
        self.refusals += life.refusals

    def _act(self, life: Life, rng: Random, trace: list[str]) -> None:
        """Do one action that can be done; of those that cannot, try a few."""
        for _ in range(_TRIES):
            (name,) = rng.choices(_NAMES, _WEIGHTS)
            if self._try(name, life, rng, trace):
                return

    def _insist(self, name: str, life: Life, rng: Random, trace: list[str]) -> None:
        """Load until an action can be done, and do it."""
        for _ in range(_LOADS):
            if self._try(name, life, rng, trace):
                return
            self._try("load", life, rng, trace)
            life.clock.advance(_MS_PER_HOUR)
        raise AssertionError(f"'{name}' never happened")

    def _try(self, name: str, life: Life, rng: Random, trace: list[str]) -> bool:
        """Try an action, and compare; return whether it happened."""
        if not life.is_there and name not in _WITHOUT_TABLE:
            return False
        trace.append(f"({name})")
        happened = ACTIONS[name](life, rng)
        life.check()
        if happened:
            trace.pop()
            self._note(life, name, trace)
        return happened

    def _note(self, life: Life, name: str, trace: list[str]) -> None:
        trace.append(name)
        self.done[name] += 1
        self.watch(life, name)


def _adopt(life: Life, rng: Random) -> None:
    """Begin with a bootstrap of a few rows in skeletons."""
    setting, lake = life.player.setting, life.player.lake
    rows = [
        {"id": number, "day": rng.choice("ab") if setting.partitioned else None, "ts": 1, "v": "s"}
        for number in range(rng.randint(1, 5))
    ]
    for day in sorted({str(row["day"]) for row in rows}):
        part = [row for row in rows if str(row["day"]) == day]
        _write(_source(lake), setting, day, part)
    run_spec(_document(setting, _source(lake), lake.location), lake.folder)
    for row in rows:
        player = life.player
        player.rows[player.key(row, "")] = {**row, KEY: None}, BOOTSTRAP_INSTANT
    life.add(BOOTSTRAP_INSTANT)
    life.check()


def _source(lake: Lake) -> str:
    """Return where the source is: beside a table that is not in memory or in the folder."""
    return f"{parent_of(lake.at) or lake.folder}/source"


def _write(source: str, setting: Setting, day: str, rows: list[dict[str, Any]]) -> None:
    """Write the rows of a day."""
    columns: dict[str, Any] = {
        "id": pa.array([row["id"] for row in rows], pa.int64()),
        "ts": pa.array([row["ts"] for row in rows], pa.int64()),
        "v": [row["v"] for row in rows],
    }
    if not setting.partitioned:
        columns["day"] = pa.array([None] * len(rows), pa.string())
    folder = f"day={day}/" if setting.partitioned else ""
    with open_storage(source).create(f"{folder}a.parquet") as out:
        pq.write_table(pa.table(columns), out)


def _document(setting: Setting, source: str, location: str) -> dict[str, Any]:
    """Return the spec of the bootstrap."""
    return {
        "version": 1,
        "table": {
            "name": "a.loaded",
            "location": location,
            "type": setting.kind.value,
            **({"partition_by": {"day": "string"}} if setting.partitioned else {}),
            "record_key": {"columns": ["id"], "unique_within": setting.scope.value},
            "ordering": {"columns": ["ts"]},
        },
        "bootstrap": {
            "path": source,
            "layout": "hive" if setting.partitioned else "none",
            "mode": "metadata_only",
        },
        "maintenance": {"enabled": False},
    }
