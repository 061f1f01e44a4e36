"""Builders for writes to a table that is there: new versions of files, log files, new groups."""

from __future__ import annotations

from typing import Any
from uuid import NAMESPACE_URL, uuid5

import google_crc32c
import pyarrow as pa

from framework.hudi.commit.intent import Intent, Transaction
from framework.hudi.commit.links import check_listing, link_files
from framework.hudi.commit.segments import SEGMENT_SCHEMA, SegmentRef, write_segment
from framework.hudi.commit.statuses import AuditedFiles, written_files
from framework.hudi.commit.transaction import Publication, begin, finish, publish
from framework.hudi.filegroup.log_changes import LogPart, read_changes
from framework.hudi.filegroup.log_file import log_file_bytes
from framework.hudi.filegroup.slices import BaseFileName, LogFileName
from framework.hudi.storage.port import Storage
from framework.hudi.table.layout import BOOTSTRAP_INSTANT, MetaField, join
from framework.hudi.timeline.instant import Action, Instant
from framework.hudi.timeline.timeline import load_timeline
from framework.hudi.view.listing_view import ListingView
from tests.support.storage_suite import put, read
from tests.support.transactions import a_status

__all__ = [
    "LOADER",
    "LOAD_TIME",
    "REPLACED",
    "a_load",
    "a_log",
    "group_of",
    "load",
    "log_bytes",
    "stage",
    "stage_load",
    "visible_changes",
]

LOADER = "e" * 32
LOAD_TIME = "20260101000000000"
_ATTEMPT = "0-1-1"
_KEYS = pa.schema([(MetaField.RECORD_KEY.value, pa.string())])


def group_of(number: int) -> str:
    """Return the file id of the bootstrap's file `number`."""
    return str(uuid5(NAMESPACE_URL, str(number)))


REPLACED: dict[str, tuple[str, ...]] = {"p=1": (group_of(0), group_of(1)), "p=é": ()}


def a_load(*, action: Action = Action.DELTACOMMIT, write_id: str = LOADER) -> Intent:
    """Return the intent of a write to the table that `bootstrap` makes."""
    return Intent(
        write_id=write_id,
        requested_time=LOAD_TIME,
        action=action,
        operation="INSERT_OVERWRITE" if action is Action.REPLACECOMMIT else "UPSERT",
        is_new_table=False,
        facts={"lakestrap.spec_hash": "4567", "lakestrap.é": "ü"},
    )


def log_bytes(*instants: str) -> bytes:
    """Return a log file with one block for each instant."""
    return b"".join(log_file_bytes(each, "{}", deleted=[(f"k{each}", "p=1")]) for each in instants)


def a_log(file_id: str, base_instant: str = BOOTSTRAP_INSTANT) -> str:
    """Return the name of a slice's first log file."""
    name = LogFileName(file_id=file_id, base_instant=base_instant, version=1, write_token=_ATTEMPT)
    return str(name)


def stage_load(storage: Storage, intent: Intent) -> tuple[SegmentRef, ...]:
    """Stage what an upsert makes, or an insert overwrite: then nothing but new groups."""
    new: dict[str, Any] = {"partition": "p=10", "file_id": "new", "data": b"rows of a new group"}
    if intent.action is Action.REPLACECOMMIT:
        return stage(storage, intent, {**new, "partition": "p=1"})
    at: dict[str, Any] = {"partition": "p=1", "previous": BOOTSTRAP_INSTANT}
    log: dict[str, Any] = {"data": log_bytes(intent.requested_time), "inserts": 0, "deletes": 1}
    logged = {**at, **log, "file_id": group_of(1), "base_name": "b.parquet"}
    return stage(
        storage,
        intent,
        {**at, "file_id": group_of(0), "data": b"more rows", "inserts": 1, "updates": 2},
        {**logged, "name": a_log(group_of(1))},
        new,
        {
            **log,
            "partition": "p=3",
            "file_id": "logs-only",
            "name": a_log("logs-only", intent.requested_time),
            "base_name": "",
        },
    )


def stage(storage: Storage, intent: Intent, *files: dict[str, Any]) -> tuple[SegmentRef, ...]:
    """Write staged files and one segment with their statuses, and return it.

    Each has `partition`, `file_id` and `data`; what else it has goes into its status. Without a
    name it is a base file of the write's instant.
    """
    rows = []
    for number, fields in enumerate(files):
        given = dict(fields)
        partition, data = given.pop("partition"), given.pop("data")
        staged = join(intent.staging.new_attempt(), "0")
        put(storage, staged, data)
        name = BaseFileName(
            file_id=given["file_id"], write_token=_ATTEMPT, instant=intent.requested_time
        )
        counted = {"size": len(data), "crc32c": google_crc32c.value(data), "name": str(name)}
        status = a_status(number, partition=partition, staged=staged)
        rows.append({**status, **counted, **given})
    path = join(intent.staging.segments, "load.arrow")
    storage.delete(path)
    return (write_segment(storage, path, pa.Table.from_pylist(rows, schema=SEGMENT_SCHEMA)),)


def load(transaction: Transaction) -> Instant:
    """Do a whole write to the table that `bootstrap` makes, and return its instant."""
    storage, intent = transaction.storage, transaction.intent
    begin(transaction)
    segments = stage_load(storage, intent)
    link_files(transaction, segments, threads=1)
    check_listing(transaction, segments, threads=1)
    audited = AuditedFiles(written=written_files(segments), proof={"unique": True})
    replaced = REPLACED if intent.action is Action.REPLACECOMMIT else {}
    instant = publish(transaction, audited, Publication(extra={"schema": "{}"}, replaced=replaced))
    finish(transaction)
    return instant


def visible_changes(storage: Storage) -> dict[str, object]:
    """Return what a reader sees: base files with their bytes, log files with their deleted keys."""
    timeline = load_timeline(storage)
    view = ListingView(storage, timeline)
    found: dict[str, object] = {}
    for partition in view.partitions():
        for each in view.latest_slices(partition):
            if each.base:
                found[each.base.path] = read(storage, each.base.path)
            logs = [LogPart(log.path) for log in each.logs]
            changes = read_changes(storage, logs, _KEYS, timeline.is_completed)
            if keys := [key.record_key for change in changes for key in change.deleted]:
                found[f"logs of {each.group.file_id}"] = keys
    return found
