"""Begin, publish and finish against other writers, failing storages and lost replies."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from uuid import uuid4

import pytest

from framework.errors import (
    AfterCommitError,
    CommitConflictError,
    CorruptFileError,
    FrameworkError,
    OutcomeUnknownError,
    PlanError,
    StorageError,
    UnsupportedTableError,
    Where,
)
from framework.hudi.commit.intent import Transaction, read_intent
from framework.hudi.commit.links import link_files
from framework.hudi.commit.statuses import AuditedFiles, WrittenFiles, written_files
from framework.hudi.commit.transaction import Publication, begin, finish, publish
from framework.hudi.storage.memory import MemoryStorage
from framework.hudi.storage.port import Move
from framework.hudi.table.layout import BOOTSTRAP_INSTANT, PROPERTIES
from framework.hudi.timeline.commit_body import read_commit
from framework.hudi.timeline.commit_metadata import read_commit_head
from framework.hudi.timeline.instant import Action
from framework.hudi.timeline.timeline import load_timeline
from tests.support.fault_storage import FaultStorage
from tests.support.storage_suite import put, read, tree
from tests.support.transactions import (
    PROPERTIES_TEXT,
    WRITE_ID,
    a_transaction,
    an_intent,
    bootstrap,
    stage_files,
    visible_files,
)

COMMIT = f".hoodie/{BOOTSTRAP_INSTANT}.commit"
PUBLICATION = Publication(extra={"schema": "{}"}, properties=PROPERTIES_TEXT)


@pytest.fixture
def storage() -> Iterator[MemoryStorage]:
    """Return an empty storage."""
    found = MemoryStorage(uuid4().hex)
    yield found
    found.forget()


def ready(
    storage: MemoryStorage, *, outer: FaultStorage | None = None
) -> tuple[Transaction, AuditedFiles]:
    """Return a transaction that is about to publish, and its audited files."""
    transaction = a_transaction(outer or storage)
    begin(transaction)
    segments = stage_files(storage, transaction.intent)
    link_files(transaction, segments)
    return transaction, AuditedFiles(written=written_files(segments), proof={"unique": True})


def condition_of(kind: type[FrameworkError], action: Callable[[], object]) -> str:
    """Return the condition of the error of this kind that `action` raises."""
    with pytest.raises(kind) as caught:
        action()
    return caught.value.condition


def test_begin_makes_a_pending_instant_with_our_write_id(storage: MemoryStorage) -> None:
    """Requested and inflight say whose they are; there is no table yet."""
    transaction = a_transaction(storage)
    begin(transaction)
    (instant,) = load_timeline(storage).instants
    assert instant == transaction.intent.inflight
    for each in (transaction.intent.requested, instant):
        head = read_commit_head(storage, each.path)
        assert head.extra == {"lakestrap.write_id": WRITE_ID, "lakestrap.spec_hash": "0123"}
        assert head.operation == "BOOTSTRAP"
    assert visible_files(storage) is None
    assert read_intent(storage, transaction.intent.staging.root) == transaction.intent


def test_begin_again_with_the_same_intent_changes_nothing(storage: MemoryStorage) -> None:
    """Resuming finds what is there; what an earlier process had ready to publish is dropped."""
    transaction = a_transaction(storage)
    begin(transaction)
    before = tree(storage)
    put(storage, transaction.intent.staging.new_publish(), b"late commit")
    begin(transaction)
    assert tree(storage) == before


def test_begin_over_the_instant_of_another_run_is_a_conflict(storage: MemoryStorage) -> None:
    """Another write id under our instant is never overwritten."""
    begin(a_transaction(storage))
    storage.delete(".hoodie/.lakestrap")
    other = a_transaction(storage, an_intent(write_id="b" * 32))
    assert condition_of(CommitConflictError, lambda: begin(other)) == "commit/name-taken"


@pytest.mark.parametrize(
    ("path", "kind", "condition"),
    [
        ("p=1/data.parquet", PlanError, "folder-not-empty"),
        ("x.parquet", PlanError, "folder-not-empty"),
        (PROPERTIES, CommitConflictError, "table-exists"),
        (f"{PROPERTIES}.backup", CommitConflictError, "table-exists"),
        (".hoodie/metadata/x", UnsupportedTableError, "metadata-table"),
        (".hoodie/20260101000000000.inflight", CommitConflictError, "foreign-pending"),
        (".hoodie/20260101000000000.commit", CommitConflictError, "newer-instant"),
        (f".hoodie/{BOOTSTRAP_INSTANT}.deltacommit", CommitConflictError, "instant-taken"),
    ],
)
def test_begin_of_a_new_table_where_something_is_raises(
    storage: MemoryStorage, path: str, kind: type[FrameworkError], condition: str
) -> None:
    """Neither a table, nor files of others, nor another writer may be there; nothing is made."""
    put(storage, path)
    transaction = a_transaction(storage)
    before = tree(storage)
    assert condition_of(kind, lambda: begin(transaction)) == f"commit/{condition}"
    assert tree(storage) == before


def test_publish_makes_the_commit_and_the_table(storage: MemoryStorage) -> None:
    """The commit names every file, has proof and properties, and the table exists."""
    transaction, audited = ready(storage)
    instant = publish(transaction, audited, PUBLICATION)
    assert instant.path == COMMIT
    head = read_commit_head(storage, COMMIT)
    assert head.extra["schema"] == "{}"
    assert head.extra["lakestrap.write_id"] == WRITE_ID
    assert head.extra["lakestrap.properties"] == PROPERTIES_TEXT
    assert json.loads(head.extra["lakestrap.audit"]) == {"unique": True}
    stats = list(read_commit(storage, COMMIT))
    assert {stat.path for stat in stats} == set(visible_files(storage) or ())
    assert sum(stat.rows for stat in stats) == audited.written.rows
    assert all(stat.previous is None and stat.inserts == stat.rows for stat in stats)
    assert read(storage, PROPERTIES).decode() == PROPERTIES_TEXT
    finish(transaction)
    assert storage.stat(".hoodie/.lakestrap") is None
    assert storage.stat(".hoodie/.temp") is None


def test_bootstrap_into_a_table_by_an_ordinary_instant_keeps_what_is_there(
    storage: MemoryStorage,
) -> None:
    """A later write makes no properties and may follow completed instants."""
    bootstrap(a_transaction(storage))
    before = visible_files(storage)
    time = "20260101000000000"
    intent = an_intent(write_id="b" * 32, requested_time=time, is_new_table=False)
    transaction = a_transaction(storage, intent)
    begin(transaction)
    empty = AuditedFiles(written=written_files(()), proof={})
    publish(transaction, empty, Publication())
    finish(transaction)
    assert load_timeline(storage).is_completed(time)
    assert visible_files(storage) == before


@pytest.mark.parametrize(
    ("path", "kind", "condition"),
    [
        (".hoodie/20260101000000000.inflight", CommitConflictError, "foreign-pending"),
        (".hoodie/20260101000000000.commit", CommitConflictError, "newer-instant"),
        (f".hoodie/{BOOTSTRAP_INSTANT}.rollback", CommitConflictError, "instant-taken"),
        (".hoodie/metadata/x", UnsupportedTableError, "metadata-table"),
        (PROPERTIES, CommitConflictError, "table-exists"),
    ],
)
def test_publish_after_another_writer_came_raises(
    storage: MemoryStorage, path: str, kind: type[FrameworkError], condition: str
) -> None:
    """Whatever appeared since begin is seen just before the link."""
    transaction, audited = ready(storage)
    put(storage, path)
    found = condition_of(kind, lambda: publish(transaction, audited, PUBLICATION))
    assert found == f"commit/{condition}"
    assert storage.stat(COMMIT) is None


@pytest.mark.parametrize("name", ["commit.requested", "inflight"])
@pytest.mark.parametrize("data", [None, b"", b"{}"])
def test_publish_after_our_pending_instant_changed_raises(
    storage: MemoryStorage, name: str, data: bytes | None
) -> None:
    """Apache Hudi may have rolled us back: both files must hold what we wrote."""
    transaction, audited = ready(storage)
    storage.delete(f".hoodie/{BOOTSTRAP_INSTANT}.{name}")
    if data is not None:
        put(storage, f".hoodie/{BOOTSTRAP_INSTANT}.{name}", data)
    with pytest.raises(CommitConflictError) as caught:
        publish(transaction, audited, PUBLICATION)
    assert caught.value.condition == "commit/pending-changed"
    assert storage.stat(COMMIT) is None


def test_publish_without_a_required_file_raises(storage: MemoryStorage) -> None:
    """With half of the index missing, data columns would be NULL in silence."""
    transaction, audited = ready(storage)
    publication = Publication(properties=PROPERTIES_TEXT, required=(".hoodie/.aux/index",))
    with pytest.raises(CommitConflictError) as caught:
        publish(transaction, audited, publication)
    assert caught.value.condition == "commit/file-missing"


def test_publish_of_fewer_files_than_were_audited_raises(storage: MemoryStorage) -> None:
    """What is published is what was audited."""
    transaction, audited = ready(storage)
    written = audited.written
    more = WrittenFiles(
        segments=written.segments, files=written.files + 1, rows=written.rows, bytes=written.bytes
    )
    with pytest.raises(CorruptFileError) as caught:
        publish(transaction, AuditedFiles(written=more, proof={}), PUBLICATION)
    assert caught.value.condition == "commit/file-count"
    assert storage.stat(COMMIT) is None


class BrokenLink(FaultStorage):
    """A storage whose link of the completed instant ends in a way of our choice."""

    happens = True
    condition = "storage/failed"
    answers_after = True
    broken = False

    def move(self, moves: Sequence[Move]) -> None:
        """Move, and raise at the completed instant."""
        if moves[0].target != COMMIT:
            super().move(moves)
            return
        if self.happens:
            super().move(moves)
        self.broken = not self.answers_after
        raise StorageError(self.condition, "no reply", where=Where(file=COMMIT))

    def _breathe(self) -> None:
        """Answer nothing more, if so chosen."""
        super()._breathe()
        if self.broken:
            raise StorageError("storage/failed", "no route to host", where=Where(file="x"))


@pytest.mark.parametrize(
    ("happens", "condition", "answers_after", "kind"),
    [
        (True, "storage/failed", True, None),
        (True, "storage/not-durable", True, OutcomeUnknownError),
        (True, "storage/failed", False, OutcomeUnknownError),
        (False, "storage/failed", False, OutcomeUnknownError),
        (False, "storage/full", True, StorageError),
        (False, "storage/not-found", True, CommitConflictError),
    ],
)
def test_publish_whose_link_fails_has_one_of_three_outcomes(
    storage: MemoryStorage,
    *,
    happens: bool,
    condition: str,
    answers_after: bool,
    kind: type[FrameworkError] | None,
) -> None:
    """Committed where our own write id is read back, not committed, or unknown; never a guess."""
    outer = BrokenLink(storage)
    outer.happens, outer.condition, outer.answers_after = happens, condition, answers_after
    transaction, audited = ready(storage, outer=outer)
    if kind is None:
        assert publish(transaction, audited, PUBLICATION).path == COMMIT
        assert visible_files(storage)
    else:
        with pytest.raises(kind):
            publish(transaction, audited, PUBLICATION)
        assert (storage.stat(COMMIT) is not None) == happens
        assert storage.stat(PROPERTIES) is None


def test_publish_beside_a_commit_of_another_run_is_a_conflict(storage: MemoryStorage) -> None:
    """The instant is there, but it is not ours."""

    class Overtaken(FaultStorage):
        """Another writer's commit appears at the last moment."""

        def move(self, moves: Sequence[Move]) -> None:
            """Be late."""
            if moves[0].target == COMMIT:
                put(self.inner, COMMIT, b"{}")
            super().move(moves)

    transaction, audited = ready(storage, outer=Overtaken(storage))
    with pytest.raises(CommitConflictError) as caught:
        publish(transaction, audited, PUBLICATION)
    assert caught.value.condition == "commit/instant-taken"


def test_finish_that_fails_reports_that_the_commit_is_published(storage: MemoryStorage) -> None:
    """Nothing after the commit turns success into failure."""
    outer = FaultStorage(storage)
    transaction, audited = ready(storage, outer=outer)
    publish(transaction, audited, PUBLICATION)
    outer.fail_at = outer.steps + 1
    with pytest.raises(AfterCommitError) as caught:
        finish(transaction)
    assert caught.value.condition == "commit/cleanup"
    assert visible_files(storage)


OLDER, NOW, NEWER = "20260101000000000", "20260102000000000", "20260103000000000"


@pytest.mark.parametrize(
    ("name", "executes", "condition"),
    [
        (f"{OLDER}.compaction.requested", False, None),
        (f"{OLDER}.compaction.inflight", False, None),
        (f"{NEWER}.compaction.requested", False, "newer-instant"),
        (f"{OLDER}.logcompaction.requested", False, "foreign-pending"),
        (f"{NEWER}.compaction.requested", True, None),
        (f"{NEWER}.deltacommit", True, None),
        (f"{NEWER}.deltacommit.inflight", True, None),
        (f"{OLDER}.deltacommit.inflight", True, "foreign-pending"),
        (f"{NEWER}.replacecommit.requested", True, "foreign-pending"),
    ],
)
def test_begin_beside_other_instants_depends_on_what_they_write(
    storage: MemoryStorage, name: str, condition: str | None, *, executes: bool
) -> None:
    """Writers respect pending compactions, and an execution writes only to slices of its own."""
    intent = an_intent(requested_time=NOW, is_new_table=False)
    if executes:
        plan = base64.b64encode(b"plan").decode()
        intent = replace(intent, action=Action.COMPACTION, plan=plan, executes=plan)
        put(storage, intent.requested.path, b"plan")
    put(storage, f".hoodie/{name}")
    transaction = a_transaction(storage, intent)
    if condition is None:
        begin(transaction)
        return
    before = tree(storage)
    assert condition_of(CommitConflictError, lambda: begin(transaction)) == f"commit/{condition}"
    assert tree(storage) == before


def test_execution_of_a_plan_that_has_gone_does_not_make_it_again(storage: MemoryStorage) -> None:
    """Another writer has removed the plan, so its slices are no longer new ones."""
    plan = base64.b64encode(b"plan").decode()
    intent = replace(
        an_intent(requested_time=NOW, is_new_table=False),
        action=Action.COMPACTION,
        plan=plan,
        executes=plan,
    )
    transaction = a_transaction(storage, intent)
    before = tree(storage)
    found = condition_of(CommitConflictError, lambda: begin(transaction))
    assert found == "commit/pending-changed"
    assert tree(storage) == before
