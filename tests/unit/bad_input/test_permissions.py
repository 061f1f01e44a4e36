"""Folders and files that the current user may not read or write."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from framework.errors import StorageError
from tests.support.commands import AS_NOBODY, run_pipeline
from tests.support.scenes import Scene, a_scene, adopt, plan, refusal, snapshot, with_spec
from tests.support.sources import ids
from tests.support.stitching import pieces_of, read_table

FILES = {f"p={p}/a.parquet": ids(p) for p in range(3)}

_NOBODY = 65534

needs_root = pytest.mark.skipif(
    os.geteuid() != 0 or not all(map(shutil.which, ("setpriv", "mount"))),
    reason="only root changes users and mounts file systems",
)


@pytest.fixture
def scene() -> Iterator[Scene]:
    """Return a scene that everybody can reach; its parts are locked by the tests."""
    folder = Path(tempfile.mkdtemp(prefix="scene-"))
    folder.chmod(0o777)
    found = a_scene(folder / "lake", FILES)
    assert found.spec.exists()
    yield found
    shutil.rmtree(folder)


@needs_root
@pytest.mark.parametrize(
    ("place", "mode"),
    [("source", 0o000), ("source/p=1", 0o000), ("source/p=1/a.parquet", 0o200)],
)
def test_source_that_may_not_be_read_is_refused_by_name(
    scene: Scene, place: str, mode: int
) -> None:
    """Root, one partition or one file: the plan fails where the right is missing."""
    locked = scene.folder / place
    scene.folder.chmod(0o777)
    locked.chmod(mode)
    assert _refused(scene).where.file == str(locked)


@needs_root
def test_target_whose_folder_may_not_be_written_is_refused(scene: Scene) -> None:
    """A foreign folder cannot hold a table."""
    scene.location.mkdir()
    error = _refused(scene)
    assert str(error.where.file).startswith(str(scene.location))


@needs_root
def test_target_that_may_not_be_made_is_refused(scene: Scene) -> None:
    """Nor does a folder above it that is not ours."""
    error = _refused(scene)
    assert str(error.where.file).startswith(str(scene.location))
    assert not scene.location.exists()


@needs_root
def test_target_that_may_not_be_looked_at_is_refused(scene: Scene) -> None:
    """What cannot be listed is not taken for empty."""
    scene.folder.chmod(0o777)
    scene.location.mkdir(mode=0o333)
    scene.location.chmod(0o333)
    error = _refused(scene)
    assert str(error.where.file).startswith(str(scene.location))


@needs_root
def test_source_without_the_right_to_write_is_enough(scene: Scene) -> None:
    """A bootstrap asks for no right to write at the source."""
    scene.folder.chmod(0o777)
    for path in (scene.source, *scene.source.rglob("*")):
        path.chmod(0o555 if path.is_dir() else 0o444)
    before = snapshot(scene.source)
    with _nobody():
        adopt(scene)
    assert snapshot(scene.source) == before
    assert len(read_table(scene, pieces_of(scene))) == 3


@needs_root
def test_missing_right_ends_the_command_with_exit_5(scene: Scene) -> None:
    """What scripts see: the code, and one JSON object that names the place."""
    before = snapshot(scene.folder)
    words = ("run", "--in-process", "--format", "json", scene.spec)
    done = run_pipeline(*words, prefix=AS_NOBODY)
    assert done.code == 5, done.err
    assert done.error["condition"] == "storage/permission"
    assert done.error["where"]["file"].startswith(str(scene.location))
    assert snapshot(scene.folder) == before


@needs_root
def test_target_on_a_read_only_file_system_is_refused(tmp_path: Path) -> None:
    """A mount can refuse even root."""
    place = tmp_path / "mounted"
    place.mkdir()
    scene = with_spec(a_scene(tmp_path, FILES), location=str(place / "table"))
    with _read_only(place):
        error = refusal(scene, "storage/permission").error
    assert error.exit_code == 5
    assert str(error.where.file).startswith(str(place))


@needs_root
def test_table_and_source_on_read_only_file_systems_can_be_looked_at(tmp_path: Path) -> None:
    """A second run has nothing to do, so it asks for nothing."""
    scene = a_scene(tmp_path, FILES)
    adopt(scene)
    with _read_only(scene.location), _read_only(scene.source):
        assert plan(scene).plan.case.value == "up_to_date"
        assert adopt(scene) is None
        assert len(read_table(scene, pieces_of(scene))) == 3


@contextmanager
def _read_only(folder: Path) -> Iterator[None]:
    """Make a folder read-only during the block."""
    if subprocess.run(["mount", "--bind", folder, folder], check=False).returncode:
        pytest.skip("no mounts here")
    try:
        subprocess.run(["mount", "-o", "remount,ro,bind", folder], check=True)
        yield
    finally:
        subprocess.run(["umount", "--lazy", folder], check=True)


@contextmanager
def _nobody() -> Iterator[None]:
    """Make this process one that permission bits bind, for the time of a block."""
    groups = os.getgroups()
    os.setgroups([])
    os.setegid(_NOBODY)
    os.seteuid(_NOBODY)
    try:
        yield
    finally:
        os.seteuid(0)
        os.setegid(0)
        os.setgroups(groups)


def _refused(scene: Scene) -> StorageError:
    """Return the error of a missing right; it left nothing, and touched nothing."""
    assert scene.spec.exists()
    before = snapshot(scene.folder)
    with _nobody(), pytest.raises(StorageError) as caught:
        adopt(scene)
    assert snapshot(scene.folder) == before
    error = caught.value
    assert error.condition == "storage/permission"
    assert error.exit_code == 5
    assert error.remedy
    return error
