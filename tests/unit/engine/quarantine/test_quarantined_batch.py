"""A data set goes as a whole, at whatever step its removal is cut off."""

from __future__ import annotations

from itertools import count
from pathlib import Path

from framework.engine.quarantine.datasets import sweep, waiting
from framework.engine.quarantine.quarantined_batch import discard, instant_folder, read_batch
from framework.hudi.storage.locations import open_storage
from tests.support.fault_storage import FaultStorage, Killed
from tests.support.quarantine import hand_made, published_run
from tests.support.scenes import a_scene, adopt
from tests.support.sources import ids

LATER, RUN = "20260101000000000", "a" * 32


def test_discard_that_is_killed_at_any_step_leaves_the_whole_data_set_or_none(
    tmp_path: Path,
) -> None:
    """What is left without its name, the next sweep removes."""
    scene = a_scene(tmp_path / "scene", {"p=1/a": ids(1, 2)})
    adopt(scene)
    place, table = tmp_path / "quarantine", str(scene.location)
    kept = hand_made(place, scene.location, *published_run(scene.location))
    left = set()
    for step in count(1):
        made = hand_made(place, scene.location, LATER, RUN)
        dying = FaultStorage(open_storage(str(place)), kill_at=step)
        try:
            discard(dying, made, table)
        except Killed:
            named = (place / instant_folder(LATER)).exists()
            if named:
                assert read_batch(open_storage(str(place)), instant_folder(LATER)) == made
            left.add(named)
            assert waiting(table, str(place)) == (kept,)
            sweep(table, str(place))
        assert {path.name for path in place.iterdir()} == {instant_folder(kept.instant)}
        if not dying.dead:
            break
    assert left == {True, False}
    assert step > 4
