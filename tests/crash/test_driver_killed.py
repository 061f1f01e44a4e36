"""The driver of a run on Spark, killed at random: no table or all, and the next run completes it.

Workers continue to write for a moment, while the next run is already active.
"""

from __future__ import annotations

import random
import signal
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.lakes import PARTITIONS, Lake, a_lake
from tests.support.started import Started, started_pipeline

pytestmark = [pytest.mark.spark, pytest.mark.crash]

ON_SPARK = ("--master", "local[2,4]")
IN_PROCESS = ("--in-process",)


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Lake:
    """One lake for all kills."""
    return a_lake(tmp_path_factory.mktemp("driver"))


def moment(lake: Lake, draw: random.Random) -> tuple[Callable[[], bool], float]:
    """Return what is waited for before a kill, and how long after it the kill comes, in seconds."""
    records = draw.randrange(PARTITIONS + 1)
    return draw.choice(
        [
            ((lake.table / ".hoodie").exists, draw.uniform(0, 1)),
            (lambda: lake.records >= records, draw.uniform(0, 0.3)),
            (lambda: lake.records >= records, draw.uniform(0, 0.05)),
            (lambda: lake.placed > 0, draw.uniform(0, 0.03)),
        ]
    )


def kill(run: Started, lake: Lake, draw: random.Random) -> bool:
    """Kill a driver at a random moment; return whether it was alive."""
    ready, delay = moment(lake, draw)
    run.wait_until(ready)
    time.sleep(delay)
    run.send(signal.SIGKILL)
    return run.end().code == -signal.SIGKILL


def kill_and_recover(
    lake: Lake, folder: Path, seed: int, how: tuple[str, ...] = ON_SPARK
) -> tuple[bool, int]:
    """Kill a run, let the next one end the job; return whether it was killed and what was kept."""
    lake.reset()
    with started_pipeline(folder / f"first-{seed}", "run", lake.scene.spec, *ON_SPARK) as dead:
        was_killed = kill(dead, lake, random.Random(seed))
        was_whole = lake.check_absent_or_whole()
        kept = {} if was_whole else lake.journaled()
        with started_pipeline(folder / f"next-{seed}", "run", lake.scene.spec, *how) as following:
            ended = following.end()
        assert ended.code == 0, ended.err
        lake.check_whole()
        assert {name: lake.inode(name) for name in kept} == kept, "written again"
        dead.wait_for_all()
    lake.check_whole()
    return was_killed, len(kept)


@pytest.mark.parametrize("seed", [1, pytest.param(2, marks=pytest.mark.full)])
def test_driver_killed_at_a_random_moment_leaves_nothing_or_all(
    lake: Lake, tmp_path: Path, seed: int
) -> None:
    """The next run, at once, makes the same files of it, and writes none of the journaled again."""
    was_killed, _ = kill_and_recover(lake, tmp_path, seed, IN_PROCESS)
    assert was_killed


@pytest.mark.full
@pytest.mark.timeout(3600)
def test_driver_killed_at_many_random_moments_leaves_nothing_or_all(
    lake: Lake, tmp_path: Path
) -> None:
    """Ten kills, the next runs on Spark; most meet a run that is alive, some one that has files."""
    found = [kill_and_recover(lake, tmp_path, seed) for seed in range(10, 20)]
    assert sum(was_killed for was_killed, _ in found) >= 7
    assert any(kept for _, kept in found)


@pytest.mark.full
@pytest.mark.timeout(3600)
def test_driver_killed_again_in_the_recovery_is_recovered(lake: Lake, tmp_path: Path) -> None:
    """Three kills in a row, then a run to the end."""
    for seed in range(30, 32):
        lake.reset()
        draw = random.Random(seed)
        kills = 0
        for number in range(3):
            folder = tmp_path / f"{seed}-{number}"
            with started_pipeline(folder, "run", lake.scene.spec, *ON_SPARK) as run:
                kills += kill(run, lake, draw)
            lake.check_absent_or_whole()
        with started_pipeline(tmp_path / f"{seed}-end", "run", lake.scene.spec, *IN_PROCESS) as run:
            assert run.end().code == 0
        lake.check_whole()
        assert kills >= 2
