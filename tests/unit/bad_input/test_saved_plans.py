"""Saved plans that were edited, cut, lost, or that no longer fit."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from framework.engine.prepare import PlanningContext, Prepared, prepare_saved
from framework.engine.runner import run
from framework.engine.tasks import InProcessTasks
from framework.errors import (
    CorruptFileError,
    FrameworkError,
    PlanError,
    PlanStaleError,
    SpecError,
    StorageError,
)
from framework.plan.saved import save_plan
from tests.support.scenes import Scene, a_scene, adopt, plan, snapshot
from tests.support.sources import ids
from tests.support.stitching import pieces_of, read_table

FILES = {"p=1/a.parquet": ids(1, 2), "p=2/b.parquet": ids(3)}


def test_saved_plan_is_executed_once(tmp_path: Path) -> None:
    """The second time it finds its work done, which is no error."""
    scene = a_scene(tmp_path, FILES)
    path = _saved(scene)
    first = _prepared(scene, path)
    run(first.plan, InProcessTasks(1))
    assert len(read_table(scene, pieces_of(scene))) == 3
    assert not _prepared(scene, path).plan.has_changes


@pytest.mark.timeout(20)
def test_saved_plan_in_a_fifo_is_refused(tmp_path: Path) -> None:
    """It is not waited for."""
    os.mkfifo(tmp_path / "x.plan")
    with pytest.raises(CorruptFileError) as caught:
        _prepared(a_scene(tmp_path, FILES), tmp_path / "x.plan")
    assert caught.value.condition == "saved-plan/not-readable"


def _edited_number(text: str) -> str:
    assert '"rows": 3' in text
    return text.replace('"rows": 3', '"rows": 4', 1)


def _edited_place(text: str) -> str:
    return text.replace("/table", "/other")


def _without_digest(text: str) -> str:
    body = json.loads(text)
    del body["digest"]
    return json.dumps(body)


def _of_another_version(text: str) -> str:
    body = json.loads(text)
    return json.dumps({**body, "saved_version": 99})


BAD_TEXT: list[tuple[Callable[[str], str], str, type[FrameworkError], int]] = [
    (_edited_number, "saved-plan/digest-differs", CorruptFileError, 5),
    (_edited_place, "saved-plan/digest-differs", CorruptFileError, 5),
    (_without_digest, "saved-plan/not-readable", CorruptFileError, 5),
    (lambda text: text[: len(text) // 2], "saved-plan/not-readable", CorruptFileError, 5),
    (lambda _: "", "saved-plan/not-readable", CorruptFileError, 5),
    (lambda _: "[]", "saved-plan/not-readable", CorruptFileError, 5),
    (lambda _: '{"version": 1}', "saved-plan/not-readable", CorruptFileError, 5),
    (_of_another_version, "saved-plan/other-version", PlanError, 1),
]


@pytest.mark.parametrize(
    ("change", "condition", "kind", "code"), BAD_TEXT, ids=range(len(BAD_TEXT))
)
def test_plan_file_that_is_not_as_it_was_saved_is_refused(
    tmp_path: Path,
    change: Callable[[str], str],
    condition: str,
    kind: type[FrameworkError],
    code: int,
) -> None:
    """Only the approved plan is executed; an edited plan was never approved."""
    scene = a_scene(tmp_path, FILES)
    path = _saved(scene)
    path.write_text(change(path.read_text()))
    error = _refused(scene, path, condition)
    assert isinstance(error, kind)
    assert error.exit_code == code
    assert error.where.file == str(path)


def test_plan_file_of_other_bytes_is_refused(tmp_path: Path) -> None:
    """A file that is no text is no plan."""
    scene = a_scene(tmp_path, FILES)
    path = _saved(scene)
    path.write_bytes(b"\xff\xfe\x00")
    assert _refused(scene, path, "saved-plan/not-readable").exit_code == 5


def test_missing_plan_file_is_refused(tmp_path: Path) -> None:
    """Its path is named."""
    scene = a_scene(tmp_path, FILES)
    error = _refused(scene, tmp_path / "gone.json", "storage/not-found")
    assert isinstance(error, StorageError)
    assert error.where.file == str(tmp_path / "gone.json")


def _add_file(scene: Scene) -> None:
    pq.write_table(ids(9), scene.source / "p=1" / "later.parquet", store_schema=False)


def _remove_file(scene: Scene) -> None:
    (scene.source / "p=2" / "b.parquet").unlink()


def _append_bytes(scene: Scene) -> None:
    pq.write_table(ids(8, 9), scene.source / "p=2" / "b.parquet", store_schema=False)


def _change_spec(scene: Scene) -> None:
    bootstrap = {**scene.document["bootstrap"], "mode": "full_record"}
    scene.spec.write_text(json.dumps({**scene.document, "bootstrap": bootstrap}))


def _put_foreign(scene: Scene) -> None:
    (scene.location / ".hoodie").mkdir(parents=True)
    (scene.location / ".hoodie" / "hoodie.properties").write_text("hoodie.table.name=t\n")


STALE: list[tuple[Callable[[Scene], Any], str]] = [
    (_add_file, "the source"),
    (_remove_file, "the source"),
    (_append_bytes, "the source"),
    (_change_spec, "the spec"),
]


@pytest.mark.parametrize(("change", "what"), STALE)
def test_plan_that_no_longer_fits_is_refused_with_what_changed(
    tmp_path: Path, change: Callable[[Scene], Any], what: str
) -> None:
    """Exit 4: plan again and have it approved again."""
    scene = a_scene(tmp_path, FILES)
    path = _saved(scene)
    change(scene)
    error = _refused(scene, path, "plan/stale")
    assert isinstance(error, PlanStaleError)
    assert error.exit_code == 4
    assert what in error.message


def test_plan_whose_target_was_taken_meanwhile_is_refused(tmp_path: Path) -> None:
    """A foreign table is reported as such, before anything else."""
    scene = a_scene(tmp_path, FILES)
    path = _saved(scene)
    _put_foreign(scene)
    assert _refused(scene, path, "table/version").exit_code == 5


def test_plan_whose_spec_is_missing_is_refused(tmp_path: Path) -> None:
    """The plan names its spec; without it there is nothing to compare."""
    scene = a_scene(tmp_path, FILES)
    path = _saved(scene)
    spec = scene.spec
    spec.unlink()
    with pytest.raises(SpecError) as caught:
        _prepared(scene, path)
    assert caught.value.condition == "spec/unreadable-file"
    assert caught.value.where.file == str(spec)
    assert caught.value.exit_code == 1


def test_plan_of_a_table_that_is_made_meanwhile_by_the_same_spec_is_done(tmp_path: Path) -> None:
    """Two approved runs of one plan are one."""
    scene = a_scene(tmp_path, FILES)
    path = _saved(scene)
    adopt(scene)
    assert not _prepared(scene, path).plan.has_changes


def _saved(scene: Scene) -> Path:
    """Plan the scene and return the file of its plan."""
    prepared = plan(scene)
    text = save_plan(prepared.plan, prepared.observation.table, prepared.request.invocation)
    path = scene.folder / "plan.json"
    path.write_text(text, encoding="utf-8")
    return path


def _prepared(scene: Scene, path: Path) -> Prepared:
    """Load a plan file as `run` does."""
    scratch = scene.folder / "again"
    scratch.mkdir(exist_ok=True)
    for old in scratch.iterdir():
        old.unlink()
    return prepare_saved(path, PlanningContext(tasks=InProcessTasks(1), scratch=scratch))


def _refused(scene: Scene, path: Path, condition: str) -> FrameworkError:
    """Return the refusal of a plan file; neither source nor target is touched."""
    before = snapshot(scene.source), snapshot(scene.location)
    with pytest.raises(FrameworkError) as caught:
        _prepared(scene, path)
    assert (snapshot(scene.source), snapshot(scene.location)) == before
    assert caught.value.condition == condition
    assert caught.value.remedy
    return caught.value
