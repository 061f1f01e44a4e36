"""One data set of quarantined rows: its location, and its record.

Below the location that a spec gives there is a folder `instant=<t>` for each run that
quarantined rows: Parquet files, and `_batch.json`, which names the table and the run. A location
belongs to one table; folders whose names start with a dot are unfinished.

On a store without moves the folder is a data set once it has the record, which is created last and
deleted first (ADR 0056). The names of its files begin with the run, and an object below the run's
unfinished folder names the instant, so that a sweep finds the files of a run that died.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields
from types import MappingProxyType
from typing import Any, Final

import pyarrow.parquet as pq

from framework.engine.places import canonical
from framework.engine.tasks import decode, encode
from framework.errors import CorruptFileError, PlanError, StorageError, Where
from framework.hudi.codecs.parquet_seal import UNREADABLE
from framework.hudi.commit.created import create_bytes, created_same, read_bytes
from framework.hudi.storage.locations import open_storage
from framework.hudi.storage.port import Entry, Move, Storage, uploads_of
from framework.hudi.table.layout import join

__all__ = [
    "BATCH_FILE",
    "GATHERED",
    "BatchRecord",
    "QuarantinedBatch",
    "abandoned",
    "batch_record",
    "delete_files",
    "discard",
    "exists",
    "gathering_folders",
    "gathering_place",
    "instant_folder",
    "instant_of_folder",
    "is_data",
    "name_batch",
    "of_another_table",
    "read_batch",
    "table_mark",
    "withdraw",
]


_BLOCK: Final = 1 << 22

BATCH_FILE: Final = "_batch.json"
"""File with the record of a data set."""
GATHERED: Final = re.compile(r"\.(?:staged|ready)-([0-9a-f]{16})-([0-9a-f]{32})")
"""Folder of unfinished rows: the mark of their table, and their run."""
_NAME: Final = re.compile(r"instant=([0-9]{14,17})")
_VERSION: Final = 1


def gathering_place(location: str, table: str, run_id: str) -> str:
    """Return where a run collects the rows that it quarantines, absolute."""
    staged, _ = gathering_folders(table, run_id)
    return join(open_storage(location).location, staged)


def name_batch(location: str, batch: QuarantinedBatch) -> None:
    """Name the rows that a run collected, durably; idempotent.

    The collected rows stay until the name exists, so that an interrupted run finds them complete
    when it is resumed. The caller holds the table's lease.

    Raises:
        StorageError: they could not be named; nothing may be published then.
        CorruptFileError: `quarantine/rows-differ`; likewise.
        PlanError: `quarantine/of-another-table`; likewise.
    """
    storage, named = open_storage(location), instant_folder(batch.instant)
    staged, ready = gathering_folders(batch.table, batch.run_id)
    found = read_batch(storage, named) if exists(storage, named) else None
    if found is not None and found.run_id != batch.run_id:
        if found.table != batch.table:
            raise of_another_table(found, storage.location, batch.table)
        discard(storage, found, batch.table)  # of a dead run: the instant is not completed
        found = None
    if found is None and uploads_of(storage) is not None:
        _create(storage, staged, batch)
    elif found is None:
        storage.delete(ready)
        _make_ready(storage, staged, ready, batch)
        storage.move([Move(source=ready, target=named)])
    storage.delete(staged, ready)


def exists(storage: Storage, named: str) -> bool:
    """Return whether there is a data set of a name."""
    path = named if uploads_of(storage) is None else join(named, BATCH_FILE)
    return storage.stat(path) is not None


def withdraw(location: str, table: str, run_id: str, instant: str) -> None:
    """Remove what a run collected and does not publish, named or not."""
    storage, named = open_storage(location), instant_folder(instant)
    if uploads_of(storage) is not None:
        delete_files(storage, instant, run_id)
    storage.delete(*gathering_folders(table, run_id))
    if exists(storage, named):
        found = read_batch(storage, named)
        if found.run_id == run_id:
            discard(storage, found, table)
    storage.delete("", only_empty=True)


def _create(storage: Storage, staged: str, batch: QuarantinedBatch) -> None:
    """Copy what the query engine wrote to files of the data set, and create its record last."""
    entries, named = _written(storage, staged, batch), instant_folder(batch.instant)
    create_bytes(storage, _claim(batch), b"")
    for each in entries:
        target = join(named, f"{batch.run_id}-{each.name}")
        with storage.open_input(each.path) as stream, created_same(storage, target) as out:
            while block := stream.read(_BLOCK):
                out.write(block)
    create_bytes(storage, join(named, BATCH_FILE), batch_record(batch))


def _claim(batch: QuarantinedBatch) -> str:
    """Return the object that leads to the files of a run in a data set."""
    _, ready = gathering_folders(batch.table, batch.run_id)
    return join(ready, instant_folder(batch.instant))


def abandoned(storage: Storage, folder: str) -> Iterator[str]:
    """Yield the instants for which an unfinished folder leads to files."""
    for each in storage.list(folder) if uploads_of(storage) is not None else ():
        if found := _NAME.fullmatch(each.name):
            yield found[1]


def delete_files(storage: Storage, instant: str, run_id: str) -> None:
    """Delete what a run has in a data set, its record first; on a store without moves."""
    named = instant_folder(instant)
    if exists(storage, named) and read_batch(storage, named).run_id == run_id:
        storage.delete(join(named, BATCH_FILE))
    storage.delete(*(e.path for e in storage.list(named) if e.name.startswith(f"{run_id}-")))


def _written(storage: Storage, staged: str, batch: QuarantinedBatch) -> list[Entry]:
    """Return the files that the query engine wrote, which have all rows."""
    entries = [each for each in storage.list(staged) if is_data(each)]
    rows = sum(_rows(storage, each) for each in entries)
    if rows != batch.rows:
        raise _differs(f"{batch.rows:,} rows should be quarantined, {rows:,} were written", staged)
    return entries


def _make_ready(storage: Storage, staged: str, ready: str, batch: QuarantinedBatch) -> None:
    """Copy what the query engine wrote to files that survive a power loss, and record it."""
    entries = _written(storage, staged, batch)
    moves = [Move(source=join(ready, f".{BATCH_FILE}"), target=join(ready, BATCH_FILE))]
    with storage.create(moves[0].source) as out:
        out.write(batch_record(batch))
    for number, each in enumerate(entries):
        copy = join(ready, f".{number}")
        with storage.open_input(each.path) as stream, storage.create(copy) as out:
            while block := stream.read(_BLOCK):
                out.write(block)
        moves.append(Move(source=copy, target=join(ready, each.name)))
    storage.move(moves)


def _rows(storage: Storage, entry: Entry) -> int:
    """Return the rows of a file, by its footer."""
    try:
        with storage.open_input(entry.path) as stream:
            return int(pq.ParquetFile(stream).metadata.num_rows)
    except UNREADABLE as error:
        raise _differs(f"a file of quarantined rows cannot be read: {error}", entry.path) from error


def _differs(message: str, path: str) -> CorruptFileError:
    """Return the error for rows that are not where they were written."""
    return CorruptFileError(
        "quarantine/rows-differ",
        message,
        where=Where(file=path),
        remedy="Nothing was published. Run again with --fresh, with the folder at the same path on"
        " all executors.",
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchRecord:
    """The record of rows that one run quarantined.

    Attributes:
        table: canonical location of the table.
        instant: the run's.
        run_id: the run.
        rows: number of rows.
        by_rule: rows by the rule that they fail; one may fail several.
        at: when, UTC.
        operation: what they were meant for: `bootstrap`, or a value of `WriteOperation`.
        redacted: columns whose values are never shown.
        version: of the record.
    """

    table: str
    instant: str
    run_id: str
    rows: int
    by_rule: Mapping[str, int] = field(default_factory=lambda: MappingProxyType({}))
    at: str = ""
    operation: str = ""
    redacted: tuple[str, ...] = ()
    version: int = _VERSION


@dataclass(frozen=True, slots=True, kw_only=True)
class QuarantinedBatch(BatchRecord):
    """Rows that one run quarantined, and their location.

    Attributes:
        location: of all data sets of the table.
        files: paths of the Parquet files, absolute.
        bytes: their total size.
    """

    location: str = ""
    files: tuple[str, ...] = ()
    bytes: int = 0


def instant_folder(instant: str) -> str:
    """Return the name of a data set."""
    return f"instant={instant}"


def instant_of_folder(entry: Entry) -> str | None:
    """Return the instant of a data set; None for any other entry."""
    found = _NAME.fullmatch(entry.name)
    return found[1] if found and entry.is_folder else None


def table_mark(table: str) -> str:
    """Return the mark of one table's unfinished folders."""
    return hashlib.blake2b(canonical(table).encode(), digest_size=8).hexdigest()


def gathering_folders(table: str, run_id: str) -> tuple[str, str]:
    """Return where a run collects rows, and where it prepares them for their name."""
    mark = table_mark(table)
    return f".staged-{mark}-{run_id}", f".ready-{mark}-{run_id}"


def batch_record(batch: QuarantinedBatch) -> bytes:
    """Return the record of a data set."""
    return encode(BatchRecord(**_recorded(batch))).encode()


def read_batch(storage: Storage, folder: str) -> QuarantinedBatch:
    """Return the record of a data set, with its existing files.

    Raises:
        CorruptFileError: `quarantine/not-readable`.
    """
    path = join(folder, BATCH_FILE)
    try:
        record = decode(BatchRecord, read_bytes(storage, path).decode())
        _check_version(record.version)
        files = [each for each in storage.list(folder) if is_data(each)]
        if uploads_of(storage) is not None:
            files = [each for each in files if each.name.startswith(f"{record.run_id}-")]
        return QuarantinedBatch(
            **_recorded(record),
            location=storage.location,
            files=tuple(f"{storage.location}/{each.path}" for each in files),
            bytes=sum(each.size for each in files),
        )
    except (ValueError, StorageError) as error:
        raise CorruptFileError(
            "quarantine/not-readable",
            f"quarantined rows cannot be read: {error}",
            where=Where(file=f"{storage.location}/{path}"),
            remedy="The folder was changed by hand; restore it, or delete it.",
        ) from error


def discard(storage: Storage, batch: QuarantinedBatch, table: str) -> None:
    """Delete a data set; an interruption leaves all of it, or nothing under its name.

    It is first renamed, so that the next sweep of `table` removes the rest. A data set that does
    not exist any more is success.
    """
    if uploads_of(storage) is not None:
        _, ready = gathering_folders(table, batch.run_id)
        create_bytes(storage, join(ready, instant_folder(batch.instant)), b"")
        delete_files(storage, batch.instant, batch.run_id)
        storage.delete(ready)
        return
    named, (_, nameless) = instant_folder(batch.instant), gathering_folders(table, batch.run_id)
    storage.delete(nameless)
    if storage.stat(named) is not None:
        storage.move([Move(source=named, target=nameless)])
        storage.delete(nameless)


def is_data(entry: Entry) -> bool:
    """Return whether an entry of a data set holds rows."""
    hidden = entry.name.startswith((".", "_"))
    return entry.name.endswith(".parquet") and not (entry.is_folder or hidden)


def of_another_table(found: QuarantinedBatch, location: str, table: str) -> PlanError:
    """Return the error for a location that holds rows of another table."""
    return PlanError(
        "quarantine/of-another-table",
        f"{location} holds quarantined rows of {found.table}",
        where=Where(file=f"{location}/{instant_folder(found.instant)}", table=table),
        remedy="Nothing was published. Give each table its own `quality.quarantine.location`,"
        " or move those rows away.",
    )


def _recorded(found: BatchRecord) -> dict[str, Any]:
    """Return the fields that are recorded."""
    return {each.name: getattr(found, each.name) for each in fields(BatchRecord)}


def _check_version(version: int) -> None:
    """Raise for a record of another release."""
    if version != _VERSION:
        raise ValueError(f"it has version {version}")
