"""A load killed at its system calls leaves the old rows or the new ones; the next run ends it."""

from __future__ import annotations

import random
import shutil
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from framework.hudi.commit.pending import find_pending
from framework.hudi.storage.locations import open_storage
from tests.crash.forks import Forks
from tests.crash.killing import Point
from tests.support.lakes import leftovers
from tests.support.writing import rows_of

SAMPLE = 7

SPEC = """\
version: 1
table:
  name: lake.killed
  location: {location}
  type: {kind}
  partition_by: {{p: string}}
  record_key: {{columns: [id], unique_within: table}}
  ordering: {{columns: [n]}}
source: {{path: {landing}}}
write: {{operation: upsert}}
"""

Rows = set[tuple[Any, ...]]


class Lake:
    """A table with rows, a file on its way into it, and a copy of the table as it is before."""

    def __init__(self, root: Path, forks: Forks, kind: str) -> None:
        self.forks = forks
        self.root, self.table, self.before = root, root / "table", root / "before"
        self.landing = root / "landing"
        self.landing.mkdir()
        self.spec = root / "killed.pipeline.yml"
        self.spec.write_text(SPEC.format(location=self.table, kind=kind, landing=self.landing))
        self._land("a", [(n, f"p{n % 3}", 1) for n in range(12)])
        assert self.forks.run(*self.words) == 0, self.forks.output
        self.old = self.rows()
        shutil.copytree(self.table, self.before)
        changed = [(1, "p1", 2), (4, "p0", 2), (20, "p2", 1), (21, "p9", 1)]
        self._land("b", changed)
        self.new = {row for row in self.old if row[0] not in {1, 4}} | set(changed)

    def _land(self, name: str, rows: list[tuple[Any, ...]]) -> None:
        columns = zip(*rows, strict=True)
        table = pa.table(dict(zip(("id", "p", "n"), columns, strict=True)))
        pq.write_table(table, self.landing / f"{name}.parquet")

    @property
    def words(self) -> tuple[str, str, str]:
        """The words of a load of the spec with a scratch folder of its own."""
        return "load", str(self.spec), str(self.root / "scratch" / f"{random.randrange(1 << 60)}")

    def kill(self, point: Point) -> bool:
        """Kill a load at `point`; return False where it was not reached."""
        return self.forks.kill(point, self.table, *self.words)

    def reset(self) -> None:
        """Back to before the load."""
        shutil.rmtree(self.table)
        shutil.copytree(self.before, self.table)

    def rows(self) -> Rows:
        """Return what a reader finds; a row that is there twice is a fault."""
        found = [(row["id"], row["p"], row["n"]) for row in rows_of(str(self.table))]
        assert len(set(found)) == len(found)
        return set(found)

    def finish(self) -> None:
        """Run to the end without a fault: the new rows are there, and nothing is left over."""
        assert self.forks.run(*self.words) == 0, self.forks.output
        assert self.rows() == self.new
        assert find_pending(open_storage(str(self.table))) is None
        assert leftovers(self.table) == []


@pytest.fixture(scope="module", params=["copy_on_write", "merge_on_read"])
def lake(
    request: pytest.FixtureRequest, prepared: Forks, tmp_path_factory: pytest.TempPathFactory
) -> Lake:
    """One lake of each table type for all kills."""
    return Lake(tmp_path_factory.mktemp("killed"), prepared, request.param)


@pytest.fixture(scope="module")
def points(lake: Lake) -> list[Point]:
    """Every call that changes the table's folder in a load without a fault."""
    lake.reset()
    lake.finish()  # what it imports it would open in the traced run alone
    lake.reset()
    found = lake.forks.calls(lake.table, *lake.words)
    assert lake.rows() == lake.new
    return found


def kill_and_recover(lake: Lake, point: Point) -> bool:
    """Kill a load at `point`, check, run again, check; False when the point was not reached."""
    lake.reset()
    killed = lake.kill(point)
    assert lake.rows() in (lake.old, lake.new), point
    lake.finish()
    return killed


@pytest.mark.crash
def test_load_killed_at_sampled_calls_ends_whole_in_the_next_run(
    lake: Lake, points: list[Point]
) -> None:
    """A sample of all kill points: old rows or new ones, then the new ones."""
    chosen = random.Random(7).sample(points, SAMPLE)
    kills = sum(kill_and_recover(lake, point) for point in chosen)
    assert kills >= SAMPLE - 1


@pytest.mark.crash
@pytest.mark.full
@pytest.mark.timeout(3600)
def test_load_killed_at_every_call_ends_whole_in_the_next_run(
    lake: Lake, points: list[Point]
) -> None:
    """Every mutating call, by kind and number: old rows or new ones, then the new ones."""
    kills = sum(kill_and_recover(lake, point) for point in points)
    assert kills >= len(points) * 19 // 20


@pytest.mark.crash
def test_recovery_of_a_load_killed_at_sampled_calls_is_recovered_by_the_run_after_it(
    lake: Lake, points: list[Point]
) -> None:
    """A second kill inside the run that recovers from the first: the third run ends the job."""
    draw = random.Random(11)
    kills = 0
    for first in draw.sample(points, 3):
        lake.reset()
        lake.kill(first)
        kills += lake.kill(draw.choice(points))
        assert lake.rows() in (lake.old, lake.new)
        lake.finish()
    assert kills >= 1
