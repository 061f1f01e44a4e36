"""Two runs at once on one table: one makes it, the other says so, or finds it made."""

from __future__ import annotations

import signal
from contextlib import ExitStack
from pathlib import Path

import pytest

from framework.hudi.commit.lease import current_lease
from framework.hudi.storage.locations import open_storage
from tests.support.commands import Outcome
from tests.support.lakes import Lake
from tests.support.started import started_pipeline

pytestmark = pytest.mark.crash

ON_SPARK = ("--master", "local[1,4]")
IN_PROCESS = ("--in-process",)
RETRY = 4


def both(lake: Lake, folder: Path, *words: str) -> list[Outcome]:
    """Start two runs at the same moment and wait for them."""
    folder.mkdir()
    with ExitStack() as held:
        spec = lake.scene.spec
        runs = [
            held.enter_context(started_pipeline(folder / name, "run", spec, *words))
            for name in ("one", "two")
        ]
        return [run.end() for run in runs]


def check_one_made_it(lake: Lake, ended: list[Outcome]) -> int:
    """Exactly one published; the other one was refused, or found nothing to do; return its code."""
    makers = [each for each in ended if "published at" in each.out]
    others = [each for each in ended if each not in makers]
    assert [each.code for each in makers] == [0], ended
    assert len(others) == 1
    assert others[0].code in {0, RETRY}, others[0].err
    assert "Traceback" not in others[0].err
    assert current_lease(open_storage(str(lake.table))) is None
    return others[0].code


def test_two_runs_at_once_make_one_table(lake: Lake, tmp_path: Path) -> None:
    """Six times; the loser reports that another run holds the table, or that it exists."""
    codes = []
    for number in range(6):
        lake.reset()
        codes.append(check_one_made_it(lake, both(lake, tmp_path / str(number), *IN_PROCESS)))
        lake.check_whole()
    assert RETRY in codes, "they never met"


@pytest.mark.spark
@pytest.mark.full
def test_two_runs_at_once_on_spark_make_one_table(lake: Lake, tmp_path: Path) -> None:
    """Twice, each run with a session of its own."""
    for number in range(2):
        lake.reset()
        check_one_made_it(lake, both(lake, tmp_path / str(number), *ON_SPARK))
        lake.check_whole()


@pytest.mark.parametrize("words", [(), ("--fresh",)], ids=["resume", "roll back"])
def test_two_recoveries_at_once_do_not_disturb_each_other(
    lake: Lake, tmp_path: Path, words: tuple[str, ...]
) -> None:
    """A run was killed; of two that follow at once, one ends the job."""
    codes = []
    for number in range(3):
        lake.reset()
        folder = tmp_path / str(number)
        folder.mkdir()
        with started_pipeline(folder / "dead", "run", lake.scene.spec, *IN_PROCESS) as dead:
            assert dead.wait_until(lambda: lake.records >= 1)
            dead.send(signal.SIGKILL)
            assert dead.end().code == -signal.SIGKILL
        assert not lake.check_absent_or_whole()
        codes.append(check_one_made_it(lake, both(lake, folder / "next", *IN_PROCESS, *words)))
        lake.check_whole()
    assert RETRY in codes, "they never met"
