"""Disks that are full: at whatever byte, the run says so and the target is as it was."""

from __future__ import annotations

import os
import resource
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from framework.engine.prepare import PlanningContext, Request, prepare
from framework.engine.runner import run
from framework.engine.tasks import InProcessTasks
from framework.errors import StorageError
from tests.support.commands import run_pipeline
from tests.support.scenes import a_document, a_scene, adopt, plan, snapshot, with_spec
from tests.support.sources import ids
from tests.support.stitching import pieces_of, read_table

pytestmark = pytest.mark.long

FILES = {f"p={p}/a.parquet": ids(*range(p * 1000, p * 1000 + 900)) for p in range(3)}
PAGE = 4096

needs_mounts = pytest.mark.skipif(
    os.geteuid() != 0 or shutil.which("mount") is None, reason="only root mounts file systems"
)


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """Return a file system of one page, to be made greater by `_resize`."""
    place = tmp_path / "small"
    place.mkdir()
    made = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={PAGE}", "tmpfs", str(place)],
        capture_output=True,
        check=False,
    )
    if made.returncode:
        pytest.skip(f"no mounts here: {made.stderr.decode()}")
    yield place
    subprocess.run(["umount", "--lazy", str(place)], check=True)


def _resize(place: Path, pages: int) -> None:
    """Give the file system this many pages."""
    options = f"remount,size={pages * PAGE}"
    subprocess.run(["mount", "-o", options, str(place)], check=True)


@needs_mounts
@pytest.mark.parametrize("mode", ["metadata_only", "full_record"])
def test_full_disk_leaves_nothing_whatever_its_size(
    tmp_path: Path, small_disk: Path, mode: str
) -> None:
    """From one page on, each size fails clean until one is enough; then the table is whole."""
    scene = a_scene(tmp_path, FILES, a_document(mode=mode))
    scene = with_spec(scene, location=str(small_disk / "table"))
    source, pages, result = snapshot(scene.source), 0, None
    refused: list[StorageError] = []
    while result is None:
        pages += 1
        assert pages < 500, "no size was enough"
        _resize(small_disk, pages)
        try:
            result = adopt(scene, tasks=InProcessTasks(1))
        except StorageError as error:
            refused.append(error)
            assert snapshot(small_disk) == {"": "folder"}, f"something is left at {pages} pages"
    assert len(refused) >= 10
    assert {(each.condition, each.exit_code) for each in refused} == {("storage/full", 5)}
    assert all(str(small_disk) in str(each.where.file) for each in refused)
    assert all("space" in each.remedy for each in refused)
    assert snapshot(scene.source) == source
    assert result.instant is not None
    modes = {f"p={p}": mode for p in range(3)}
    assert len(read_table(scene, pieces_of(scene, modes), instant=result.instant)) == 2700


@needs_mounts
def test_full_scratch_disk_fails_before_the_target_is_touched(
    tmp_path: Path, small_disk: Path
) -> None:
    """The inventory needs room too."""
    scene = a_scene(tmp_path, FILES)
    planning = PlanningContext(tasks=InProcessTasks(1), scratch=small_disk / "scratch")
    with pytest.raises(StorageError) as caught:
        prepare(Request(path=scene.spec), planning)
    assert caught.value.condition == "storage/full"
    assert not scene.location.exists()


@pytest.mark.skipif(shutil.which("prlimit") is None, reason="needs util-linux")
@pytest.mark.parametrize("most_bytes", [1500, 8000])
def test_file_size_limit_is_reported_as_a_full_disk(tmp_path: Path, most_bytes: int) -> None:
    """A quota on files, which needs no root to set, ends the command with exit 5."""
    scene = a_scene(tmp_path, FILES)
    source = snapshot(scene.source)
    words = ("run", "--in-process", "--format", "json", scene.spec)
    done = run_pipeline(*words, prefix=("prlimit", f"--fsize={most_bytes}"))
    assert done.code == 5, done.err
    assert done.error["condition"] == "storage/full"
    assert done.error["where"]["file"]
    assert done.error["remedy"]
    assert snapshot(scene.location) == {}
    assert snapshot(scene.source) == source
    adopt(scene)
    assert len(read_table(scene, pieces_of(scene))) == 2700


def test_limit_on_open_files_is_reported_as_such(tmp_path: Path) -> None:
    """The disk is well, so the advice is another one."""
    scene = a_scene(tmp_path, FILES)
    planned = plan(scene).plan
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    lowest = os.dup(0)
    os.close(lowest)
    resource.setrlimit(resource.RLIMIT_NOFILE, (lowest + 1, hard))
    try:
        with pytest.raises(StorageError) as caught:
            run(planned, InProcessTasks(1))
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    assert (caught.value.condition, caught.value.exit_code) == ("storage/too-many-open", 5)
    assert "ulimit" in caught.value.remedy
    assert not (scene.location / ".hoodie" / "hoodie.properties").exists()
