"""Data sets count by their run's commit; what died or was released goes, what is others' stays."""

from __future__ import annotations

from pathlib import Path

import pytest

from framework.engine.quarantine.datasets import clear_place, remove, sweep, waiting
from framework.engine.quarantine.quarantined_batch import gathering_folders
from framework.engine.quarantine.record import Record, read_record
from framework.errors import CorruptFileError, PlanError
from framework.hudi.timeline.instant import Instant
from framework.hudi.timeline.timeline import Timeline
from tests.support.quarantine import hand_made, published_run
from tests.support.scenes import Scene, a_scene, adopt, snapshot
from tests.support.sources import ids

RUN, OTHER_RUN = "a" * 32, "b" * 32
LATER = "20260101000000000"


@pytest.fixture
def scene(tmp_path: Path) -> Scene:
    """An adopted table."""
    scene = a_scene(tmp_path / "scene", {"p=1/a": ids(1, 2)})
    adopt(scene)
    return scene


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """Where rows are quarantined."""
    return tmp_path / "quarantine"


def test_data_set_of_a_published_run_waits(scene: Scene, place: Path) -> None:
    """With what its record says, and the files that there are."""
    made = hand_made(place, scene.location, *published_run(scene.location))
    assert waiting(str(scene.location), str(place)) == (made,)
    assert len(made.files) == 2


def test_place_of_rows_is_found_without_a_location_only_where_a_commit_names_it(
    scene: Scene, place: Path
) -> None:
    """This commit quarantined nothing."""
    hand_made(place, scene.location, *published_run(scene.location))
    assert waiting(str(scene.location)) == ()


def test_data_set_of_a_run_that_died_counts_for_nothing_and_is_swept(
    scene: Scene, place: Path
) -> None:
    """Its instant was never completed; what was on its way goes too."""
    hand_made(place, scene.location, LATER, RUN)
    for folder in gathering_folders(str(scene.location), RUN):
        (place / folder).mkdir()
    assert waiting(str(scene.location), str(place)) == ()
    sweep(str(scene.location), str(place))
    assert not place.exists()


def test_data_set_of_another_run_of_the_same_instant_counts_for_nothing(
    scene: Scene, place: Path
) -> None:
    """A bootstrap that died and one that was published have one instant."""
    instant, run_id = published_run(scene.location)
    assert run_id != RUN
    hand_made(place, scene.location, instant, RUN)
    assert waiting(str(scene.location), str(place)) == ()
    sweep(str(scene.location), str(place))
    assert not place.exists()


def test_resumed_run_keeps_its_quarantined_rows(scene: Scene, place: Path) -> None:
    """Under its name, and on the way there."""
    hand_made(place, scene.location, LATER, RUN)
    staged, _ = gathering_folders(str(scene.location), RUN)
    (place / staged).mkdir()
    before = snapshot(place)
    clear_place(str(place), str(scene.location), RUN)
    assert snapshot(place) == before
    clear_place(str(place), str(scene.location), OTHER_RUN)
    assert not place.exists()


def test_sweep_never_removes_what_is_of_another_table(
    scene: Scene, place: Path, tmp_path: Path
) -> None:
    """Whether it counts there or not, named or on its way."""
    other = tmp_path / "other"
    hand_made(place, other, LATER, RUN)
    for folder in gathering_folders(str(other), OTHER_RUN):
        (place / folder).mkdir()
    before = snapshot(place)
    sweep(str(scene.location), str(place))
    assert snapshot(place) == before
    assert waiting(str(scene.location), str(place)) == ()


def test_place_with_rows_of_another_table_is_refused(
    scene: Scene, place: Path, tmp_path: Path
) -> None:
    """Before anything is removed."""
    hand_made(place, tmp_path / "other", LATER, RUN)
    hand_made(place, scene.location, "20250101000000000", RUN)
    before = snapshot(place)
    with pytest.raises(PlanError) as caught:
        clear_place(str(place), str(scene.location), OTHER_RUN)
    assert caught.value.condition == "quarantine/of-another-table"
    assert snapshot(place) == before


def test_table_that_was_moved_keeps_its_rows(scene: Scene, place: Path, tmp_path: Path) -> None:
    """The commit's run id decides, not the path in the record."""
    instant, run_id = published_run(scene.location)
    hand_made(place, scene.location, instant, run_id)
    moved = tmp_path / "moved"
    scene.location.rename(moved)
    assert [each.instant for each in waiting(str(moved), str(place))] == [instant]
    clear_place(str(place), str(moved), OTHER_RUN)
    assert len(waiting(str(moved), str(place))) == 1


def test_record_that_was_modified_is_reported_and_never_removed(scene: Scene, place: Path) -> None:
    """Its owner is unknown."""
    hand_made(place, scene.location, LATER, RUN)
    record_file = place / f"instant={LATER}" / "_batch.json"
    record_file.write_text("{}")
    before = snapshot(place)
    with pytest.raises(CorruptFileError) as caught:
        waiting(str(scene.location), str(place))
    assert caught.value.condition == "quarantine/not-readable"
    sweep(str(scene.location), str(place))
    clear_place(str(place), str(scene.location), RUN)
    assert snapshot(place) == before


@pytest.mark.parametrize("name", ["instant=x", "instant=1", "notes.txt", ".staged-x"])
def test_what_is_no_data_set_is_left_alone(scene: Scene, place: Path, name: str) -> None:
    """Whatever created it."""
    place.mkdir()
    (place / name).mkdir()
    sweep(str(scene.location), str(place))
    assert waiting(str(scene.location), str(place)) == ()
    assert (place / name).exists()


def test_removed_data_set_leaves_no_empty_place(scene: Scene, place: Path) -> None:
    """Done again it changes nothing."""
    made = hand_made(place, scene.location, *published_run(scene.location))
    remove(made, made.table)
    remove(made, made.table)
    assert not place.exists()


@pytest.mark.parametrize(
    ("instant", "has_archive", "counts"),
    [
        ("20250101000000000", True, True),
        ("20250101000000000", False, False),
        ("20270101000000000", True, False),
        (LATER, True, False),
    ],
)
def test_instant_counts_where_the_archive_may_hold_it(
    place: Path, instant: str, *, has_archive: bool, counts: bool
) -> None:
    """It is older than the active timeline, and something was archived; else it never was."""
    table = place.parent / "table"
    made = hand_made(place, table, instant, RUN)
    only = Instant.parse(f"{LATER}.commit")
    assert only is not None
    record = Record(
        table=made.table,
        timeline=Timeline(instants=(only,)),
        runs={LATER: OTHER_RUN},
        has_archive=has_archive,
    )
    assert record.is_waiting(made) is counts


def test_record_of_no_table_is_empty(tmp_path: Path) -> None:
    """Nothing was published there."""
    record = read_record(str(tmp_path / "nowhere"))
    assert (record.runs, record.released, record.places) == ({}, {}, ())
