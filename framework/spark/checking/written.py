"""Rows of written, unpublished files, alone or with the rest of their table."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from typing import Any

import pyarrow as pa
from pyspark.sql import SparkSession
from pyspark.sql import types as t
from pyspark.sql.functions import col

from framework.engine.audit.subject import WrittenRows
from framework.engine.reading.table import Table, open_table
from framework.engine.reading.views import checked
from framework.hudi.bootstrap.index import BootstrapIndex
from framework.hudi.commit.segments import merge_segments
from framework.hudi.filegroup.slices import FileGroupId, FileSlice, LogFile, LogFileName
from framework.hudi.keygen.rule import KeyRule
from framework.hudi.storage.locations import open_storage
from framework.hudi.storage.port import Storage
from framework.hudi.table.layout import MetaField, join
from framework.hudi.table.partition_path import parse_partition
from framework.hudi.timeline.instant import Instant
from framework.hudi.timeline.timeline import Timeline
from framework.hudi.view.listing_view import ListingView
from framework.spark.checking.places import Placed, scanning, together, without_places
from framework.spark.reading.adopted import FILE, ROW, scan_with_places, stored_types, widens
from framework.spark.reading.columns import META_SCHEMA, quoted, struct_of
from framework.spark.reading.files import (
    Adopted,
    FileSet,
    Logged,
    LoggedSlice,
    Partition,
    gather,
    plain_path,
)
from framework.spark.reading.merged import merged_frames
from framework.spark.reading.scan import Scanner
from framework.spark.reading.snapshot import frame_of
from framework.vocabulary import BootstrapMode

__all__ = ["WrittenFrames"]

_COLUMNS = (
    "number",
    "mode",
    "file_id",
    "name",
    "partition_path",
    "staged",
    "source_path",
    "base_name",
)


@dataclass(slots=True)
class _Files:
    """Written files by kind: skeletons with their sources, whole base files, log files."""

    adopted: Adopted = field(default_factory=Adopted)
    whole: FileSet = field(default_factory=FileSet)
    names: list[str] = field(default_factory=list)
    gone: list[str] = field(default_factory=list)
    logs: dict[FileGroupId, LogFile] = field(default_factory=dict)
    groups: set[FileGroupId] = field(default_factory=set)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Unpublished:
    """The parts of a table, not created yet, that the reading of skeletons needs."""

    schema: pa.Schema
    folders: frozenset[str]
    rule: KeyRule | None

    @property
    def file_fields(self) -> list[pa.Field]:
        """The columns that are stored in files, not in folder names."""
        return [each for each in self.schema if each.name not in self.folders]


class WrittenFrames:
    """Makes frames of written rows, in a session of `checking_session`.

    Reads the statuses once; the table is listed only if its other rows are needed.
    """

    def __init__(self, session: SparkSession, rows: WrittenRows) -> None:
        self._session = session
        self._rows = rows
        self._storage = open_storage(rows.table)
        self._files = _gathered(self._storage, rows)

    def written(self) -> Placed:
        """Return the rows that the run wrote: meta columns, then the table's, then positions."""
        with self._scanning() as scanner:
            parts = [*self._skeletons(scanner), *self._whole(scanner), *self._logged(scanner)]
        return together(parts) if parts else self._nothing()

    def table(self) -> Placed:
        """Return all rows of the table after the run."""
        if not self._rows.exists:
            return self.written()
        before = open_table(self._rows.table)
        after = self._after(before)
        opened = BootstrapIndex.open(self._storage) or nullcontext()
        with self._scanning() as scanner, opened as index:
            view = checked(ListingView(before.storage, before.timeline, index), before)
            kept = gather(before, view, list(view.partitions()), self._rest)
            rest = frame_of(scanner, after, kept)
            whole = [*self._whole(scanner, only_new=False)]
        return together([Placed(frame=without_places(rest)), *whole])

    def _scanning(self) -> AbstractContextManager[Scanner]:
        """Return a scanner of the table."""
        return scanning(self._session, self._rows.partition, self._rows.layout)

    def _nothing(self) -> Placed:
        schema = t.StructType([*META_SCHEMA, *struct_of(self._rows.schema)])
        return Placed(frame=without_places(self._session.createDataFrame([], schema)))

    def _skeletons(self, scanner: Scanner) -> Iterator[Placed]:
        """Yield the rows of skeletons; all but the meta columns are read from the source."""
        rows, adopted = self._rows, self._files.adopted
        if not adopted:
            return
        table = _Unpublished(
            schema=rows.schema,
            folders=frozenset(each.name for each in rows.partition),
            rule=rows.key_rule,
        )
        columns = struct_of(table.file_fields)
        groups = [(list(range(len(adopted))), columns)]
        if not widens(self._session.version):
            groups = list(stored_types(adopted.sources.paths, columns))
        for places, stored in groups:
            some = adopted.some(places)
            frame, texts = scan_with_places(scanner, table, some, stored)
            yield Placed(frame=frame, origins=dict(zip(texts, some.sources.paths, strict=True)))

    def _whole(self, scanner: Scanner, *, only_new: bool = True) -> Iterator[Placed]:
        """Yield the rows of base files, with older rows only if `only_new` is False."""
        files = self._files
        if not files.whole.paths:
            return
        columns = t.StructType([*META_SCHEMA, *struct_of(self._rows.schema)])
        scan = scanner.without_partitions.scan(files.whole, columns, with_rows=True)
        frame = scan.frame.select(
            *quoted(columns.names),
            col("_metadata.file_path").alias(FILE),
            col(scanner.jvm.row_index).alias(ROW),
        )
        if only_new and self._rows.exists:
            frame = frame.where(col(MetaField.COMMIT_TIME.value) == self._rows.instant)
        gone = zip(scan.texts, files.gone, strict=True)
        yield Placed(
            frame=frame,
            origins=dict(zip(scan.texts, files.names, strict=True)),
            gone={text: path for text, path in gone if path},
        )

    def _logged(self, scanner: Scanner) -> Iterator[Placed]:
        if not self._files.logs:
            return
        table = self._after(open_table(self._rows.table))
        alone = [
            LoggedSlice(
                partition=self._partition(group.partition_path),
                slice=FileSlice(group=group, base_instant=log.name.base_instant, logs=(log,)),
            )
            for group, log in self._files.logs.items()
        ]
        for frame in merged_frames(scanner, table, Logged(alone=alone)):
            yield Placed(frame=without_places(frame))

    def _partition(self, path: str) -> Partition:
        """Return a partition with its values."""
        rows = self._rows
        values = parse_partition(path, rows.partition, rows.layout) if rows.partition else ()
        return Partition(path=path, values=values)

    def _after(self, table: Table) -> Table:
        """Return the table as after the run: with the new columns, and the instant completed."""
        mine = Instant.parse(self._rows.completed)
        if mine is None:
            raise ValueError(f"{self._rows.completed!r} is not an instant")
        others = tuple(
            each for each in table.timeline.instants if each.requested_time != mine.requested_time
        )
        return replace(table, schema=self._rows.schema, timeline=Timeline(instants=(*others, mine)))

    def _rest(self, found: FileSlice) -> FileSlice | None:
        """Return the remaining part of a slice, including its new log file."""
        group = found.group
        hidden = self._rows.replaced.get(group.partition_path, ())
        if group in self._files.groups or group.file_id in hidden:
            return None
        log = self._files.logs.get(group)
        return found if log is None else found._replace(logs=(*found.logs, log))


def _gathered(storage: Storage, rows: WrittenRows) -> _Files:
    """Return the written files by kind; holds their names in memory."""
    taking = _Taking(storage, rows)
    for batch in merge_segments(storage, rows.segments):
        for status in batch.select(_COLUMNS).to_pylist():
            taking.take(status)
    return taking.found


class _Taking:
    """Sorts written files by kind."""

    def __init__(self, storage: Storage, rows: WrittenRows) -> None:
        self.found = _Files()
        self._storage = storage
        self._rows = rows
        self._root = plain_path(rows.table)
        self._source = plain_path(rows.source) if rows.source else ""
        self._partitions: dict[str, Partition] = {}

    def take(self, status: Mapping[str, Any]) -> None:
        """Add one file to those of its kind."""
        if status["mode"] == BootstrapMode.METADATA_ONLY:
            self._take_skeleton(status)
            return
        placed = join(status["partition_path"], status["name"])
        entry = self._storage.stat(status["staged"])
        path = placed if entry is None else status["staged"]
        group = FileGroupId(partition_path=status["partition_path"], file_id=status["file_id"])
        name = None if status["base_name"] is None else LogFileName.parse(status["name"])
        if name is not None:
            size = entry.size if entry else 0
            self.found.logs[group] = LogFile(name=name, path=path, size=size)
            return
        self.found.groups.add(group)
        self.found.whole.add(f"{self._root}/{path}", Partition(path="", values=()))
        left_out = self._rows.gone.get(status["number"], "")
        self.found.gone.append(f"{self._root}/{left_out}" if left_out else "")
        source = status["source_path"]
        self.found.names.append(f"{self._source}/{source}" if source else placed)

    def _take_skeleton(self, status: Mapping[str, str]) -> None:
        """Add a skeleton and its source file."""
        adopted = self.found.adopted
        path = f"{self._source}/{status['source_path']}"
        adopted.sources.add(path, self._partition(status["partition_path"]))
        adopted.skeletons.append(status["staged"])
        adopted.names.append(status["name"])
        adopted.partition_paths.append(status["partition_path"])
        adopted.sizes.append(0)
        adopted.mtimes_ms.append(0)

    def _partition(self, path: str) -> Partition:
        """Return a partition, whose path is parsed once."""
        if path not in self._partitions:
            rows = self._rows
            values = parse_partition(path, rows.partition, rows.layout) if rows.partition else ()
            self._partitions[path] = Partition(path=path, values=values)
        return self._partitions[path]
