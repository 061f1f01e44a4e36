"""The kept view where instants are hard to follow."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest

from framework.hudi.table.layout import BOOTSTRAP_INSTANT, name_of
from tests.support.bootstrap_index import BASE_URI
from tests.support.storage_suite import put
from tests.support.timeline_metadata import (
    Cleaned,
    Operation,
    RolledBack,
    clean_bytes,
    compaction_plan_bytes,
    rollback_bytes,
)
from tests.support.view_scene import BASE, LOG, Scene, replacing, write_index_of


def test_rollback_that_could_not_delete_a_file_leaves_it_out(scene: Scene) -> None:
    """What was rolled back is no part of the table, whether its file is there or not."""
    scene.write(LOG)
    scene.commit("2.deltacommit", LOG)
    scene.view.sync()
    assert len(scene.shown()["a"]) == 2
    scene.unsay("2.deltacommit")
    scene.say("3.rollback", rollback_bytes("3", ["2"], {"p": RolledBack(failed=[LOG])}))
    scene.view.sync()
    assert scene.shown() == {"a": [("a_0-0-0_1.parquet", 2)]}
    assert scene.view.counts.resets == 0


def test_commit_of_a_file_outside_of_its_partition_begins_anew(scene: Scene) -> None:
    """The file's partition is unclear, so everything is listed again."""
    put(scene.storage, "q/.hoodie_partition_metadata")
    assert scene.shown("q") == {}
    scene.write("q/b_0-0-0_2.parquet")
    scene.commit("2.commit", "q/b_0-0-0_2.parquet")
    scene.view.sync()
    assert scene.view.counts.resets == 1
    assert scene.shown("q") == {"b": [("b_0-0-0_2.parquet", 2)]}


@pytest.mark.parametrize("asked", ["p", "none"])
def test_bootstrap_that_the_view_saw_unfinished_has_its_sources(asked: str) -> None:
    """The index is opened again once skeletons complete, whatever was loaded before."""
    scene = Scene()
    scene.say(f"{BOOTSTRAP_INSTANT}.inflight")
    assert scene.shown(asked) == {}
    scene.view.forget()
    assert scene.shown(asked) == {}
    skeleton = f"p/a_0-0-0_{BOOTSTRAP_INSTANT}.parquet"
    scene.write(skeleton)
    write_index_of(scene.storage)
    scene.commit(f"{BOOTSTRAP_INSTANT}.commit", skeleton)
    scene.view.sync()
    (found,) = scene.view.latest_slices("p")
    assert found.bootstrap is not None
    assert found.bootstrap.uri == f"{BASE_URI}/p/a.parquet"
    scene.storage.forget()


def test_table_made_anew_while_nothing_was_loaded_has_its_own_index() -> None:
    """An index that was opened for a deleted table is not used for the next."""
    scene = Scene()
    skeleton = f"p/a_0-0-0_{BOOTSTRAP_INSTANT}.parquet"
    for size in (7, 8):
        scene.write(skeleton)
        write_index_of(scene.storage, size)
        scene.commit(f"{BOOTSTRAP_INSTANT}.commit", skeleton)
        scene.view.sync()
        (found,) = scene.view.latest_slices("p")
        assert found.bootstrap is not None
        assert found.bootstrap.size == size
        scene.view.store.clear()  # as a store may at any time
        scene.storage.delete(".hoodie", skeleton)
        scene.view.sync()
    scene.storage.forget()


def test_plan_that_was_seen_before_it_was_written_counts_once_it_is(scene: Scene) -> None:
    """A file that is made and then filled says nothing at first; that is not remembered."""
    scene.write(LOG)
    scene.commit("2.deltacommit", LOG)
    scene.say("3.compaction.requested")
    scene.view.sync()
    assert not scene.view.facts.compactions
    scene.unsay("3.compaction.requested")
    operation = Operation(partition_path="p", file_id="a", base_instant="1")
    scene.say("3.compaction.requested", compaction_plan_bytes([operation]))
    scene.view.sync()
    assert [each.file_id for each in scene.view.facts.compactions] == ["a"]


def test_instants_are_followed_in_the_order_in_which_they_completed(scene: Scene) -> None:
    """A writer that began before a rollback may write the name that the rollback freed."""
    scene.say("2.deltacommit.requested")
    scene.say("3.deltacommit.requested")
    scene.view.sync()
    scene.unsay("2.deltacommit.requested")
    scene.say("4.rollback", rollback_bytes("4", ["2"], {"p": RolledBack(deleted=[LOG])}))
    scene.write(LOG)
    scene.commit("3.deltacommit", LOG)
    scene.view.sync()
    assert scene.shown()["a"] == [("a_0-0-0_1.parquet", 2), (name_of(LOG), 2)]


def test_log_file_recorded_by_two_writers_has_the_larger_size(scene: Scene) -> None:
    """The last to complete need not have written last; a log file never shrinks."""
    scene.write(LOG)
    scene.commit("3.deltacommit", LOG, size=9)
    scene.commit("2.deltacommit", LOG, size=5)
    scene.view.sync()
    assert scene.shown()["a"][1] == (name_of(LOG), 9)


def test_partition_that_was_made_again_while_it_was_cleaned_away_is_there(scene: Scene) -> None:
    """A clean deletes a partition before it completes; a commit in between makes a new one."""
    assert scene.shown(None)
    scene.write("p/b_0-0-0_3.parquet")
    scene.commit("3.commit", "p/b_0-0-0_3.parquet")
    scene.storage.delete(BASE)
    scene.say("2.clean", clean_bytes("2", {"p": Cleaned(deleted=[BASE], dropped=True)}))
    scene.view.sync()
    assert scene.shown(None) == {"b": [("b_0-0-0_3.parquet", 2)]}


def test_partition_that_was_cleaned_is_removed(scene: Scene) -> None:
    """Its folder is not there any more."""
    assert scene.shown(None)
    scene.storage.delete("p")
    scene.say("2.clean", clean_bytes("2", {"p": Cleaned(deleted=[BASE], dropped=True)}))
    scene.view.sync()
    assert list(scene.view.partitions()) == []
    assert scene.view.counts.resets == 0


def test_table_made_anew_takes_over_no_facts(scene: Scene) -> None:
    """A replacecommit of the same name may replace other groups."""
    for file_id in "ab":
        scene.storage.delete(".hoodie")
        scene.write("p/b_0-0-0_1.parquet")
        scene.commit("1.commit", BASE)
        scene.say("2.replacecommit", replacing(file_id))
        scene.view.sync()
        assert scene.view.facts.replaced == {"p": {file_id: "2"}}


def test_table_made_anew_at_the_same_time_by_another_action_is_seen(scene: Scene) -> None:
    """The instant's name is not there any more, yet its time counts."""
    scene.storage.delete(".hoodie", BASE)
    scene.commit("1.deltacommit")
    scene.view.sync()
    assert scene.view.counts.resets == 1
    assert scene.shown() == {}


def test_partitions_can_be_asked_for_without_holding_the_lock(scene: Scene) -> None:
    """An iteration that stops half way blocks no other caller."""
    found = scene.view.partitions()
    assert next(found) == "p"
    with ThreadPoolExecutor(1) as other:
        assert other.submit(scene.view.lock.acquire, blocking=False).result()
