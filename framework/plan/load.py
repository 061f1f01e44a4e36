"""What a later run loads: what is asked for, what was seen, and what is planned."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from framework.plan.input import InputRequest
    from framework.vocabulary import MissingColumns, SchemaEvolution, WriteOperation

__all__ = ["InputListing", "LoadPlan", "LoadRequest"]


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadRequest:
    """One load, as the spec and the caller ask for it.

    Attributes:
        operation: what is done with the rows.
        input: which rows, whichever files there are; None for an operation that has none.
        source_id: names the source in the table's commits.
        is_folder: whether the source is a folder of files.
        only_new: whether files that were loaded before are left out.
        run_id: what the caller calls this run, None for nothing.
        releases: the instant whose rows, set aside then, are loaded again; None for a source's.
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
    """The source of a load as it is now, beside what the table's commits say of it.

    Attributes:
        files: absolute paths of the files to load, in order; None where the source has none.
        bytes: their sizes, added.
        earlier_files: files that are loaded already.
        remembered: hashes of all files of the source that are loaded after this run, ascending.
        sha256: over names, sizes and times of the files to load.
        has_folders: whether some of them are in folders named `column=value`.
        is_done: whether a run of the caller's id has been published.
    """

    files: tuple[str, ...] | None = None
    bytes: int = 0
    earlier_files: int = 0
    remembered: tuple[int, ...] = ()
    sha256: str = ""
    has_folders: bool = False
    is_done: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadPlan:
    """One load.

    Attributes:
        operation: what is done with the rows.
        request: which rows; None for an operation that has none.
        source_id: names the source, so that later runs know what was loaded.
        files: files to load; 0 for formats that have none.
        bytes: their sizes, added.
        earlier_files: files of the source that are loaded already.
        remembered: hashes of all files of the source that are loaded after this run, ascending.
        listing_sha256: over the files to load; "" for formats that have none.
        creates: whether the run makes the table.
        evolution: how far the table's schema follows.
        missing: what a column of the table means that an input file lacks.
        target_file_size: bytes that a new file is meant to have.
        small_file_limit: bytes below which a file takes new rows.
        parallelism: tasks at once, None for as many as there are cores.
        partitions: paths or globs of the partitions that are deleted.
        run_id: what the caller calls this run, None for nothing.
        releases: the instant whose rows, set aside then, are loaded again; None for a source's.
    """

    operation: WriteOperation
    request: InputRequest | None
    source_id: str
    files: int
    bytes: int
    earlier_files: int
    remembered: tuple[int, ...]
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
