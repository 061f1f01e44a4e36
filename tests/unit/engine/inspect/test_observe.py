"""What is seen of table, source and earlier run before anything is planned."""

from __future__ import annotations

from pathlib import Path
from tempfile import mkdtemp

import pytest

from framework.engine.events import Event, Progress, StageFinished, StageStarted
from framework.engine.inspect.observe import observe, observe_table
from framework.engine.prepare import Request, load
from framework.engine.tasks import InProcessTasks
from framework.hudi.commit.lease import Owner, acquire
from framework.hudi.storage.local import LocalStorage
from framework.hudi.timeline.clock import SystemClock
from framework.plan.observation import Observation
from framework.plan.target import target_of
from tests.support.meddling import WRITING, Meddling
from tests.support.scenes import Scene, a_document, a_scene, adopt
from tests.support.sources import a_source, ids

FIRST = "00000000000001"


@pytest.fixture
def scene(tmp_path: Path) -> Scene:
    """Two partitions, three files."""
    files = {"p=1/a": ids(1, 2), "p=1/b": ids(3), "p=2/a": ids(4)}
    return a_scene(tmp_path / "scene", files)


def seen(scene: Scene, events: list[Event] | None = None) -> Observation:
    """Observe the scene."""
    heard: list[Event] = [] if events is None else events
    target = target_of(load(Request(path=scene.spec)))
    scratch = Path(mkdtemp(dir=scene.folder))
    return observe(target, InProcessTasks(1), scratch, events=heard.append)


def test_source_is_inventoried_where_there_is_no_table(scene: Scene) -> None:
    """As the stage `source`, whose progress adds up to its files."""
    events: list[Event] = []
    found = seen(scene, events)
    assert found.source is not None
    assert (found.source.handle.files, found.source.handle.rows) == (3, 4)
    assert not found.table.exists
    assert found.pending is None
    assert events[0] == StageStarted(stage="source")
    assert isinstance(events[-1], StageFinished)
    assert sum(e.files for e in events if isinstance(e, Progress)) == 3


def test_adopted_table_is_compared_with_its_source(scene: Scene) -> None:
    """No footer is read; new, changed and missing files are counted."""
    adopt(scene)
    a_source(scene.source, {"p=2/b": ids(5), "p=3/c": ids(6), "p=1/a": ids(7)})
    (scene.source / "p=1" / "b").unlink()
    events: list[Event] = []
    found = seen(scene, events)
    assert found.source is None
    assert events == []
    drift = found.table.drift
    assert drift is not None
    assert (drift.new_files, drift.changed_files, drift.missing_files) == (2, 1, 1)
    assert drift.samples_new == ("p=2/b", "p=3/c")
    assert drift.samples_changed == ("p=1/a",)
    assert drift.samples_missing[0].endswith("p=1/b")
    assert drift.new_bytes == sum((scene.source / n).stat().st_size for n in drift.samples_new)


def test_drift_has_a_few_samples_of_many(scene: Scene) -> None:
    """Counts are exact, names are a sample."""
    adopt(scene)
    a_source(scene.source, {f"p=2/new{n}": ids(n) for n in range(20)})
    drift = seen(scene).table.drift
    assert drift is not None
    assert drift.new_files == 20
    assert 0 < len(drift.samples_new) < 20


def test_deleted_source_counts_every_skeleton_as_missing(scene: Scene) -> None:
    """The folder itself was moved away."""
    adopt(scene)
    scene.source.rename(scene.folder / "elsewhere")
    drift = observe_table(str(scene.location)).drift
    assert drift is not None
    assert drift.missing_files == 3


def test_full_files_do_not_need_their_source(tmp_path: Path) -> None:
    """A source file that was written in full may change or go; a new one is still new."""
    scene = a_scene(
        tmp_path / "full", {"p=1/a": ids(1), "p=2/a": ids(2)}, a_document(mode="full_record")
    )
    adopt(scene)
    (scene.source / "p=1" / "a").unlink()
    a_source(scene.source, {"p=2/b": ids(3)})
    drift = observe_table(str(scene.location)).drift
    assert drift is not None
    assert (drift.new_files, drift.changed_files, drift.missing_files) == (1, 0, 0)


def test_skipped_partitions_are_not_compared(tmp_path: Path) -> None:
    """They are outside the table, whatever happens in them."""
    rules = [{"partition": "p=2", "mode": "skip"}]
    scene = a_scene(tmp_path / "skip", {"p=1/a": ids(1), "p=2/a": ids(2)}, a_document(rules=rules))
    adopt(scene)
    a_source(scene.source, {"p=2/b": ids(3)})
    drift = observe_table(str(scene.location)).drift
    assert drift is not None
    assert drift.new_files == 0


def test_interrupted_run_is_seen_with_what_it_did(scene: Scene) -> None:
    """Enough to decide whether it can be resumed."""

    def stop() -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        adopt(scene, tasks=Meddling(after=WRITING, act=stop))
    pending = seen(scene).pending
    assert pending is not None
    assert pending.instant == FIRST
    assert pending.files_done == 3
    assert pending.spec_hash is not None
    assert not pending.published
    assert pending.held_by is None


def test_live_run_is_seen_as_held(scene: Scene) -> None:
    """By this process."""

    def stop() -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        adopt(scene, tasks=Meddling(after=WRITING, act=stop))
    write_id = str(getattr(seen(scene).pending, "write_id", ""))
    acquire(LocalStorage(str(scene.location)), Owner.here(write_id), SystemClock())
    pending = seen(scene).pending
    assert pending is not None
    assert pending.held_by is not None
    assert pending.held_by.startswith("process ")


def test_foreign_content_at_the_target_is_named(scene: Scene) -> None:
    """A few names, where there is no table."""
    scene.location.mkdir()
    for number in range(9):
        (scene.location / f"file{number}").touch()
    content = seen(scene).table.foreign_content
    assert content
    assert set(content) <= {f"file{number}" for number in range(9)}
    assert len(content) < 9


def test_foreign_pending_instant_is_named(scene: Scene) -> None:
    """Another writer is at work."""
    adopt(scene)
    (scene.location / ".hoodie" / "20260101000000000.commit.requested").touch()
    assert observe_table(str(scene.location)).foreign_pending == (
        "20260101000000000.commit.requested",
    )


def test_metadata_table_is_seen(scene: Scene) -> None:
    """By its folder."""
    adopt(scene)
    assert not observe_table(str(scene.location)).metadata_table
    (scene.location / ".hoodie" / "metadata" / ".hoodie").mkdir(parents=True)
    (scene.location / ".hoodie" / "metadata" / ".hoodie" / "x").touch()
    assert observe_table(str(scene.location)).metadata_table
