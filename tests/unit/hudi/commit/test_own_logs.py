"""Log files of a dead run are found by its markers, and known by their blocks."""

from __future__ import annotations

from collections.abc import Iterator
from uuid import uuid4

import pytest

from framework.errors import CommitConflictError, UnsupportedTableError
from framework.hudi.codecs.log_format import BlockKind, encode_block
from framework.hudi.commit.intent import Transaction
from framework.hudi.commit.lease import acquire
from framework.hudi.commit.links import check_listing, link_files
from framework.hudi.commit.markers import MarkerType, write_markers
from framework.hudi.commit.pending import find_pending
from framework.hudi.commit.placement import is_own_log, own_logs
from framework.hudi.commit.recovery import roll_back
from framework.hudi.commit.transaction import begin
from framework.hudi.storage.memory import MemoryStorage
from framework.hudi.timeline.clock import ManualClock
from tests.support.loads import LOAD_TIME, a_load, a_log, group_of, log_bytes, stage_load
from tests.support.storage_suite import put, read, tree
from tests.support.transactions import TTL_MS, a_transaction, bootstrap, dead_owner

LOG = f"p=1/{a_log(group_of(1))}"
EARLIER = "20250101000000000"
LATER_RELEASE = encode_block(BlockKind.DELETE, {}, b"").replace(b"\0\0\0\1", b"\0\0\0\2", 1)


@pytest.fixture
def storage() -> Iterator[MemoryStorage]:
    """Return a table that was bootstrapped."""
    found = MemoryStorage(uuid4().hex)
    bootstrap(a_transaction(found))
    yield found
    found.forget()


def begun(storage: MemoryStorage) -> Transaction:
    """Return a load that is about to link its files."""
    transaction = a_transaction(storage, a_load())
    begin(transaction)
    return transaction


def undo(storage: MemoryStorage) -> None:
    """Roll back the dead load, long after it died."""
    pending = find_pending(storage)
    assert pending is not None
    later = ManualClock()
    later.advance(TTL_MS)
    roll_back(storage, pending, acquire(storage, dead_owner("b" * 32), later))


def noted(storage: MemoryStorage, *paths: str) -> Transaction:
    """Return a load that died after it noted log files."""
    transaction = begun(storage)
    markers = [(path, MarkerType.APPEND) for path in paths]
    write_markers(storage, transaction.intent.staging, LOAD_TIME, markers)
    return transaction


def test_own_logs_of_a_load_are_those_that_it_linked(storage: MemoryStorage) -> None:
    """Base files are found by their names and are none of these."""
    transaction = begun(storage)
    link_files(transaction, stage_load(storage, transaction.intent))
    assert own_logs(storage, LOAD_TIME) == (LOG, f"p=3/{a_log('logs-only', LOAD_TIME)}")
    assert own_logs(storage, EARLIER) == ()


def test_roll_back_of_a_load_deletes_its_log_files(storage: MemoryStorage) -> None:
    """Left alone, their blocks would count once the timeline has moved past the instant."""
    before = tree(storage)
    transaction = begun(storage)
    link_files(transaction, stage_load(storage, transaction.intent))
    assert LOG in tree(storage)
    undo(storage)
    assert {p: d for p, d in tree(storage).items() if "lakestrap" not in p} == before
    assert storage.stat("p=3") is None


def test_roll_back_of_a_load_that_died_before_its_log_had_a_name_finds_nothing_to_delete(
    storage: MemoryStorage,
) -> None:
    """The marker comes first, so it may lead nowhere, or to a folder."""
    before = tree(storage)
    noted(storage, LOG, "p=10")
    undo(storage)
    assert {p: d for p, d in tree(storage).items() if "lakestrap" not in p} == before


def test_roll_back_spares_a_log_file_that_another_commit_made(storage: MemoryStorage) -> None:
    """The name was taken: our marker is there, and the file is a completed commit's."""
    put(storage, f".hoodie/{EARLIER}.deltacommit", b"{}")
    put(storage, LOG, log_bytes(EARLIER))
    transaction = begun(storage)
    with pytest.raises(CommitConflictError) as caught:
        link_files(transaction, stage_load(storage, transaction.intent))
    assert caught.value.condition == "commit/name-taken"
    undo(storage)
    assert read(storage, LOG) == log_bytes(EARLIER)


@pytest.mark.parametrize("kept", range(0, len(log_bytes(LOAD_TIME)), 13))
def test_roll_back_spares_a_torn_log_file(storage: MemoryStorage, kept: int) -> None:
    """We link whole files only, so a torn one is not ours; no reader finds rows in it."""
    put(storage, LOG, log_bytes(LOAD_TIME)[:kept])
    noted(storage, LOG)
    undo(storage)
    assert len(read(storage, LOG)) == kept


@pytest.mark.parametrize(
    "data",
    [
        log_bytes(EARLIER, LOAD_TIME),
        log_bytes(LOAD_TIME, EARLIER),
        log_bytes(LOAD_TIME) + log_bytes(EARLIER)[:20],
        log_bytes(LOAD_TIME) + LATER_RELEASE,
        log_bytes(LOAD_TIME) + encode_block(BlockKind.DELETE, {}, b""),
    ],
)
def test_roll_back_of_a_log_file_that_others_wrote_to_is_refused(
    storage: MemoryStorage, data: bytes
) -> None:
    """Deleting would lose rows, leaving would show some; so the instant stays as it is."""
    put(storage, LOG, data)
    noted(storage, LOG)
    put(storage, f"p=1/f_0-0-0_{LOAD_TIME}.parquet")
    before = {p: d for p, d in tree(storage).items() if "lakestrap" not in p}
    with pytest.raises(UnsupportedTableError) as caught:
        undo(storage)
    assert caught.value.condition == "commit/mixed-log"
    assert caught.value.where.instant == LOAD_TIME
    assert {p: d for p, d in tree(storage).items() if "lakestrap" not in p} == before


def test_log_file_of_a_later_release_is_not_ours(storage: MemoryStorage) -> None:
    """What cannot be understood was not written by this."""
    put(storage, LOG, LATER_RELEASE)
    assert not is_own_log(storage, LOG, LOAD_TIME)


def test_check_listing_removes_log_files_without_a_status(storage: MemoryStorage) -> None:
    """An earlier attempt of this run linked one under another name; those of others stay."""
    transaction = begun(storage)
    segments = stage_load(storage, transaction.intent)
    stray, foreign = LOG.replace("log.1", "log.2"), LOG.replace("log.1", "log.3")
    markers = [(path, MarkerType.APPEND) for path in (stray, foreign)]
    write_markers(storage, transaction.intent.staging, LOAD_TIME, markers)
    put(storage, stray, log_bytes(LOAD_TIME))
    put(storage, foreign, log_bytes(EARLIER))
    link_files(transaction, segments)
    assert check_listing(transaction, segments) == 1
    assert storage.stat(stray) is None
    assert storage.stat(foreign) is not None
    assert storage.stat(LOG) is not None


@pytest.mark.parametrize(
    ("replacement", "condition"), [(None, "file-missing"), (b"x", "file-changed")]
)
def test_check_listing_aborts_if_a_log_file_is_missing_or_changed(
    storage: MemoryStorage, replacement: bytes | None, condition: str
) -> None:
    """Its name says another instant, but its status says what must be there."""
    transaction = begun(storage)
    segments = stage_load(storage, transaction.intent)
    link_files(transaction, segments)
    storage.delete(LOG)
    if replacement is not None:
        put(storage, LOG, replacement)
    with pytest.raises(CommitConflictError) as caught:
        check_listing(transaction, segments)
    assert caught.value.condition == f"commit/{condition}"
