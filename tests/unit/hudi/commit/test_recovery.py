"""What is found after a crash, and what must never be touched."""

from __future__ import annotations

from collections.abc import Iterator
from uuid import uuid4

import pytest

from framework.errors import CommitConflictError, CorruptFileError, UnsupportedTableError
from framework.hudi.codecs.avro import write_container
from framework.hudi.commit.intent import Intent
from framework.hudi.commit.lease import Lease, acquire, release
from framework.hudi.commit.links import link_files
from framework.hudi.commit.pending import PendingKind, find_pending
from framework.hudi.commit.recovery import roll_back, roll_forward
from framework.hudi.commit.transaction import begin
from framework.hudi.storage.memory import MemoryStorage
from framework.hudi.table.layout import BOOTSTRAP_INSTANT, PROPERTIES, PartitionMetadata
from framework.hudi.timeline.clock import ManualClock
from framework.hudi.timeline.requested_plans import REQUESTED_REPLACE
from tests.support.storage_suite import put, read, tree
from tests.support.transactions import (
    WRITE_ID,
    a_transaction,
    an_intent,
    bootstrap,
    dead_owner,
    stage_files,
    visible_files,
)

TIME = "20260101000000000"
OTHER = "b" * 32


@pytest.fixture
def storage() -> Iterator[MemoryStorage]:
    """Return an empty storage."""
    found = MemoryStorage(uuid4().hex)
    yield found
    found.forget()


def dead_run(storage: MemoryStorage, intent: Intent | None = None) -> None:
    """Leave a run that died after its files were linked."""
    transaction = a_transaction(storage, intent)
    begin(transaction)
    link_files(transaction, stage_files(storage, transaction.intent))


def taken(storage: MemoryStorage) -> Lease:
    """Take the lease, long after the dead run had it."""
    later = ManualClock()
    later.advance(10**9)
    return acquire(storage, dead_owner(OTHER), later)


def test_find_pending_of_no_table_finds_nothing(storage: MemoryStorage) -> None:
    """Nor does a finished table have anything pending."""
    assert find_pending(storage) is None
    bootstrap(a_transaction(storage))
    assert find_pending(storage) is None


def test_find_pending_of_a_dead_run_says_what_it_set_out_to_do(storage: MemoryStorage) -> None:
    """Enough to resume: intent, facts, and that its folder is there."""
    dead_run(storage)
    pending = find_pending(storage)
    assert pending is not None
    assert pending.kind is PendingKind.DEAD_RUN
    assert pending.write_id == WRITE_ID
    assert pending.intent == an_intent()
    assert pending.facts["lakestrap.spec_hash"] == "0123"
    assert pending.can_resume
    storage.delete(".hoodie/.lakestrap")
    without = find_pending(storage)
    assert without is not None
    assert not without.can_resume


@pytest.mark.parametrize(
    "names",
    [
        (f"{TIME}.inflight",),
        (f"{TIME}.commit.requested",),
        (f"{TIME}.rollback.requested", f"{TIME}.rollback.inflight"),
        (f"{TIME}.commit",),
    ],
)
def test_foreign_instants_are_found_and_never_rolled_back(
    storage: MemoryStorage, names: tuple[str, ...]
) -> None:
    """Pending instants of others, and commits of others that lost their properties."""
    for name in names:
        put(storage, f".hoodie/{name}", b"{}")
    put(storage, f"p/f_0-0-0_{TIME}.parquet")
    before = tree(storage)
    pending = find_pending(storage)
    assert pending is not None
    assert pending.kind is PendingKind.FOREIGN
    lease = taken(storage)
    for action in (roll_back, roll_forward):
        with pytest.raises(UnsupportedTableError):
            action(storage, pending, lease)
    release(storage, lease)
    assert tree(storage) == before


def test_pending_clustering_of_another_writer_is_foreign(storage: MemoryStorage) -> None:
    """Its plan is Avro, as ours of a replacecommit is, but has no write id of ours."""
    plan = {"operationType": "CLUSTER", "extraMetadata": {"a": "b"}}
    path = f".hoodie/{TIME}.replacecommit.requested"
    put(storage, path, write_container(REQUESTED_REPLACE, plan))
    pending = find_pending(storage)
    assert pending is not None
    assert (pending.kind, pending.facts) == (PendingKind.FOREIGN, {"a": "b"})


def test_roll_back_spares_everything_that_is_not_the_dead_run(storage: MemoryStorage) -> None:
    """Completed instants, their metadata and markers of others stay byte for byte."""
    bootstrap(a_transaction(storage))
    put(storage, "p=1/foreign.txt", b"1")
    put(storage, ".hoodie/.temp/other/MARKERS0", b"1")
    before = tree(storage)
    dead = an_intent(write_id="c" * 32, requested_time=TIME, is_new_table=False)
    transaction = a_transaction(storage, dead)
    begin(transaction)
    for path in ("p=1", "new=1", "new=1/deep"):
        put(storage, f"{path}/f_0-0-0_{TIME}.parquet")
    metadata = PartitionMetadata.of("new=1", TIME).render().encode()
    put(storage, "new=1/.hoodie_partition_metadata", metadata)
    put(storage, "new=1/foreign.txt", b"")
    put(storage, f"p=1/.f_{TIME}.log.1_0-0-0")
    pending = find_pending(storage)
    assert pending is not None
    lease = taken(storage)
    roll_back(storage, pending, lease)
    release(storage, lease)
    assert tree(storage) == before | {"new=1/foreign.txt": b""}
    assert storage.stat("new=1/deep") is None


def test_roll_back_of_a_run_that_published_meanwhile_is_refused(storage: MemoryStorage) -> None:
    """The timeline is read again under the lease; a completed instant is never rolled back."""
    transaction = a_transaction(storage)
    begin(transaction)
    pending = find_pending(storage)
    assert pending is not None
    bootstrap(transaction)
    storage.delete(PROPERTIES)
    lease = taken(storage)
    with pytest.raises(CommitConflictError) as caught:
        roll_back(storage, pending, lease)
    assert caught.value.condition == "commit/completed-meanwhile"
    again = find_pending(storage, own=OTHER)
    assert again is not None
    assert again.kind is PendingKind.UNFINISHED
    with pytest.raises(UnsupportedTableError):
        roll_back(storage, again, lease)
    roll_forward(storage, again, lease)
    assert visible_files(storage)


def test_roll_forward_of_a_commit_that_kept_no_properties_is_refused(
    storage: MemoryStorage,
) -> None:
    """A commit of ours to a table that lost its properties is not ours to repair."""
    bootstrap(a_transaction(storage))
    intent = an_intent(write_id="c" * 32, requested_time=TIME, is_new_table=False)
    put(storage, f".hoodie/{TIME}.commit", intent.pending_files()[0][1])
    storage.delete(PROPERTIES)
    pending = find_pending(storage)
    assert pending is not None
    with pytest.raises(UnsupportedTableError) as caught:
        roll_forward(storage, pending, taken(storage))
    assert caught.value.condition == "commit/no-properties"


def test_run_that_apache_hudi_rolled_back_is_swept(storage: MemoryStorage) -> None:
    """Its instant is deleted but its files are left: they could become visible later."""
    dead_run(storage)
    for name in ("commit.requested", "inflight"):
        storage.delete(f".hoodie/{BOOTSTRAP_INSTANT}.{name}")
    put(storage, ".hoodie/.aux/.keep", b"")
    pending = find_pending(storage)
    assert pending is not None
    assert pending.kind is PendingKind.ORPHANS
    lease = taken(storage)
    roll_back(storage, pending, lease)
    release(storage, lease)
    assert set(tree(storage)) == {".hoodie/.aux/.keep"}


def test_orphan_of_a_completed_instant_keeps_its_files(storage: MemoryStorage) -> None:
    """A folder that a zombie made anew says nothing about files that are part of the table."""
    bootstrap(a_transaction(storage))
    before = tree(storage)
    orphan = an_intent(write_id="c" * 32)
    put(storage, orphan.staging.begin, orphan.begin_bytes())
    put(storage, f"{orphan.staging.attempts}/x/0", b"zombie")
    pending = find_pending(storage)
    assert pending is not None
    assert pending.kind is PendingKind.ORPHANS
    lease = taken(storage)
    roll_back(storage, pending, lease)
    release(storage, lease)
    assert tree(storage) == before


def test_intent_that_is_damaged_is_a_typed_error(storage: MemoryStorage) -> None:
    """Nothing is guessed, and the file is named."""
    put(storage, an_intent().staging.begin, b"{}")
    with pytest.raises(CorruptFileError) as caught:
        find_pending(storage)
    assert caught.value.condition == "commit/corrupt-intent"
    assert read(storage, an_intent().staging.begin) == b"{}"
