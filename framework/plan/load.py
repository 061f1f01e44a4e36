"""A load: the request, the observed input, and the plan."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from framework.hudi.bootstrap.file_list import FileList
from framework.vocabulary import MissingColumns, SchemaEvolution, WriteOperation

__all__ = ["InputListing", "InputRequest", "LoadPlan", "LoadRequest", "Transform"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Transform:
    """A named SQL view over `source` and the views before it; `sql` is one finished SELECT."""

    name: str
    sql: str


@dataclass(frozen=True, slots=True, kw_only=True)
class InputRequest:
    """The rows to load.

    Attributes:
        format: a Spark source format, such as `parquet`, `csv`, `json` or `orc`.
        path: canonical location of the data; None for formats without one.
        options: passed to Spark as written.
        schema: Spark DDL of the columns; None if the files define them.
        files: absolute paths of the files to load, or a handle of their list; None means all files
            in `path`.
        has_folders: whether some of the files are in folders named `column=value`, which Spark
            reads as columns.
        transforms: in order; the rows of the last one are loaded, or without any, the source's.
        hidden: columns of plain Parquet files that are not loaded.
        missing: how a column that a file lacks is treated.
        needed: columns of keys, partitions and ordering.
    """

    format: str
    path: str | None = None
    options: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    schema: str | None = None
    files: FileList | tuple[str, ...] | None = None
    transforms: tuple[Transform, ...] = ()
    has_folders: bool = False
    hidden: tuple[str, ...] = ()
    missing: MissingColumns = MissingColumns.REFUSE
    needed: tuple[str, ...] = ()

    @property
    def is_plain_parquet(self) -> bool:
        """Whether the input is unmodified Parquet files, so that none need be copied."""
        has_none = not (self.options or self.schema or self.transforms or self.has_folders)
        return self.format == "parquet" and has_none


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadRequest:
    """One load, as spec and caller request it.

    Attributes:
        operation: what is done with the rows.
        input: the rows, whichever files exist; None for an operation without input.
        source_id: identifies the source in the table's commits.
        is_folder: whether the source is a folder of files.
        only_new: whether files that were loaded before are skipped.
        run_id: the caller's id of this run, or None.
        releases: the instant whose quarantined rows are loaded again; None for a source's rows.
    """

    operation: WriteOperation
    input: InputRequest | None
    source_id: str
    is_folder: bool
    only_new: bool
    run_id: str | None = None
    releases: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class InputListing:
    """The current source of a load, compared with the table's commits.

    Attributes:
        files: handle of the list of files to load, or absolute paths that the request names; None
            if the source has no files.
        bytes: their total size.
        earlier_files: number of files that are already loaded.
        sha256: over names, sizes and times of the files to load.
        has_folders: whether some of them are in folders named `column=value`.
        is_done: whether a run with the caller's id has been published.
    """

    files: FileList | tuple[str, ...] | None = None
    bytes: int = 0
    earlier_files: int = 0
    sha256: str = ""
    has_folders: bool = False
    is_done: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadPlan:
    """The plan of one load.

    Attributes:
        operation: what is done with the rows.
        request: the rows; None for an operation without input.
        source_id: identifies the source, so that later runs know what was loaded.
        files: files to load; 0 for formats without files.
        bytes: their total size.
        earlier_files: files of the source that are already loaded.
        listing_sha256: over the files to load; "" for formats without files.
        creates: whether the run creates the table.
        evolution: how far the table's schema follows the input's.
        missing: how a column of the table that an input file lacks is treated.
        target_file_size: target size of a new file, in bytes.
        small_file_limit: files below this size, in bytes, take new rows.
        parallelism: concurrent tasks; None for one per core.
        partitions: paths or globs of the partitions to delete.
        run_id: the caller's id of this run, or None.
        releases: the instant whose quarantined rows are loaded again; None for a source's rows.
    """

    operation: WriteOperation
    request: InputRequest | None
    source_id: str
    files: int
    bytes: int
    earlier_files: int
    listing_sha256: str
    creates: bool
    evolution: SchemaEvolution
    missing: MissingColumns
    target_file_size: int
    small_file_limit: int
    parallelism: int | None = None
    partitions: tuple[str, ...] = ()
    run_id: str | None = None
    releases: str | None = None
