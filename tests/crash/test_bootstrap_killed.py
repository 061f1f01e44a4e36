"""A bootstrap killed at its system calls leaves no table or all of it; the next run ends it."""

from __future__ import annotations

import hashlib
import random
import shutil
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.crash.forks import Forks
from tests.crash.killing import Point
from tests.support.lakes import without_write_id

SAMPLE = 9

SPEC = """\
version: 1
table:
  name: lake.killed
  location: {location}
  type: copy_on_write
  partition_by: {{p: int}}
  record_key: {{columns: [id], unique_within: table}}
bootstrap:
  path: {source}
  layout: hive
  mode: metadata_only
  rules:
    - {{partition: p=2, mode: full_record, reason: both kinds in one instant}}
"""


class Lake:
    """A small source and a spec for it; the table is made again and again."""

    def __init__(self, root: Path, forks: Forks) -> None:
        self.forks = forks
        self.root, self.source, self.table = root, root / "source", root / "table"
        for number, (partition, name) in enumerate([(1, "a"), (1, "b"), (2, "c")]):
            folder = self.source / f"p={partition}"
            folder.mkdir(parents=True, exist_ok=True)
            first = 100 - number * 10
            rows = pa.table({"id": list(range(first, first + 7)), "v": ["x"] * 7})
            pq.write_table(rows, folder / f"{name}.parquet", row_group_size=3)
        self.spec = root / "killed.pipeline.yml"
        self.spec.write_text(SPEC.format(location=self.table, source=self.source))
        self.source_digest = digest(self.source)

    @property
    def words(self) -> tuple[str, str, str]:
        """The words of a run of the spec with a scratch folder of its own."""
        return "load", str(self.spec), str(self.root / "scratch" / f"{random.randrange(1 << 60)}")

    def kill(self, point: Point) -> bool:
        """Kill a run at `point`; return False where it was not reached."""
        return self.forks.kill(point, self.table, *self.words)

    def reset(self) -> None:
        """Back to before the first run."""
        shutil.rmtree(self.table, ignore_errors=True)
        shutil.rmtree(self.root / "scratch", ignore_errors=True)

    def finish(self) -> dict[str, str]:
        """Run to the end without a fault and return what the table then holds."""
        assert self.forks.run(*self.words) == 0, self.forks.output
        return contents(self.table)


def contents(table: Path) -> dict[str, str]:
    """Return every file of the table, of Parquet files also the hash of their bytes.

    The write id is removed from the names of state files.
    """
    return {
        without_write_id(str(path.relative_to(table))): digest(path)
        if path.suffix == ".parquet"
        else ""
        for path in sorted(table.rglob("*"))
        if path.is_file()
    }


def digest(path: Path) -> str:
    """SHA-256 of a file, or of all files below a folder with their names."""
    total = hashlib.sha256()
    files = [path] if path.is_file() else sorted(p for p in path.rglob("*") if p.is_file())
    for file in files:
        total.update(file.name.encode() + file.read_bytes())
    return total.hexdigest()


@pytest.fixture(scope="module")
def lake(prepared: Forks, tmp_path_factory: pytest.TempPathFactory) -> Lake:
    """One lake for all kills."""
    return Lake(tmp_path_factory.mktemp("killed"), prepared)


@pytest.fixture(scope="module")
def whole(lake: Lake) -> dict[str, str]:
    """What a run without a fault leaves."""
    lake.reset()
    return lake.finish()


@pytest.fixture(scope="module")
def points(lake: Lake, whole: dict[str, str]) -> list[Point]:
    """Every call that changes the table's folder in a run without a fault."""
    assert whole
    lake.reset()
    return lake.forks.calls(lake.table, *lake.words)


def check_absent_or_whole(lake: Lake, whole: dict[str, str]) -> None:
    """No properties, so no reader finds a table; or every file that belongs to it."""
    if (lake.table / ".hoodie" / "hoodie.properties").exists():
        there = contents(lake.table)
        assert {name: there.get(name) for name in whole} == whole
    assert digest(lake.source) == lake.source_digest


def kill_and_recover(lake: Lake, whole: dict[str, str], point: Point) -> bool:
    """Kill a run at `point`, check, run again, check; False when the point was not reached."""
    lake.reset()
    killed = lake.kill(point)
    check_absent_or_whole(lake, whole)
    assert lake.finish() == whole, point
    assert digest(lake.source) == lake.source_digest
    return killed


@pytest.mark.crash
def test_bootstrap_killed_at_sampled_calls_ends_whole_in_the_next_run(
    lake: Lake, whole: dict[str, str], points: list[Point]
) -> None:
    """A sample of all kill points, spread over the kinds of calls: the next run ends the job."""
    chosen = random.Random(7).sample(points, SAMPLE)
    kills = sum(kill_and_recover(lake, whole, point) for point in chosen)
    assert kills >= SAMPLE - 1


@pytest.mark.crash
@pytest.mark.full
@pytest.mark.timeout(3600)
def test_bootstrap_killed_at_every_call_ends_whole_in_the_next_run(
    lake: Lake, whole: dict[str, str], points: list[Point]
) -> None:
    """Every mutating call, by kind and number: absent or whole, then whole."""
    kills = sum(kill_and_recover(lake, whole, point) for point in points)
    assert kills >= len(points) * 95 // 100


@pytest.mark.crash
def test_recovery_killed_at_sampled_calls_is_recovered_by_the_run_after_it(
    lake: Lake, whole: dict[str, str], points: list[Point]
) -> None:
    """A second kill inside the run that recovers from the first: the third run ends the job."""
    draw = random.Random(11)
    kills = 0
    for first in draw.sample(points, 4):
        lake.reset()
        lake.kill(first)
        second = draw.choice(points)
        kills += lake.kill(second)
        check_absent_or_whole(lake, whole)
        assert lake.finish() == whole, (first, second)
    assert kills >= 1
