"""A service killed at its calls, the run that recovers it, and what both must leave."""

from __future__ import annotations

import random
import shutil
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import mkdtemp

from framework.hudi.storage.local import LocalStorage
from framework.hudi.timeline.instant import DATA_ACTIONS
from framework.hudi.timeline.timeline import load_timeline
from tests.crash.forks import Forks
from tests.crash.killing import Point
from tests.crash.service_oracles import (
    Rows,
    canonical,
    check_table_is_well,
    contents,
    has_table,
    rows_at,
)
from tests.crash.service_scenes import Service, Shape
from tests.support.orders import Shop

__all__ = ["Scene", "a_scene"]

_TRIES = 3


@dataclass(kw_only=True)
class Scene:
    """A table, a service that is killed on it, and the outcome of one without a kill.

    Attributes:
        words: the command of the service.
        before: what is on disk before.
        whole: `canonical` of what is on disk afterwards.
        seen: the rows that readers may find.
        final: rows after the service; None where there is no table.
        held: rows as of instants that stay readable.
        killed: the points whose kill was proved.
    """

    forks: Forks
    service: Service
    shop: Shop
    words: tuple[str, ...]
    copy: Path
    before: dict[str, bytes]
    source: dict[str, bytes]
    whole: list[str] = field(default_factory=list)
    seen: set[Rows] = field(default_factory=set)
    final: Rows | None = None
    held: dict[str, Rows] = field(default_factory=dict)
    killed: set[tuple[Point, ...]] = field(default_factory=set)

    @property
    def table(self) -> Path:
        """The table's folder."""
        return self.shop.location

    @property
    def recovery(self) -> tuple[str, ...]:
        """The words of the next run, which recovers from a killed one."""
        if self.service.recovery == "again":
            return self.words
        scratch = mkdtemp(dir=self.shop.folder)
        return "load", str(self.shop.folder / "load.pipeline.yml"), scratch

    def reset(self, copy: Path | None = None) -> None:
        """Put the table back as it was before, or as a copy of it is."""
        shutil.rmtree(self.table, ignore_errors=True)
        if (copy or self.copy).exists():
            shutil.copytree(copy or self.copy, self.table)

    def learn(self) -> None:
        """Run the service once to its end, and know from then on what it leaves."""
        before = rows_at(self.table)
        self.seen |= {before, *(rows_at(self.table, each) for each in self._instants())}
        times = self._instants()
        held = {time: rows_at(self.table, time) for time in times}
        assert self.forks.run(*self.words) == 0, self.forks.output
        assert contents(self.table) != self.before, "the service had nothing to do"
        if self.service.makes_again:
            assert not contents(self.table)
            assert self.forks.run(*self.recovery) == 0, self.forks.output
        self.whole = canonical(self.before, contents(self.table))
        if has_table(self.table):
            self.final = rows_at(self.table)
            assert _values(self.final) in {_values(each) for each in self.seen}
            self.seen.add(self.final)
            kept = set(self._instants()) & set(times)
            newest = sorted(kept)[-self.service.held :]
            self.held = {time: held[time] for time in newest}
        self.check_whole()

    def points(self) -> list[Point]:
        """Return every call of the service that changes something below the table's folder."""
        self.reset()
        return self.forks.calls(self.table, *self.words)

    def kill(self, point: Point) -> bool:
        """Kill the service at a point and check what the next run makes of it."""
        if not self._killed([], [point], self.words):
            return False
        self.recover((point,))
        return True

    def kill_recoveries(self, first: Point, most: int, draw: random.Random) -> int:
        """Kill the service, then the run that recovers from it, and some of those that follow it.

        Returns how many of its calls there were to choose from.
        """
        if not self._killed([], [first], self.words):
            return 0
        dead = self.shop.folder / "dead"
        shutil.rmtree(dead, ignore_errors=True)
        if self.table.exists():
            shutil.copytree(self.table, dead)
        found = self.forks.calls(self.table, *self.recovery)
        for second in draw.sample(found, min(most, len(found))):
            self.reset(dead)
            if self._killed([first], [second], self.recovery):
                third = draw.choice(found)
                self._killed([first, second], [third], self.recovery)
                self.recover((first, second, third))
        return len(found)

    def recover(self, points: Sequence[Point]) -> None:
        """Let the next run recover, and check that the table is as before, or as afterwards."""
        code = self.forks.run(*self.recovery)
        if self.service.makes_again:  # the first run may have found a table that was to go
            code = self.forks.run(*self.recovery)
        assert code == 0 or self.service.recovery == "again", (points, self.forks.output)
        there = contents(self.table)
        if there == self.before and self.service.recovery != "again":
            return
        names = canonical(self.before, there)
        if not self.service.is_atomic and names != self.whole:
            self.check_readers(points)
            assert self.forks.run(*self.words) == 0, self.forks.output
            names = canonical(self.before, contents(self.table))
        assert names == self.whole, (points, sorted(set(names) ^ set(self.whole)))
        self.check_whole()

    def check_whole(self) -> None:
        """Check the table after the service, and that the same service changes nothing more."""
        assert contents(self.shop.folder / "source") == self.source
        if self.final is None:
            assert not self.table.exists() or not contents(self.table)
            return
        rows = rows_at(self.table)
        assert rows == self.final or _values(rows) == self._made_again
        for time, rows in self.held.items():
            assert rows_at(self.table, time) == rows, time
        there = contents(self.table)
        check_table_is_well(self.table)
        if not self.service.makes_again:
            for path, data in there.items():
                is_same = self.before.get(path, data) == data
                assert is_same or path.endswith(self.service.rewrites or " "), path
            self.forks.run(*self.words)
            assert contents(self.table) == there

    def check_readers(self, points: Sequence[Point]) -> None:
        """Readers find the rows of one of the table's instants, or no table where it goes."""
        assert contents(self.shop.folder / "source") == self.source
        if has_table(self.table) and self._instants():
            rows = rows_at(self.table)
            assert rows in self.seen or _values(rows) == self._made_again, points
        else:
            assert self.final is None or self.service.makes_again, points

    def _killed(self, earlier: list[Point], now: list[Point], words: tuple[str, ...]) -> bool:
        """Kill a run at a point, and check what readers find; whether the kill was proved."""
        for _ in range(_TRIES if not earlier else 1):
            if not earlier:
                self.reset()
            if self.forks.kill(now[0], self.table, *words):
                self.killed.add((*earlier, *now))
                self.check_readers((*earlier, *now))
                return True
        return False

    @property
    def _made_again(self) -> Rows | None:
        """The values of a table that the recovering run makes again, with new commit times."""
        return _values(self.final) if self.service.makes_again and self.final else None

    def _instants(self) -> list[str]:
        """Return the completed instants of data that can be read."""
        done = load_timeline(LocalStorage(str(self.table))).completed
        return [each.requested_time for each in done if each.action in DATA_ACTIONS]


def _values(rows: Rows) -> Rows:
    """Return rows without their meta columns."""
    return tuple(row[:3] for row in rows)


def a_scene(forks: Forks, service: Service, shape: Shape, folder: Path) -> Scene:
    """Make a table in a shape, and a scene that has learned what the service does with it."""
    folder.mkdir()
    for name in ("source", "landing"):
        (folder / name).mkdir()
    shop = Shop(folder, shape.kind, adopts=shape.adopts)
    words = service.build(shop)
    copy = folder / "before"
    shutil.copytree(shop.location, copy)
    scene = Scene(
        forks=forks,
        service=service,
        shop=shop,
        words=words,
        copy=copy,
        before=contents(shop.location),
        source=contents(folder / "source"),
    )
    scene.learn()
    return scene
