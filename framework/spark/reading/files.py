"""The files that a snapshot reads, as parallel lists rather than an object per file."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Final

import pyarrow.parquet as pq

from framework.engine.reading.table import Table
from framework.errors import CorruptFileError, NotYetBuiltError, Where
from framework.hudi.bootstrap.discovery import is_hidden
from framework.hudi.filegroup.slices import FileSlice
from framework.hudi.storage.hdfs_uri import is_hdfs_uri, parse_hdfs_uri
from framework.hudi.storage.locations import open_storage
from framework.hudi.storage.object_uri import is_object_uri, parse_object_uri
from framework.hudi.table.layout import BOOTSTRAP_INSTANT, META_COLUMNS, join, name_of, parent_of
from framework.hudi.table.partition_path import PartitionValue, parse_partition
from framework.hudi.view.port import FileSystemView

__all__ = [
    "Adopted",
    "FileSet",
    "Logged",
    "LoggedSlice",
    "Partition",
    "Snapshot",
    "gather",
    "hadoop_path",
    "plain_path",
]

_ROOT: Final = re.compile("^(?:file:)?/+")
_UNTIDY: Final = re.compile(r"//|/\.{1,2}(?:/|$)|.\Z(?<=/)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Partition:
    """A partition's path and its typed values."""

    path: str
    values: tuple[PartitionValue, ...]


@dataclass(slots=True)
class FileSet:
    """Files of one native scan, and the partition values of their folders.

    Attributes:
        paths: as of `plain_path`.
        folders: partition values by absolute folder of the files.
        roots: folders that contain the files at their partition paths; `""` for files elsewhere.
    """

    paths: list[str] = field(default_factory=list)
    folders: dict[str, tuple[PartitionValue, ...]] = field(default_factory=dict)
    roots: set[str] = field(default_factory=set)

    def places(self) -> list[str]:
        """Return the paths to list to find exactly these files: whole folders, else single files.

        A hundred files of one folder are then found by one listing instead of a hundred. Costs
        reading the names in each folder that has several of the files.
        """
        parents = [parent_of(path) for path in self.paths]
        counts = Counter(parents)
        whole = {folder for folder, count in counts.items() if 1 < count == _seen(folder)}
        pairs = zip(self.paths, parents, strict=True)
        return [*sorted(whole), *(path for path, folder in pairs if folder not in whole)]

    def add(self, path: str, partition: Partition) -> None:
        """Add a file of a partition."""
        self.paths.append(path)
        folder = parent_of(path)
        if folder not in self.folders:
            self.folders[folder] = partition.values
            below = f"/{partition.path}"
            self.roots.add(folder.removesuffix(below) if folder.endswith(below) else "")

    def some(self, places: Sequence[int]) -> FileSet:
        """Return the files at these indexes, in their order."""
        paths = [self.paths[at] for at in places]
        kept = {parent_of(path) for path in paths}
        folders = {folder: values for folder, values in self.folders.items() if folder in kept}
        return FileSet(paths=paths, folders=folders, roots=set(self.roots))

    @property
    def root(self) -> str | None:
        """The one folder that contains all files at their partition paths, or None."""
        return next(iter(self.roots)) or None if len(self.roots) == 1 else None


@dataclass(slots=True)
class Adopted:
    """Slices of a skeleton and a source file; one entry of each list per slice.

    Attributes:
        sources: the source files.
        skeletons: absolute paths of the skeletons.
        names: their file names.
        partition_paths: their partitions.
        sizes: bytes that each source file had.
        mtimes_ms: when each was last modified; 0 if unknown.
        logged: the slices themselves if they have log files, else none.
    """

    sources: FileSet = field(default_factory=FileSet)
    skeletons: list[str] = field(default_factory=list)
    names: list[str] = field(default_factory=list)
    partition_paths: list[str] = field(default_factory=list)
    sizes: list[int] = field(default_factory=list)
    mtimes_ms: list[int] = field(default_factory=list)
    logged: list[LoggedSlice] = field(default_factory=list)

    def __len__(self) -> int:
        """Return the number of slices."""
        return len(self.names)

    def some(self, places: Sequence[int]) -> Adopted:
        """Return the slices at these indexes, in their order."""
        return Adopted(
            sources=self.sources.some(places),
            skeletons=[self.skeletons[at] for at in places],
            names=[self.names[at] for at in places],
            partition_paths=[self.partition_paths[at] for at in places],
            sizes=[self.sizes[at] for at in places],
            mtimes_ms=[self.mtimes_ms[at] for at in places],
            logged=[self.logged[at] for at in places] if self.logged else [],
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class LoggedSlice:
    """A slice with log files, and its partition."""

    partition: Partition
    slice: FileSlice


@dataclass(slots=True)
class Logged:
    """Slices with log files, by the kind of file below the logs.

    Attributes:
        adopted: skeletons with their source files.
        whole: base files that contain whole rows.
        over_whole: the slices of `whole`, in the same order.
        alone: slices without a base file, or with one that is not scanned.
        unscanned: skeletons and sources of the latter, whose ordering values may be needed.
    """

    adopted: Adopted = field(default_factory=Adopted)
    whole: FileSet = field(default_factory=FileSet)
    over_whole: list[LoggedSlice] = field(default_factory=list)
    alone: list[LoggedSlice] = field(default_factory=list)
    unscanned: Adopted = field(default_factory=Adopted)

    @property
    def slices(self) -> list[LoggedSlice]:
        """All slices."""
        return [*self.adopted.logged, *self.over_whole, *self.alone]


@dataclass(slots=True)
class Snapshot:
    """All files of a snapshot: adopted slices, and base files that contain whole rows.

    Attributes:
        adopted: skeletons with their source files.
        whole: base files without logs.
        logged: slices with log files.
    """

    adopted: Adopted = field(default_factory=Adopted)
    whole: FileSet = field(default_factory=FileSet)
    logged: Logged = field(default_factory=Logged)

    @property
    def all_adopted(self) -> tuple[Adopted, Adopted, Adopted]:
        """Every skeleton and source, whether or not the source is scanned."""
        return self.adopted, self.logged.adopted, self.logged.unscanned

    @property
    def own_files(self) -> list[str]:
        """Absolute paths of every base file and skeleton that Spark scans."""
        skeletons = [path for each in self.all_adopted for path in each.skeletons]
        return [*self.whole.paths, *self.logged.whole.paths, *skeletons]


def gather(
    table: Table,
    view: FileSystemView,
    partitions: Iterable[str],
    wanted: Callable[[FileSlice], FileSlice | None],
    below: Callable[[FileSlice], bool] = lambda _: True,
) -> Snapshot:
    """Return the files of the latest slices of some partitions.

    `wanted` returns the part of a slice to read, or None; `below` whether the file below its logs
    is scanned. Costs one listing per partition, and one index lookup per partition with skeletons.

    Raises:
        CorruptFileError: `read/skeleton-not-indexed`.
        PlanError: a partition path does not belong to the table (`partition/…`).
    """
    snapshot, base = Snapshot(), plain_path(table.storage.location)
    for path in partitions:
        values = parse_partition(path, table.partition, table.layout) if table.partition else ()
        partition = Partition(path=path, values=values)
        for each in filter(None, map(wanted, view.latest_slices(path))):
            _refuse_lost_skeleton(table, each, base)
            if each.logs and not below(each):
                snapshot.logged.alone.append(LoggedSlice(partition=partition, slice=each))
                _take_adopted(snapshot.logged.unscanned, base, each, partition)
            else:
                _take(snapshot, base, each, partition)
    return snapshot


def _seen(folder: str) -> int:
    """Return the number of files that a reader sees in a folder; -1 with subfolders or if missing.

    Reads names only, no files.
    """
    if not folder.startswith("/"):
        listed = [each for each in open_storage(folder).list("") if not is_hidden(each.name)]
        return -1 if any(each.is_folder for each in listed) else len(listed)
    try:
        with os.scandir(folder) as found:
            visible = [each for each in found if not is_hidden(each.name)]
            return -1 if any(each.is_dir() for each in visible) else len(visible)
    except OSError:
        return -1


def hadoop_path(path: str) -> str:
    """Return a plain path as Hadoop resolves it on any machine, whatever its default is."""
    return f"file:{path}" if path.startswith("/") else path


def plain_path(uri: str) -> str:
    """Return the plain form of a location: a local path, or a canonical `s3a://` or `hdfs://`.

    As in Hadoop, the text after the scheme is used literally, without percent decoding, and in
    paths `..` is resolved in the text.

    Raises:
        NotYetBuiltError: `storage/scheme-not-built`.
        PlanError: `storage/bad-location`.
    """
    if is_object_uri(uri):
        return str(parse_object_uri(uri))
    if is_hdfs_uri(uri):
        return parse_hdfs_uri(uri).text
    path = _ROOT.sub("/", uri, count=1)
    if path.startswith("/"):
        return path if _UNTIDY.search(path) is None else _tidy(path)
    raise NotYetBuiltError(
        "storage/scheme-not-built",
        "in this version Spark reads files of this machine, of HDFS and of S3 only",
        where=Where(file=uri),
        remedy="Use a location such as /data/lake/flights or s3://bucket/flights.",
    )


@lru_cache(maxsize=8)
def _plain_folder(uri: str) -> str:
    """Return the plain path of a folder, `""` for the root; cached, as many files share one."""
    return plain_path(f"{uri}/").rstrip("/")


def _tidy(path: str) -> str:
    """Return an absolute path without empty, `.` and `..` levels."""
    kept: list[str] = []
    for level in path.split("/"):
        if level == "..":
            del kept[-1:]
        elif level not in {"", "."}:
            kept.append(level)
    return "/" + "/".join(kept)


def _take(snapshot: Snapshot, base: str, found: FileSlice, partition: Partition) -> None:
    """Add one slice to those of its kind; `base` is the table's absolute path."""
    if found.logs or found.base is None:
        _take_logged(snapshot.logged, base, found, partition)
        return
    if found.bootstrap is not None:
        _take_adopted(snapshot.adopted, base, found, partition)
        return
    snapshot.whole.add(join(base, found.base.path), partition)


def _take_logged(logged: Logged, base: str, found: FileSlice, partition: Partition) -> None:
    """Add a slice with log files to those of its kind."""
    found_slice = LoggedSlice(partition=partition, slice=found)
    if found.base is None:
        logged.alone.append(found_slice)
    elif found.bootstrap is not None:
        _take_adopted(logged.adopted, base, found, partition)
        logged.adopted.logged.append(found_slice)
    else:
        logged.whole.add(join(base, found.base.path), partition)
        logged.over_whole.append(found_slice)


def _take_adopted(adopted: Adopted, base: str, found: FileSlice, partition: Partition) -> None:
    """Add a skeleton and its source."""
    source = found.bootstrap
    if found.base is None or source is None:
        return
    folder, _, name = source.uri.rpartition("/")
    is_plain = name not in {"", ".", ".."}
    path = f"{_plain_folder(folder)}/{name}" if is_plain else plain_path(source.uri)
    adopted.sources.add(path, partition)
    adopted.skeletons.append(f"{base}/{found.base.path}")
    adopted.names.append(name_of(found.base.path))
    adopted.partition_paths.append(partition.path)
    adopted.sizes.append(source.size)
    adopted.mtimes_ms.append(source.mtime_ms)


def _refuse_lost_skeleton(table: Table, found: FileSlice, base: str) -> None:
    """Refuse a base file of the bootstrap that has only meta columns and no source.

    Its rows would be read as nulls. A full file's id ends in `-0`, a skeleton's does not, so few
    footers are read.
    """
    if not table.properties.bootstrap_base_path or found.bootstrap is not None:
        return
    if found.base is None or found.base_instant != BOOTSTRAP_INSTANT:
        return
    if found.group.file_id.endswith("-0"):
        return
    with table.storage.open_input(found.base.path) as file:
        names = pq.ParquetFile(file).schema_arrow.names
    if set(names) <= set(META_COLUMNS):
        raise CorruptFileError(
            "read/skeleton-not-indexed",
            "the bootstrap index has no entry for this skeleton, so its source file is unknown",
            where=Where(file=join(base, found.base.path), partition=found.group.partition_path),
            remedy=f"Restore the index below {table.storage.location}/.hoodie/.aux/.bootstrap.",
        )
