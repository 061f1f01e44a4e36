"""Verification of the files of a read: adopted sources, and sealed files (ADR 0027)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from framework.engine.reading.slice_rows import drifted
from framework.engine.reading.verified_files import opened, verify_base_file, verify_source
from framework.engine.tasks import Tasks, decode, encode
from framework.errors import CorruptFileError, StorageError, Where
from framework.hudi.codecs.parquet_seal import UNREADABLE
from framework.hudi.storage.locations import open_storage
from framework.hudi.storage.port import Entry
from framework.hudi.table.layout import parent_of
from framework.spark.reading.files import Adopted, Snapshot
from framework.vocabulary import Verify

__all__ = ["check_deeply", "check_seals", "verify_files", "verify_listings"]

_NS_PER_MS: Final = 1_000_000
_SOURCES_PER_TASK: Final = 256
_FILES_PER_TASK: Final = 256


@dataclass(frozen=True, slots=True, kw_only=True)
class DeepCheck:
    """Source files and their skeletons, in the same order, for one task.

    Attributes:
        sources: full locations.
        skeletons: likewise.
        every_page: whether to read pages too, or footers only.
    """

    sources: list[str]
    skeletons: list[str]
    every_page: bool


def verify_listings(found: Snapshot) -> None:
    """Compare size and modification time of each source file with the index.

    Costs one listing of each source folder.

    Raises:
        SourceDriftError: `source/drift`.
    """
    for adopted in found.all_adopted:
        _compare_listings(adopted)


def verify_files(found: Snapshot, verify: Verify, tasks: Tasks) -> None:
    """Compare source files with their skeletons' footers, and own files with their seals.

    `FOOTER` reads footers, `FULL` all bytes. In a file of other writers, without a seal, `FULL`
    decodes every page and verifies the checksums of pages that have one.

    Raises:
        SourceDriftError: `source/drift`.
        CorruptFileError: `file/not-readable`.
    """
    verify_listings(found)
    for adopted in found.all_adopted:
        _verify_sources(adopted, verify, tasks)
    _verify_seals(found.own_files, verify, tasks)


def _verify_sources(adopted: Adopted, verify: Verify, tasks: Tasks) -> None:
    """Compare source files with their skeletons' footers."""
    checks = [
        encode(
            DeepCheck(
                sources=adopted.sources.paths[at : at + _SOURCES_PER_TASK],
                skeletons=adopted.skeletons[at : at + _SOURCES_PER_TASK],
                every_page=verify is Verify.FULL,
            )
        )
        for at in range(0, len(adopted), _SOURCES_PER_TASK)
    ]
    for _ in tasks.run(check_deeply, checks):
        pass


def check_deeply(descriptor: str) -> str:
    """Check the files of a `DeepCheck`; return an empty text.

    Raises:
        SourceDriftError: `source/drift`.
    """
    check = decode(DeepCheck, descriptor)
    for source, skeleton in zip(check.sources, check.skeletons, strict=True):
        verify_source(source, skeleton, every_page=check.every_page)
    return ""


def _compare_listings(adopted: Adopted) -> None:
    """Compare size and modification time of each file with the bootstrap index."""
    folder, entries = "", dict[str, "Entry"]()
    expected = zip(adopted.sources.paths, adopted.sizes, adopted.mtimes_ms, strict=True)
    for path, size, mtime_ms in expected:
        if parent_of(path) != folder:
            folder = parent_of(path)
            entries = {entry.name: entry for entry in open_storage(folder or "/").list("")}
        entry = entries.get(path.rpartition("/")[2])
        what = _difference(entry, size, mtime_ms)
        if what:
            raise drifted(path, what)


def _difference(entry: Entry | None, size: int, mtime_ms: int) -> str:
    """Return how a file differs; "" if it does not."""
    if entry is None or entry.is_folder:
        return "it no longer exists"
    if entry.size != size:
        return f"it has {entry.size} bytes, not {size}"
    if mtime_ms and entry.mtime_ns // _NS_PER_MS != mtime_ms:
        return "its modification time has changed"
    return ""


@dataclass(frozen=True, slots=True, kw_only=True)
class SealCheck:
    """Base files and skeletons for one task.

    Attributes:
        files: absolute paths.
        every_page: whether to compare column chunks too, or footers only.
    """

    files: list[str]
    every_page: bool


def _verify_seals(files: Sequence[str], verify: Verify, tasks: Tasks) -> None:
    """Compare base files and skeletons with their seals."""
    checks = [
        encode(
            SealCheck(files=[*files[at : at + _FILES_PER_TASK]], every_page=verify is Verify.FULL)
        )
        for at in range(0, len(files), _FILES_PER_TASK)
    ]
    for _ in tasks.run(check_seals, checks):
        pass


def check_seals(descriptor: str) -> str:
    """Check the files of a `SealCheck`; return an empty text.

    Raises:
        CorruptFileError: `file/not-readable`.
    """
    check = decode(SealCheck, descriptor)
    for path in check.files:
        try:
            with opened(path) as source:
                verify_base_file(source, every_page=check.every_page)
        except (StorageError, *UNREADABLE) as error:
            raise CorruptFileError(
                "file/not-readable",
                f"the file cannot be read: {error}",
                where=Where(file=path),
                remedy="Restore the file from a copy.",
            ) from error
    return ""
