"""Dangers that `status` reports, on tables of Lakestrap and of Apache Hudi."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from framework.engine.inspect.status import table_status
from framework.engine.reading.load_history import history
from framework.hudi.commit.lease import Owner, acquire
from framework.hudi.storage.local import LocalStorage
from framework.hudi.timeline.clock import SystemClock
from tests.golden.tables.opening import golden_names, open_golden
from tests.support.meddling import WRITING, Meddling
from tests.support.scenes import Scene, a_document, a_scene, adopt
from tests.support.sources import a_source, ids


@pytest.fixture
def table(tmp_path: Path) -> Scene:
    """An adopted table: two skeletons, one full file."""
    rules = [{"partition": "p=3", "mode": "full_record"}]
    files = {"p=1/a": ids(1, 2), "p=2/a": ids(3), "p=3/a": ids(4)}
    scene = a_scene(tmp_path / "scene", files, a_document(rules=rules))
    adopt(scene)
    return scene


def dangers(scene: Scene) -> list[str]:
    """Return the conditions of the dangers."""
    return [each.condition for each in table_status(str(scene.location)).dangers]


def test_slices_are_counted_by_kind(table: Scene) -> None:
    """Bytes are those of the table alone."""
    status = table_status(str(table.location))
    assert status.slices is not None
    assert (status.slices.partitions, status.slices.skeletons, status.slices.full) == (3, 2, 1)
    files = [p for p in table.location.glob("p=*/*.parquet") if not p.name.startswith(".")]
    assert status.slices.bytes == sum(p.stat().st_size for p in files)
    assert status.completed == ("00000000000001",)
    assert status.source == str(table.source)
    assert status.dangers == ()


def test_nothing_is_no_table(tmp_path: Path) -> None:
    """Neither a danger nor an error."""
    status = table_status(str(tmp_path / "nothing"))
    assert not status.exists
    assert status.slices is None
    assert status.dangers == ()


def set_property(scene: Scene, name: str, value: str) -> None:
    """Change one property, and leave out the checksum that would no longer fit."""
    old = re.compile(rf"^({re.escape(name)}|hoodie\.table\.checksum)=.*\n", re.MULTILINE)
    for file in (scene.location / ".hoodie").glob("hoodie.properties*"):
        file.write_text(f"{old.sub('', file.read_text())}{name}={value}\n")


def upgrade(scene: Scene) -> None:
    """As another writer would."""
    set_property(scene, "hoodie.table.version", "8")


def begin_foreign(scene: Scene) -> None:
    """A write that does not end."""
    (scene.location / ".hoodie" / "20260101000000000.commit.requested").touch()


def add_metadata(scene: Scene) -> None:
    """As a Hudi job with default options would."""
    set_property(scene, "hoodie.table.metadata.partitions", "files")


def add_statistics(scene: Scene) -> None:
    """Column statistics beside skeletons."""
    set_property(scene, "hoodie.table.metadata.partitions", "files,column_stats")


def lose(scene: Scene) -> None:
    """A source file of a skeleton."""
    (scene.source / "p=1" / "a").unlink()


def grow(scene: Scene) -> None:
    """A file that the table does not know."""
    a_source(scene.source, {"p=1/z": ids(9)})


@pytest.mark.parametrize(
    ("act", "expected"),
    [
        (upgrade, {"table/other-version"}),
        (begin_foreign, {"table/foreign-pending"}),
        (add_metadata, {"table/metadata-table"}),
        (add_statistics, {"table/metadata-table", "table/statistics-over-skeletons"}),
        (lose, {"source/drifted"}),
        (grow, {"source/grown"}),
    ],
)
def test_each_danger_is_reported_with_a_remedy(
    table: Scene, act: Callable[[Scene], None], expected: set[str]
) -> None:
    """And no other beside it."""
    act(table)
    found = table_status(str(table.location)).dangers
    assert {each.condition for each in found} == expected
    assert all(each.message and each.remedy for each in found)


def test_statistics_are_no_danger_without_skeletons(tmp_path: Path) -> None:
    """The metadata table still is."""
    scene = a_scene(tmp_path / "full", {"p=1/a": ids(1)}, a_document(mode="full_record"))
    adopt(scene)
    add_statistics(scene)
    assert dangers(scene) == ["table/metadata-table"]


def test_active_run_is_not_reported_as_interrupted(tmp_path: Path) -> None:
    """The lease shows whether a run is alive."""
    scene = a_scene(tmp_path / "scene", {"p=1/a": ids(1)})

    def stop() -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        adopt(scene, tasks=Meddling(after=WRITING, act=stop))
    cut_off = table_status(str(scene.location))
    assert cut_off.pending
    assert cut_off.lease == ""
    acquire(LocalStorage(str(scene.location)), Owner.here("a" * 32), SystemClock())
    alive = table_status(str(scene.location))
    assert alive.lease.startswith("process ")
    assert alive.pending
    assert alive.pending != cut_off.pending
    assert dangers(scene) == []


def test_history_lists_each_instant_with_its_proof(table: Scene) -> None:
    """Files, rows and bytes are the commit's own."""
    (event,) = history(str(table.location))
    assert (event.instant, event.action, event.state) == ("00000000000001", "commit", "completed")
    assert (event.files, event.rows) == (3, 4)
    assert event.write_id is not None
    assert event.audit["unique"] is True


def test_history_lists_pending_instants_too(table: Scene) -> None:
    """Without numbers, which only a commit has."""
    begin_foreign(table)
    event = history(str(table.location))[-1]
    assert event.state != "completed"
    assert (event.operation, event.files, event.write_id, event.audit) == ("", 0, None, {})


def test_history_of_nothing_is_empty(tmp_path: Path) -> None:
    """No table, no instants."""
    assert history(str(tmp_path / "nothing")) == ()


@pytest.mark.parametrize("name", golden_names())
def test_tables_of_apache_hudi_have_a_status_and_a_history(name: str) -> None:
    """Made by its own releases: no proof of ours, no source of ours, every commit counted."""
    location = str(open_golden(name).location)
    status = table_status(location)
    assert status.exists
    assert (status.source, status.lease, status.pending) == ("", "", "")
    events = [each for each in history(location) if each.operation]
    assert events
    assert all(each.write_id is None and each.audit == {} for each in events)
    assert all(each.files > 0 and each.rows > 0 and each.bytes > 0 for each in events)
    assert (status.slices is not None and status.slices.skeletons > 0) is ("bootstrapped" in name)
