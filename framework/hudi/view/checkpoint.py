"""Checkpoint of a view in one file, so that another process need not list the table (RFC-03).

The file is an Arrow stream with one batch of file ids and records for each loaded partition, named
in the batch's metadata, followed by the SHA-256 of the stream. The schema's metadata holds the rest
of the view: a version, the table's location, the timeline's files with their sizes and ages, and
the table's partitions.

A reopened view continues from the timeline of the checkpoint, as it would in its own process; so a
checkpoint is either continued exactly or not used. Nothing is trusted before the whole file is
verified.
"""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
from dataclasses import dataclass
from enum import StrEnum, unique
from pathlib import Path
from typing import Any, BinaryIO, Final

import pyarrow as pa

from framework.hudi.storage.port import Storage, storage_error
from framework.hudi.timeline.timeline import timeline_of
from framework.hudi.view.incremental import IncrementalView
from framework.hudi.view.known import Known, look, step
from framework.hudi.view.stores.port import GroupStore

__all__ = ["Refusal", "Reopened", "reopen", "write_checkpoint"]

_VERSION: Final = 1
_HEAD: Final = b"lakestrap.view"
_PATH: Final = b"partition"
_FIELDS: Final = [("file_id", pa.string()), ("record", pa.binary())]
_DIGEST_BYTES: Final = hashlib.sha256().digest_size
_CHUNK_BYTES: Final = 1 << 20


@unique
class Refusal(StrEnum):
    """The reason why a checkpoint was not used."""

    MISSING = "there is no checkpoint"
    UNREADABLE = "the checkpoint cannot be read"
    DAMAGED = "the checkpoint is damaged"
    OTHER_VERSION = "the checkpoint is of another version"
    FOREIGN = "the checkpoint is of another table"
    TOO_OLD = "the table advanced too far, or was recreated, since the checkpoint"


@dataclass(frozen=True, slots=True, kw_only=True)
class Reopened:
    """The result of reopening a checkpoint.

    Attributes:
        view: continues from the checkpoint, or is empty if that was refused.
        refusal: why the checkpoint was not used, None if it was.
    """

    view: IncrementalView
    refusal: Refusal | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Head:
    """The content of a checkpoint besides records."""

    location: str
    known: Known
    partitions: frozenset[str] | None


def write_checkpoint(view: IncrementalView, path: Path) -> None:
    """Write a view to `path`, replacing an existing file; sync the view if it never did.

    Readers of `path` find either the old file or the whole new one, also after a power loss. The
    view is locked meanwhile. Reads its whole store.

    Raises:
        StorageError: the file cannot be written, or the timeline of a new view cannot be read; the
            old file is unchanged.
    """
    with view.lock:
        timeline = view.facts.timeline  # the first use syncs
        known = view.known or Known(files={}, timeline=timeline)
        head = _Head(location=view.location, known=known, partitions=view.known_partitions)
        try:
            _replace(path, head, view.store)
        except OSError as error:
            raise storage_error(error, str(path)) from error


def reopen(
    storage: Storage, store: GroupStore, path: Path, *, incremental: bool = True
) -> Reopened:
    """Return a view of a table, continued from a checkpoint if it is usable.

    Costs a read of the file and one listing of `.hoodie`; nothing else of the table is listed. The
    view is as of the checkpoint until it syncs or is used.

    Args:
        storage: the table's storage.
        store: receives the groups; its content is replaced.
        path: the path of `write_checkpoint`.
        incremental: as in `IncrementalView`.

    Raises:
        StorageError: the timeline cannot be read.
    """
    store.clear()
    found = _read(path, storage, store)
    if isinstance(found, _Head):
        view = IncrementalView(
            storage,
            store,
            known=found.known,
            partitions=found.partitions,
            incremental=incremental,
        )
        return Reopened(view=view)
    store.clear()
    return Reopened(view=IncrementalView(storage, store, incremental=incremental), refusal=found)


def _replace(path: Path, head: _Head, store: GroupStore) -> None:
    """Write the file beside `path`, make it durable, and rename it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}-")
    try:
        with os.fdopen(handle, "w+b") as out:
            _write(out, head, store)
            out.seek(0)
            digest = hashlib.file_digest(out, "sha256").digest()
            out.seek(0, os.SEEK_END)
            out.write(digest)
            out.flush()
            os.fsync(out.fileno())
        Path(name).replace(path)
    finally:
        Path(name).unlink(missing_ok=True)
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def _write(out: BinaryIO, head: _Head, store: GroupStore) -> None:
    """Write the stream, partition by partition."""
    schema = pa.schema(_FIELDS, metadata={_HEAD: _encode(head)})
    options = pa.ipc.IpcWriteOptions(compression="zstd")
    with pa.ipc.new_stream(out, schema, options=options) as stream:
        for path in tuple(store.loaded()):
            records = store.records(path)
            if records is not None:
                batch = pa.record_batch([list(records), list(records.values())], schema=schema)
                stream.write_batch(batch, custom_metadata={_PATH: path.encode()})


def _read(path: Path, storage: Storage, store: GroupStore) -> _Head | Refusal:
    """Fill the store and return the head, or the reason why that failed."""
    try:
        with path.open("rb") as source:
            if not _is_whole(source):
                return Refusal.DAMAGED
            source.seek(0)
            with pa.ipc.open_stream(source) as stream:
                head = _decode((stream.schema.metadata or {}).get(_HEAD, b"{}"))
                refusal = head if isinstance(head, Refusal) else _fit(head, storage)
                if refusal is None:
                    _fill(store, stream)
                return refusal or head
    except FileNotFoundError:
        return Refusal.MISSING
    except OSError:
        return Refusal.UNREADABLE
    except (pa.ArrowException, ValueError, KeyError, TypeError, AttributeError):
        return Refusal.DAMAGED


def _is_whole(source: BinaryIO) -> bool:
    """Return whether the file ends in the checksum of its content."""
    rest = source.seek(0, os.SEEK_END) - _DIGEST_BYTES
    source.seek(0)
    digest = hashlib.sha256()
    while rest > 0:
        chunk = source.read(min(rest, _CHUNK_BYTES))
        digest.update(chunk)
        rest -= len(chunk)
    return source.read() == digest.digest()


def _fit(head: _Head, storage: Storage) -> Refusal | None:
    """Return why a checkpoint does not fit the current table, None if it does."""
    if head.location != storage.location:
        return Refusal.FOREIGN
    return Refusal.TOO_OLD if step(head.known, look(storage)).begins_anew else None


def _fill(store: GroupStore, stream: Any) -> None:
    """Load the partitions of a stream."""
    while True:
        try:
            batch, said = stream.read_next_batch_with_custom_metadata()
        except StopIteration:
            return
        ids, records = (column.to_pylist() for column in batch.columns)
        store.put(said[_PATH].decode(), dict(zip(ids, records, strict=True)))


def _encode(head: _Head) -> bytes:
    """Encode the head."""
    partitions = None if head.partitions is None else sorted(head.partitions)
    said = {
        "version": _VERSION,
        "location": head.location,
        "files": head.known.files,
        "partitions": partitions,
    }
    return json.dumps(said).encode()


def _decode(data: bytes) -> _Head | Refusal:
    """Decode a head, or return that it is of another version."""
    said = json.loads(data)
    if said.get("version") != _VERSION:
        return Refusal.OTHER_VERSION
    files = {name: (int(size), int(age)) for name, (size, age) in said["files"].items()}
    partitions = said["partitions"]
    return _Head(
        location=said["location"],
        known=Known(files=files, timeline=timeline_of(files)),
        partitions=None if partitions is None else frozenset(partitions),
    )
