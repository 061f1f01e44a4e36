"""Execution of a plan: stages in order, and what is left where one fails."""

from __future__ import annotations

from pathlib import Path

import pytest

from framework.engine.events import Event, Progress, StageFinished, StageStarted
from framework.engine.prepare import PlanningContext
from framework.engine.runner import RunResult, run
from framework.engine.source_checks import prove_source
from framework.engine.tasks import InProcessTasks
from framework.errors import AuditFailedError, PlanError, StorageError
from framework.hudi.commit.lease import current_lease
from framework.hudi.storage.local import LocalStorage
from tests.support.meddling import WRITING, Meddling
from tests.support.scenes import Scene, a_scene, adopt, plan, snapshot
from tests.support.sources import ids


@pytest.fixture
def scene(tmp_path: Path) -> Scene:
    """Two partitions with unique keys."""
    return a_scene(tmp_path / "scene", {"p=1/a": ids(1, 2), "p=2/a": ids(3)})


@pytest.fixture
def twice(tmp_path: Path) -> Scene:
    """One key in two partitions."""
    return a_scene(tmp_path / "twice", {"p=1/a": ids(1, 2), "p=2/a": ids(2)})


def test_stages_are_reported_in_pairs_and_in_order(scene: Scene) -> None:
    """Progress stays within its stage, and adds up."""
    events: list[Event] = []
    result = run(plan(scene).plan, InProcessTasks(1), events=events.append)
    begun = [e.stage for e in events if isinstance(e, StageStarted)]
    ended = [e.stage for e in events if isinstance(e, StageFinished)]
    assert begun == ended == ["begin", "skeletons", "audit", "index", "commit"]
    first, last = (
        next(n for n, e in enumerate(events) if isinstance(e, kind) and e.stage == "skeletons")
        for kind in (StageStarted, StageFinished)
    )
    inside = [e for e in events[first:last] if isinstance(e, Progress)]
    assert sum(e.rows for e in inside) == result.rows == 3
    assert (result.files, result.instant) == (2, "00000000000001")
    assert result.proof["unique"] is True


def test_plan_without_stages_has_a_result_of_nothing(scene: Scene) -> None:
    """Like `run` on a table that is up to date."""
    adopt(scene)
    prepared = plan(scene)
    assert not prepared.plan.has_changes
    result = RunResult.unchanged(prepared.plan)
    assert (result.case, result.instant, result.files) == ("up_to_date", None, 0)


def test_refused_run_leaves_nothing(twice: Scene) -> None:
    """Neither files nor a lease; the source is as it was."""
    before = snapshot(twice.source)
    with pytest.raises(AuditFailedError):
        adopt(twice)
    assert snapshot(twice.location) == {}
    assert snapshot(twice.source) == before


def test_failing_task_leaves_nothing(scene: Scene) -> None:
    """The error is raised as it was."""

    def fail() -> None:
        raise StorageError("storage/failed", "the disk is gone")

    with pytest.raises(StorageError):
        adopt(scene, tasks=Meddling(after=WRITING, act=fail))
    assert snapshot(scene.location) == {}


def test_interrupted_run_keeps_files_and_gives_the_lease_back(scene: Scene) -> None:
    """The next run continues with them."""

    def stop() -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        adopt(scene, tasks=Meddling(after=WRITING, act=stop))
    assert current_lease(LocalStorage(str(scene.location))) is None
    result = adopt(scene, tasks=Meddling(after=WRITING, act=stop, statuses=0))
    assert result is not None
    assert result.files == 2


def test_proof_on_the_source_writes_to_the_scratch_folder_only(
    scene: Scene, tmp_path: Path
) -> None:
    """Rows and files are those of the plan."""
    assert scene.spec.exists()
    found = plan(scene).plan
    before = snapshot(scene.folder)
    scratch = tmp_path / "proof"
    scratch.mkdir()
    proof = prove_source(found, PlanningContext(tasks=InProcessTasks(1), scratch=scratch))
    assert (proof["unique"], proof["not_null"], proof["rows"]) == (True, True, 3)
    assert snapshot(scene.folder) == before


def test_proof_on_the_source_refuses_duplicates(twice: Scene, tmp_path: Path) -> None:
    """Before anything is written."""
    found = plan(twice).plan
    with pytest.raises(AuditFailedError) as caught:
        prove_source(found, PlanningContext(tasks=InProcessTasks(1), scratch=tmp_path))
    assert caught.value.condition == "audit/duplicate-keys"
    assert snapshot(twice.location) == {}


def test_proof_needs_a_source_that_was_looked_at(scene: Scene, tmp_path: Path) -> None:
    """A table that exists was proven when it began."""
    adopt(scene)
    with pytest.raises(PlanError) as caught:
        prove_source(plan(scene).plan, PlanningContext(tasks=InProcessTasks(1), scratch=tmp_path))
    assert caught.value.condition == "plan/nothing-to-prove"
