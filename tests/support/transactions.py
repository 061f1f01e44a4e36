"""Builders for writes: a small bootstrap of a new table, without Parquet in it."""

from __future__ import annotations

from collections.abc import Mapping
from uuid import NAMESPACE_URL, uuid5

import google_crc32c
import pyarrow as pa

from framework.hudi.commit.intent import Intent, Transaction
from framework.hudi.commit.lease import Owner, acquire, release
from framework.hudi.commit.links import check_listing, link_files, place_files
from framework.hudi.commit.pending import PendingKind, find_pending
from framework.hudi.commit.recovery import roll_back, roll_forward
from framework.hudi.commit.segments import SEGMENT_SCHEMA, SegmentRef, write_segment
from framework.hudi.commit.staging import Staging
from framework.hudi.commit.statuses import AuditedFiles, written_files
from framework.hudi.commit.transaction import Publication, begin, finish, publish
from framework.hudi.filegroup.slices import BaseFileName
from framework.hudi.storage.port import Storage
from framework.hudi.table.layout import (
    BOOTSTRAP_FILEIDS_INDEX,
    BOOTSTRAP_INSTANT,
    BOOTSTRAP_PARTITIONS_INDEX,
    PROPERTIES,
    join,
)
from framework.hudi.timeline.clock import Clock, ManualClock
from framework.hudi.timeline.instant import Action, Instant
from framework.hudi.timeline.timeline import load_timeline
from framework.hudi.view.listing_view import ListingView
from tests.support.storage_suite import put, read

__all__ = [
    "PROPERTIES_TEXT",
    "TTL_MS",
    "WRITE_ID",
    "a_status",
    "a_transaction",
    "an_intent",
    "bootstrap",
    "bytes_of",
    "dead_owner",
    "recover",
    "stage_files",
    "visible_files",
]

WRITE_ID = "a" * 32
TTL_MS = 200_000
PROPERTIES_TEXT = "hoodie.table.name=t\n"
FILES = {"p=1": 2, "p=10": 1, "p=2/é": 1}
INDEX = {BOOTSTRAP_PARTITIONS_INDEX: b"by partition", BOOTSTRAP_FILEIDS_INDEX: b"by file id"}


def an_intent(
    *,
    write_id: str = WRITE_ID,
    requested_time: str = BOOTSTRAP_INSTANT,
    is_new_table: bool = True,
    facts: Mapping[str, str] | None = None,
) -> Intent:
    """Return the intent of a bootstrap."""
    return Intent(
        write_id=write_id,
        requested_time=requested_time,
        action=Action.COMMIT,
        operation="BOOTSTRAP",
        is_new_table=is_new_table,
        facts=facts if facts is not None else {"lakestrap.spec_hash": "0123"},
    )


def dead_owner(write_id: str = WRITE_ID) -> Owner:
    """Return an owner whose liveness is unknown; its lease ends only by timeout."""
    return Owner(write_id=write_id, token=write_id, host="far", pid=1, machine="far", started="")


def a_transaction(
    storage: Storage, intent: Intent | None = None, *, clock: Clock | None = None
) -> Transaction:
    """Return a transaction that holds the lease, taken by an unknown machine."""
    intent = intent or an_intent()
    clock = clock or ManualClock()
    lease = acquire(storage, dead_owner(intent.write_id), clock)
    return Transaction(storage=storage, intent=intent, lease=lease, clock=clock)


def stage_files(
    storage: Storage, intent: Intent, files: Mapping[str, int] | None = None
) -> tuple[SegmentRef, ...]:
    """Write staged files as tasks do, one segment per partition, and return the segments."""
    number = 0
    segments = []
    for partition, count in (files if files is not None else FILES).items():
        rows = [_stage(storage, intent, partition, number + n) for n in range(count)]
        number += count
        path = join(Staging(write_id=intent.write_id).segments, f"{number}.arrow")
        storage.delete(path)
        segments.append(
            write_segment(storage, path, pa.Table.from_pylist(rows, schema=SEGMENT_SCHEMA))
        )
    return tuple(segments)


def bootstrap(transaction: Transaction) -> Instant:
    """Do a whole bootstrap-shaped write: begin, files, index, publish, finish."""
    storage, staging = transaction.storage, transaction.intent.staging
    begin(transaction)
    segments = stage_files(storage, transaction.intent)
    link_files(transaction, segments, threads=1)
    staged = {target: staging.new_publish() for target in INDEX}
    for target, source in staged.items():
        put(storage, source, INDEX[target])
    place_files(transaction, staged)
    check_listing(transaction, segments, threads=1)
    audited = AuditedFiles(written=written_files(segments), proof={"unique": True})
    publication = Publication(
        extra={"schema": "{}"}, properties=PROPERTIES_TEXT, required=tuple(INDEX)
    )
    instant = publish(transaction, audited, publication)
    finish(transaction)
    return instant


def recover(storage: Storage, clock: ManualClock, write_id: str) -> None:
    """Do what a later run does before anything else: take the lease, then put things right."""
    clock.advance(TTL_MS)
    lease = acquire(storage, dead_owner(write_id), clock)
    while pending := find_pending(storage, own=write_id):
        if pending.kind is PendingKind.UNFINISHED:
            roll_forward(storage, pending, lease)
        else:
            roll_back(storage, pending, lease)
    release(storage, lease)


def visible_files(storage: Storage) -> dict[str, bytes] | None:
    """Return the files that a reader sees with their bytes; None where there is no table."""
    if storage.stat(PROPERTIES) is None:
        return None
    view = ListingView(storage, load_timeline(storage))
    slices = (s for partition in view.partitions() for s in view.latest_slices(partition))
    return {s.base.path: read(storage, s.base.path) for s in slices if s.base}


def a_status(number: int, *, partition: str = "p", staged: str = "staged") -> dict[str, object]:
    """Return the status of a file with `number + 1` rows, whose bytes are `bytes_of(number)`."""
    data = bytes_of(number)
    file_id = str(uuid5(NAMESPACE_URL, str(number)))
    name = BaseFileName(file_id=file_id, write_token=f"{number}-0-0", instant=BOOTSTRAP_INSTANT)
    return {
        "number": number,
        "mode": "metadata_only",
        "file_id": file_id,
        "name": str(name),
        "partition_path": partition,
        "staged": staged,
        "size": len(data),
        "rows": number + 1,
        "crc32c": google_crc32c.value(data),
        "source_path": f"{partition}/{number}.parquet",
        "source_size": 1,
        "source_mtime_ns": 1,
        "min_key": "a",
        "max_key": "b",
        "order_first": b"a",
        "order_last": b"b",
        "increasing": True,
        "injective": True,
        "null_keys": 0,
        "previous": None,
        "inserts": number + 1,
        "updates": 0,
        "deletes": 0,
        "base_name": None,
    }


def bytes_of(number: int) -> bytes:
    """Return the bytes of the staged file `number`."""
    return f"rows of file {number}".encode()


def _stage(storage: Storage, intent: Intent, partition: str, number: int) -> dict[str, object]:
    """Write one staged file and return its status."""
    staged = join(intent.staging.new_attempt(), "0")
    put(storage, staged, bytes_of(number))
    return a_status(number, partition=partition, staged=staged)
