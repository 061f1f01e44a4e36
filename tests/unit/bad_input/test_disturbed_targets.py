"""Targets that another process touches during a run, or that two runs use at once."""

from __future__ import annotations

import shutil
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from framework.engine.runner import run
from framework.engine.tasks import InProcessTasks
from framework.errors import FrameworkError
from framework.plan.definition import Plan
from tests.support.lakes import leftovers
from tests.support.meddling import WRITING, Meddling
from tests.support.scenes import Scene, a_document, a_scene, adopt, plan, snapshot
from tests.support.sources import ids
from tests.support.stitching import pieces_of, read_table

FILES = {f"p={p}/a.parquet": ids(p) for p in range(4)}
STRAY = "p=0/11111111-1111-1111-1111-111111111111_0-0-0_00000000000001.parquet"


@pytest.fixture
def scene(tmp_path: Path) -> Scene:
    """Return a small source."""
    return a_scene(tmp_path, FILES)


def test_two_runs_at_once_are_one_and_a_refusal(scene: Scene) -> None:
    """The second leaves the first alone; the table is whole, and nothing else exists."""
    plans = [plan(scene).plan, plan(scene).plan]
    barrier, outcomes = threading.Barrier(2), list[str]()

    def go(one: Plan) -> None:
        barrier.wait()
        try:
            outcomes.append(run(one, InProcessTasks(1)).case)
        except FrameworkError as error:
            outcomes.append(f"{error.exit_code}")

    threads = [threading.Thread(target=go, args=(one,)) for one in plans]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(outcomes) == ["4", "bootstrap"]
    assert len(read_table(scene, pieces_of(scene))) == 4
    assert leftovers(scene.location) == []


@pytest.mark.parametrize("mode", ["metadata_only", "full_record"])
def test_plan_that_is_executed_after_another_run_made_the_table_is_refused(
    tmp_path: Path, mode: str
) -> None:
    """What was planned for an empty folder is not done to a table."""
    scene = a_scene(tmp_path, FILES, a_document(mode=mode))
    late = plan(scene).plan
    adopt(scene)
    before = snapshot(scene.location)
    with pytest.raises(FrameworkError) as caught:
        run(late, InProcessTasks(1))
    assert (caught.value.condition, caught.value.exit_code) == ("commit/table-exists", 4)
    assert snapshot(scene.location) == before


def test_plan_whose_target_is_no_longer_empty_is_refused(scene: Scene) -> None:
    """A file created between plan and run belongs to another process."""
    late = plan(scene).plan
    scene.location.mkdir()
    (scene.location / "notes.txt").write_text("mine")
    with pytest.raises(FrameworkError) as caught:
        run(late, InProcessTasks(1))
    assert (caught.value.condition, caught.value.exit_code) == ("commit/folder-not-empty", 1)
    assert set(snapshot(scene.location)) == {"", "notes.txt"}


def test_stray_file_with_our_instant_in_its_name_is_not_published(scene: Scene) -> None:
    """Readers go by names, so what is no status of ours is removed before the commit."""

    def meddle() -> None:
        (scene.location / STRAY).parent.mkdir()
        (scene.location / STRAY).write_text("not rows")

    tasks = Meddling(after=WRITING, act=meddle)
    adopt(scene, tasks=tasks)
    assert tasks.acted == 1
    assert len(read_table(scene, pieces_of(scene))) == 4


def _staged_files(table: Path) -> None:
    for path in (table / ".hoodie" / ".lakestrap").rglob("*.parquet"):
        path.unlink()


def _staged_statuses(table: Path) -> None:
    for path in (table / ".hoodie" / ".lakestrap").rglob("*.arrow"):
        path.unlink()


def _staging(table: Path) -> None:
    shutil.rmtree(table / ".hoodie" / ".lakestrap")


def _inflight(table: Path) -> None:
    (table / ".hoodie" / "00000000000001.inflight").unlink()


CLEANERS: list[tuple[Callable[[Path], None], int]] = [
    (_staged_files, 5),
    (_staged_statuses, 5),
    (_staging, 4),  # the lease went with it
    (shutil.rmtree, 4),
    (_inflight, 4),
]


@pytest.mark.parametrize(("clean", "code"), CLEANERS)
def test_files_that_are_cleaned_away_under_a_run_end_it_and_the_next_run_is_whole(
    scene: Scene, clean: Callable[[Path], None], code: int
) -> None:
    """A job that tidies up may take any part; nothing is published without it."""
    tasks = Meddling(after=WRITING, act=lambda: clean(scene.location))
    with pytest.raises(FrameworkError) as caught:
        adopt(scene, tasks=tasks)
    assert tasks.acted == 1
    assert caught.value.exit_code == code
    assert caught.value.remedy
    assert not (scene.location / ".hoodie" / "hoodie.properties").exists()
    assert not (scene.location / ".hoodie" / "00000000000001.commit").exists()
    adopt(scene)
    assert len(read_table(scene, pieces_of(scene))) == 4


def test_writer_that_begins_meanwhile_is_left_alone(scene: Scene) -> None:
    """It does not see our lease; we see it, and publish nothing."""
    name = "20240101000000000.commit.requested"
    tasks = Meddling(after=WRITING, act=lambda: (scene.location / ".hoodie" / name).write_text(""))
    with pytest.raises(FrameworkError) as caught:
        adopt(scene, tasks=tasks)
    assert tasks.acted == 1
    assert (caught.value.condition, caught.value.exit_code) == ("commit/foreign-pending", 4)
    assert set(snapshot(scene.location)) == {"", ".hoodie", f".hoodie/{name}"}
