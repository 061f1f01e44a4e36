"""The kept view where the timeline is hard to follow: what it must read, and when begin anew."""

from __future__ import annotations

import io
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import TYPE_CHECKING
from uuid import uuid4

import pytest

from framework.hudi.bootstrap.index import FileMapping, IndexGroup, write_index
from framework.hudi.filegroup.names import LogFileName
from framework.hudi.storage.memory import MemoryStorage
from framework.hudi.table.layout import (
    BOOTSTRAP_FILEIDS_INDEX,
    BOOTSTRAP_INSTANT,
    BOOTSTRAP_PARTITIONS_INDEX,
    name_of,
)
from framework.hudi.timeline.commit_metadata import CommitHead, LogAppend, WriteStat, write_commit
from framework.hudi.view.incremental import IncrementalView
from framework.hudi.view.port import Query, Selection
from framework.hudi.view.stores.memory import MemoryStore
from tests.support.bootstrap_index import BASE_URI, CREATED_MS
from tests.support.storage_suite import put
from tests.support.timeline_metadata import (
    Cleaned,
    Operation,
    RolledBack,
    clean_bytes,
    compaction_plan_bytes,
    rollback_bytes,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

BASE = "p/a_0-0-0_1.parquet"
LOG = "p/.a_1.log.1_0-0-0"


@dataclass
class Scene:
    """A table with one partition `p`, and the view of it."""

    storage: MemoryStorage = field(default_factory=lambda: MemoryStorage(uuid4().hex))

    def __post_init__(self) -> None:
        """Make the partition and the view."""
        put(self.storage, "p/.hoodie_partition_metadata")
        self.view = IncrementalView(self.storage, MemoryStore())

    def write(self, *paths: str) -> None:
        """Lay files of two bytes, in place of what is there."""
        self.storage.delete(*paths)
        for path in paths:
            put(self.storage, path, b"12")

    def say(self, name: str, data: bytes = b"") -> None:
        """Write a file of the timeline."""
        put(self.storage, f".hoodie/{name}", data)

    def unsay(self, *names: str) -> None:
        """Take files from the timeline."""
        self.storage.delete(*(f".hoodie/{name}" for name in names))

    def commit(self, name: str, *paths: str, size: int = 2, told: str = "p") -> None:
        """Write a commit of files that are in the partition `told`."""
        out = io.BytesIO()
        stats = [_stat(path, size, told) for path in paths]
        write_commit(out, CommitHead(), [(told, stats)], replaced=None)
        self.say(name, out.getvalue())

    def shown(self, partition: str | None = "p") -> dict[str, list[tuple[str, int]]]:
        """Return names and sizes of the files of each newest slice, by file id."""
        query = Query(selection=Selection.LATEST, partition_path=partition)
        found = self.view.select(query)
        return {
            each.group.file_id: [
                (str(file.name), file.size) for file in (each.base, *each.logs) if file
            ]
            for each in found
        }


@pytest.fixture
def scene() -> Iterator[Scene]:
    """Return a table that holds one commit, which the view knows."""
    found = Scene()
    found.write(BASE)
    found.commit("1.commit", BASE)
    assert found.shown() == {"a": [("a_0-0-0_1.parquet", 2)]}
    yield found
    found.storage.forget()


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
    """Where the file belongs cannot be told, so nothing is taken for known."""
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
    _write_index(scene.storage)
    scene.commit(f"{BOOTSTRAP_INSTANT}.commit", skeleton)
    scene.view.sync()
    (found,) = scene.view.latest_slices("p")
    assert found.bootstrap is not None
    assert found.bootstrap.uri == f"{BASE_URI}/p/a.parquet"
    scene.storage.forget()


def test_table_made_anew_while_nothing_was_loaded_has_its_own_index() -> None:
    """An index that was opened for a table that is gone is not asked about the next."""
    scene = Scene()
    skeleton = f"p/a_0-0-0_{BOOTSTRAP_INSTANT}.parquet"
    for size in (7, 8):
        scene.write(skeleton)
        _write_index(scene.storage, size)
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


def test_clean_that_was_pending_and_is_gone_begins_anew(scene: Scene) -> None:
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


def test_deltacommit_that_is_gone_without_a_rollback_begins_anew(scene: Scene) -> None:
    """What it wrote may have been listed, and nothing told that it was deleted."""
    scene.say("2.deltacommit.requested")
    scene.write(LOG)
    scene.view.sync()
    scene.view.forget()
    assert len(scene.shown()["a"]) == 2
    scene.storage.delete(LOG)
    scene.unsay("2.deltacommit.requested")
    scene.view.sync()
    assert scene.shown() == {"a": [("a_0-0-0_1.parquet", 2)]}


def test_commit_that_is_gone_without_a_rollback_is_followed(scene: Scene) -> None:
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


def test_log_file_of_which_two_writers_tell_is_as_large_as_the_larger_says(scene: Scene) -> None:
    """Whoever completes last need not have written last; a log file never shrinks."""
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


def test_partition_that_was_cleaned_away_is_gone(scene: Scene) -> None:
    """Its folder is not there any more."""
    assert scene.shown(None)
    scene.storage.delete("p")
    scene.say("2.clean", clean_bytes("2", {"p": Cleaned(deleted=[BASE], dropped=True)}))
    scene.view.sync()
    assert list(scene.view.partitions()) == []
    assert scene.view.counts.resets == 0


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
    """A rollback of one attempt does not tell what became of the next."""
    scene.say("2.compaction.requested")
    scene.view.sync()
    scene.shown()
    scene.write("p/a_0-0-0_2.parquet")
    scene.unsay("2.compaction.requested", "1.commit")
    scene.say("3.rollback", rollback_bytes("3", ["2"], {}))
    scene.commit("4.deltacommit")
    scene.view.sync()
    assert scene.shown() == {"a": [("a_0-0-0_2.parquet", 2)]}


def test_table_made_anew_takes_over_no_facts(scene: Scene) -> None:
    """A replacecommit of the same name may replace other groups."""
    for file_id in "ab":
        scene.storage.delete(".hoodie")
        scene.write("p/b_0-0-0_1.parquet")
        scene.commit("1.commit", BASE)
        scene.say("2.replacecommit", _replacing(file_id))
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
    """Whoever stops half way through them keeps nobody waiting."""
    found = scene.view.partitions()
    assert next(found) == "p"
    with ThreadPoolExecutor(1) as other:
        assert other.submit(scene.view.lock.acquire, blocking=False).result()


def _stat(path: str, size: int, partition: str) -> WriteStat:
    """Return what a commit says of a file."""
    log = LogFileName.parse(name_of(path))
    return WriteStat(
        file_id="a",
        path=path,
        partition_path=partition,
        rows=1,
        size=size,
        log=LogAppend(version=log.version) if log else None,
    )


def _replacing(file_id: str) -> bytes:
    """Return a replacecommit that replaces one group."""
    out = io.BytesIO()
    write_commit(out, CommitHead(), [], replaced={"p": [file_id]})
    return out.getvalue()


def _write_index(storage: MemoryStorage, size: int = 7) -> None:
    """Write an index of the one group `a`."""
    file = FileMapping(file_id="a", uri=f"{BASE_URI}/p/a.parquet", size=size, mtime_ms=CREATED_MS)
    group = IndexGroup(partition_path="p", source_partition="p", files=(file,))
    partitions, fileids = io.BytesIO(), io.BytesIO()
    write_index(
        partitions, fileids, base_uri=BASE_URI, groups=lambda _: [group], created_ms=CREATED_MS
    )
    put(storage, BOOTSTRAP_PARTITIONS_INDEX, partitions.getvalue())
    put(storage, BOOTSTRAP_FILEIDS_INDEX, fileids.getvalue())
