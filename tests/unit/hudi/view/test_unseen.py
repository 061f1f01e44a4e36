"""The kept view where instants came and went between two looks."""

from __future__ import annotations

import pytest

from framework.hudi.view.port import Query, Selection
from tests.support.timeline_metadata import (
    Cleaned,
    clean_bytes,
    rollback_bytes,
)
from tests.support.view_scene import BASE, LOG, Scene


@pytest.mark.parametrize("seen", [0, 1])
def test_clean_that_was_archived_unseen_begins_anew(scene: Scene, seen: int) -> None:
    """Cleans are archived by their number, whatever commits are there still."""
    scene.write("p/a_0-0-0_2.parquet")
    scene.commit("2.commit", "p/a_0-0-0_2.parquet")
    if seen:
        scene.say("3.clean", clean_bytes("3", {}))
    scene.view.sync()
    scene.shown()
    scene.storage.delete(BASE)  # by a clean at 4, of which nothing is left
    scene.unsay("3.clean")
    for time in "56":
        scene.say(f"{time}.clean", clean_bytes(time, {}))
    scene.view.sync()
    query = Query(selection=Selection.BASE_ALL, partition_path="p")
    assert [each.base_instant for each in scene.view.select(query)] == ["2"]
    assert scene.view.counts.resets == 1


def test_clean_that_is_the_first_of_the_table_is_followed(scene: Scene) -> None:
    """One clean cannot have pushed another into the archive."""
    scene.write("p/a_0-0-0_2.parquet")
    scene.commit("2.commit", "p/a_0-0-0_2.parquet")
    scene.storage.delete(BASE)
    scene.say("3.clean", clean_bytes("3", {"p": Cleaned(deleted=[BASE])}))
    scene.view.sync()
    query = Query(selection=Selection.BASE_ALL, partition_path="p")
    assert [each.base_instant for each in scene.view.select(query)] == ["2"]
    assert scene.view.counts.resets == 0


def test_pending_clean_that_disappeared_forces_a_new_listing(scene: Scene) -> None:
    """It may have completed and been archived, though another is there still."""
    scene.write("p/a_0-0-0_2.parquet")
    scene.commit("2.commit", "p/a_0-0-0_2.parquet")
    scene.say("3.clean.requested")
    scene.say("4.clean", clean_bytes("4", {}))
    scene.view.sync()
    scene.shown()
    scene.unsay("3.clean.requested")
    scene.view.sync()
    assert scene.view.counts.resets == 1


def test_deltacommit_that_disappeared_without_a_rollback_forces_a_new_listing(scene: Scene) -> None:
    """Its files may have been listed, and their deletion was not recorded."""
    scene.say("2.deltacommit.requested")
    scene.write(LOG)
    scene.view.sync()
    scene.view.forget()
    assert len(scene.shown()["a"]) == 2
    scene.storage.delete(LOG)
    scene.unsay("2.deltacommit.requested")
    scene.view.sync()
    assert scene.shown() == {"a": [("a_0-0-0_1.parquet", 2)]}


def test_commit_that_disappeared_without_a_rollback_is_followed(scene: Scene) -> None:
    """Base files of pending instants are never kept, so there is nothing to forget."""
    scene.say("2.commit.requested")
    scene.write("p/a_0-0-0_2.parquet")
    scene.view.sync()
    scene.view.forget()
    scene.shown()
    resets = scene.view.counts.resets
    scene.storage.delete("p/a_0-0-0_2.parquet")
    scene.unsay("2.commit.requested")
    scene.view.sync()
    assert scene.shown() == {"a": [("a_0-0-0_1.parquet", 2)]}
    assert scene.view.counts.resets == resets


def test_file_that_was_listed_while_its_instant_counted_for_nothing_counts_later(
    scene: Scene,
) -> None:
    """Archived instants behind one that was held count for nothing once it is not held."""
    for time in "2345":
        scene.write(f"p/f{time}_0-0-0_{time}.parquet")
        scene.commit(f"{time}.commit", f"p/f{time}_0-0-0_{time}.parquet")
    scene.say("2.savepoint")
    scene.unsay("1.commit", "3.commit")
    scene.unsay("2.savepoint")
    scene.view.sync()
    scene.view.forget()
    assert set(scene.shown()) == {"a", "f2", "f4", "f5"}
    scene.unsay("2.commit")
    scene.view.sync()
    assert set(scene.shown()) == {"a", "f2", "f3", "f4", "f5"}


@pytest.mark.parametrize("pending", ["", "1.commit.requested"])
def test_first_commits_that_were_archived_unseen_begin_anew(pending: str) -> None:
    """A view that saw a table without a completed instant cannot know how many there were."""
    scene = Scene()
    if pending:
        scene.say(pending)
    assert scene.shown() == {}
    scene.unsay(pending)
    for time in "234":
        scene.write(f"p/f{time}_0-0-0_{time}.parquet")
    scene.commit("4.commit", "p/f4_0-0-0_4.parquet")
    scene.view.sync()
    assert set(scene.shown()) == {"f2", "f3", "f4"}
    scene.storage.forget()


def test_first_commit_that_the_view_saw_pending_is_followed() -> None:
    """Nothing can have been archived before an instant that is there still."""
    scene = Scene()
    scene.say("1.commit.requested")
    assert scene.shown() == {}
    scene.write(BASE)
    scene.commit("1.commit", BASE)
    scene.view.sync()
    assert set(scene.shown()) == {"a"}
    assert scene.view.counts.listings == 1


def test_compaction_that_was_rolled_back_and_then_archived_unseen_begins_anew(scene: Scene) -> None:
    """A rollback of one attempt does not determine the result of the next."""
    scene.say("2.compaction.requested")
    scene.view.sync()
    scene.shown()
    scene.write("p/a_0-0-0_2.parquet")
    scene.unsay("2.compaction.requested", "1.commit")
    scene.say("3.rollback", rollback_bytes("3", ["2"], {}))
    scene.commit("4.deltacommit")
    scene.view.sync()
    assert scene.shown() == {"a": [("a_0-0-0_2.parquet", 2)]}
