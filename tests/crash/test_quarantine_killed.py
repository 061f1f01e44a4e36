"""A run that quarantines rows, or releases them, killed at its calls: each row is in one place.

Rows wait where, and only where, the commit of their run is published; the next run ends the job and
leaves nothing of the dead one.
"""

from __future__ import annotations

import random
import shutil
from pathlib import Path

import pytest

from framework.hudi.commit.pending import find_pending
from framework.hudi.storage.locations import open_storage
from tests.crash.forks import Forks
from tests.crash.killing import Point
from tests.crash.one_shop import a_shop
from tests.support.quarantine import rows_in_quarantine

SAMPLE = 3

Places = tuple[frozenset[int], frozenset[int]]
"""Keys in the table, and keys of rows that wait."""


class Lake:
    """A shop just before a run or a release, and what is to be after it."""

    def __init__(self, root: Path, forks: Forks, kind: str, what: str) -> None:
        self.forks = forks
        self.root, self.kind, self.what = root, kind, what
        self.folder, self.before = root / "shop", root / "before"
        self.folder.mkdir()
        self.shop = a_shop(self.folder, kind)
        if kind == "load":
            self.shop.land("a", {1: 5})
            self.run("run")
        self.shop.land("b", {2: None, 3: 1, 4: 9})
        if what == "release":
            self.run("run")
        shutil.copytree(self.folder, self.before)
        self.old = self.places()
        self.run(what)
        self.new = self.places()
        assert self.old != self.new

    @property
    def words(self) -> tuple[str, str, str, str]:
        """The words of what is killed."""
        return "shop", str(self.folder), self.kind, self.what

    def run(self, what: str) -> None:
        """Run to the end."""
        code = self.forks.run("shop", str(self.folder), self.kind, what)
        assert code == 0, self.forks.output

    def reset(self) -> None:
        """Back to before."""
        shutil.rmtree(self.folder)
        shutil.copytree(self.before, self.folder)

    def places(self) -> Places:
        """Return where the rows are; each is there once."""
        held = (self.shop.table / ".hoodie" / "hoodie.properties").exists()
        table = frozenset(self.shop.rows()) if held else frozenset()
        quarantined = [key for key, *_ in rows_in_quarantine(self.shop.waiting())]
        assert len(set(quarantined)) == len(quarantined)
        return table, frozenset(quarantined)

    def is_between(self) -> bool:
        """Whether a new table is published whose properties are not made yet."""
        return self.kind == "bootstrap" and self.places()[0] == frozenset() != self.places()[1]

    def check(self) -> None:
        """All is as before, or as after."""
        assert self.is_between() or self.places() in (self.old, self.new)

    def finish(self) -> None:
        """Run to the end without a fault: all is as after, and nothing is left over."""
        self.run(self.what)
        assert self.places() == self.new
        names = {f"instant={each.instant}" for each in self.shop.waiting()}
        assert self.shop.lying() == names
        assert {name for _, _, name, _ in rows_in_quarantine(self.shop.waiting())} == {"b.parquet"}


CASES = [("load", "run"), ("bootstrap", "run"), ("load", "release"), ("bootstrap", "release")]


@pytest.fixture(scope="module", params=CASES, ids="-".join)
def lake(
    request: pytest.FixtureRequest, prepared: Forks, tmp_path_factory: pytest.TempPathFactory
) -> Lake:
    """One lake of each case for all kills."""
    return Lake(tmp_path_factory.mktemp("killed"), prepared, *request.param)


@pytest.fixture(scope="module")
def points(lake: Lake) -> tuple[list[Point], list[Point]]:
    """Every call that changes the quarantined rows, and every one that changes table or rows."""
    found = []
    for root in (Path(f"{lake.shop.table}.quarantine"), lake.shop.table):
        lake.reset()
        found.append(lake.forks.calls(root, *lake.words))
        assert lake.places() == lake.new
    return found[0], sorted({*found[0], *found[1]})


def kill_and_recover(lake: Lake, point: Point) -> bool:
    """Kill at `point`, check, run again, check; False when the point was not reached."""
    lake.reset()
    killed = lake.forks.kill(point, lake.shop.table, *lake.words)
    lake.check()
    lake.finish()
    return killed


@pytest.mark.crash
def test_killed_at_sampled_calls_leaves_each_row_in_one_place(
    lake: Lake, points: tuple[list[Point], list[Point]]
) -> None:
    """Half of the sample is about the quarantined rows themselves."""
    draw = random.Random(7)
    chosen = [point for some in points for point in draw.sample(some, min(SAMPLE, len(some)))]
    kills = sum(kill_and_recover(lake, point) for point in chosen)
    assert kills >= len(chosen) - 1
    assert find_pending(open_storage(str(lake.shop.table))) is None


@pytest.mark.crash
@pytest.mark.full
@pytest.mark.timeout(3600)
def test_killed_at_every_call_leaves_each_row_in_one_place(
    lake: Lake, points: tuple[list[Point], list[Point]]
) -> None:
    """Every mutating call, by kind and number."""
    kills = sum(kill_and_recover(lake, point) for point in points[1])
    assert kills >= len(points[1]) * 19 // 20
