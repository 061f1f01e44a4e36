"""Sources that change between plan and commit: every run notices, and publishes nothing."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from framework.errors import SourceDriftError
from framework.plan.build import Earlier
from tests.support.meddling import FOOTERS, WRITING, Meddling
from tests.support.scenes import Scene, a_document, a_scene, adopt, plan, refusal
from tests.support.sources import a_source, ids
from tests.support.stitching import pieces_of, read_table

pytestmark = pytest.mark.long

FILES = {f"p={p}/a.parquet": ids(*range(p * 100, p * 100 + 50)) for p in range(3)}
MODES = ("metadata_only", "full_record")
STAGES = (FOOTERS, WRITING)


def _append(path: Path) -> None:
    with path.open("ab") as out:
        out.write(b"more")


def _truncate(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-40])


def _empty(path: Path) -> None:
    path.write_bytes(b"")


def _replace(path: Path) -> None:
    _written_elsewhere(path).rename(path)


def _remove(path: Path) -> None:
    path.unlink()


def _remove_folder(path: Path) -> None:
    shutil.rmtree(path.parent)


def _touch(path: Path) -> None:
    facts = path.stat()
    os.utime(path, ns=(facts.st_atime_ns, facts.st_mtime_ns + 1))


def _make_folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


def _link_elsewhere(path: Path) -> None:
    other = _written_elsewhere(path)
    path.unlink()
    path.symlink_to(other)


def _reorder_in_disguise(path: Path) -> None:
    """Rewrite the same rows in another order: same size, time of change restored."""
    before = path.stat()
    rows = pq.read_table(path, partitioning=None)
    turned = rows.take(list(reversed(range(rows.num_rows))))
    pq.write_table(turned, path, store_schema=False, row_group_size=10)
    assert path.stat().st_size == before.st_size
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


def _written_elsewhere(path: Path) -> Path:
    """Return another file with as many rows."""
    other = path.parent.parent.parent / "other.parquet"
    pq.write_table(ids(*range(9000, 9050)), other, store_schema=False)
    return other


CHANGES: list[Callable[[Path], None]] = [
    _append,
    _truncate,
    _empty,
    _replace,
    _remove,
    _remove_folder,
    _touch,
    _make_folder,
    _link_elsewhere,
]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("after", STAGES)
@pytest.mark.parametrize("change", CHANGES)
def test_source_that_changes_meanwhile_is_refused_and_nothing_is_left(
    tmp_path: Path, change: Callable[[Path], None], after: str, mode: str
) -> None:
    """Whether before the file is read or after, the run ends with the file's name and exit 4."""
    scene = a_scene(tmp_path, FILES, a_document(mode=mode))
    victim = scene.source / "p=1" / "a.parquet"
    tasks = Meddling(after=after, act=lambda: change(victim))
    error = refusal(scene, "source/drift", tasks=tasks, source_moves=True).error
    assert tasks.acted == 1
    assert isinstance(error, SourceDriftError)
    assert error.exit_code == 4
    assert error.where.file == str(victim)


def test_rows_reordered_in_disguise_before_they_are_read_are_refused(tmp_path: Path) -> None:
    """Size and modification time may be restored; the footer's hash differs."""
    scene = a_scene(tmp_path, {})
    a_source(scene.source, FILES, row_group_size=10)
    victim = scene.source / "p=1" / "a.parquet"
    tasks = Meddling(after=FOOTERS, act=lambda: _reorder_in_disguise(victim))
    error = refusal(scene, "source/drift", tasks=tasks, source_moves=True).error
    assert tasks.acted == 1
    assert error.where.file == str(victim)
    assert "footer" in error.message


def test_source_that_is_deleted_as_a_whole_is_refused(tmp_path: Path) -> None:
    """A whole mount may go."""
    scene = a_scene(tmp_path, FILES)
    tasks = Meddling(after=WRITING, act=lambda: scene.source.rename(tmp_path / "moved"))
    error = refusal(scene, "source/drift", tasks=tasks, source_moves=True).error
    assert tasks.acted == 1
    assert error.exit_code == 4


@pytest.mark.parametrize("change", [_append, _remove])
def test_change_in_a_skipped_partition_is_none(
    tmp_path: Path, change: Callable[[Path], None]
) -> None:
    """What is outside the table may move."""
    document = a_document(rules=[{"partition": "p=1", "mode": "skip"}])
    scene = a_scene(tmp_path, FILES, document)
    victim = scene.source / "p=1" / "a.parquet"
    tasks = Meddling(after=WRITING, act=lambda: change(victim))
    result = adopt(scene, tasks=tasks)
    assert tasks.acted == 1
    assert result is not None
    assert result.files == 2


def test_file_added_meanwhile_is_not_in_the_table_but_reported_by_the_next_plan(
    tmp_path: Path,
) -> None:
    """The inventory is frozen; what comes later is counted as new."""
    scene = a_scene(tmp_path, FILES)
    pieces = pieces_of(scene)
    other = scene.source / "p=1" / "later.parquet"
    act = lambda: pq.write_table(ids(7777), other, store_schema=False)  # noqa: E731 - one step
    tasks = Meddling(after=WRITING, act=act)
    adopt(scene, tasks=tasks)
    assert tasks.acted == 1
    assert len(read_table(scene, pieces)) == 150
    adopted = plan(scene).plan.adopted
    assert adopted is not None
    assert adopted.drift is not None
    assert (adopted.drift.new_files, adopted.drift.samples_new) == (1, ("p=1/later.parquet",))


@pytest.mark.parametrize("after", STAGES)
def test_run_after_a_refused_one_takes_the_source_as_it_is_now(tmp_path: Path, after: str) -> None:
    """Exit 4 says: run again; that works, and nothing of the first run shows."""
    scene = a_scene(tmp_path, FILES)
    victim = scene.source / "p=1" / "a.parquet"
    tasks = Meddling(after=after, act=lambda: _replace(victim))
    refusal(scene, "source/drift", tasks=tasks, source_moves=True)
    assert plan(scene, earlier=Earlier.AUTO).plan.case.value == "bootstrap"
    adopt(scene)
    rows = read_table(scene, pieces_of(scene))
    assert {row["id"] for row in rows} >= set(range(9000, 9050))


def test_adopted_table_whose_source_changed_says_so_in_every_plan(tmp_path: Path) -> None:
    """A table over a source that moved is counted file by file: changed and missing."""
    scene = a_scene(tmp_path, FILES)
    adopt(scene)
    _append(scene.source / "p=0" / "a.parquet")
    _remove(scene.source / "p=1" / "a.parquet")
    adopted = plan(scene).plan.adopted
    assert adopted is not None
    assert adopted.drift is not None
    assert (adopted.drift.changed_files, adopted.drift.missing_files) == (1, 1)
    _remove_all(scene)
    assert adopt(scene) is None


def _remove_all(scene: Scene) -> None:
    """Delete the whole source."""
    shutil.rmtree(scene.source)
