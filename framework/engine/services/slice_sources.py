"""The task that compares the source files behind skeletons with what the table recorded."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Final

from framework.engine.reading.slice_rows import drifted
from framework.engine.tasks import Tasks, decode, encode
from framework.errors import CorruptFileError, Where
from framework.hudi.bootstrap.fingerprint import Fingerprint
from framework.hudi.bootstrap.skeleton import SOURCE
from framework.hudi.bootstrap.source_file import open_source
from framework.hudi.codecs.parquet_seal import UNREADABLE, SealedFooter
from framework.hudi.filegroup.slices import FileSlice, SourceFile
from framework.hudi.storage.locations import open_storage
from framework.hudi.storage.port import Entry, Storage
from framework.hudi.table.layout import name_of, parent_of

__all__ = ["SourceCheck", "check_skeletons", "check_sources", "check_sources_task"]

_FILES_PER_TASK: Final = 256
_NS_PER_MS: Final = 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceCheck:
    """Skeletons, by their paths in the table, with their source files."""

    location: str
    skeletons: tuple[tuple[str, SourceFile], ...]


def check_sources(tasks: Tasks, location: str, slices: Iterable[FileSlice]) -> None:
    """Compare the source behind each skeleton: size, modification time, footer.

    Costs a stat and a read of two footers for each skeleton; nothing for other slices.

    Raises:
        SourceDriftError: `source/drift`; names the file.
        CorruptFileError: `file/not-readable`; a skeleton is damaged.
    """
    found = [(each.base.path, each.bootstrap) for each in slices if each.base and each.bootstrap]
    check_skeletons(tasks, location, found)


def check_skeletons(tasks: Tasks, location: str, found: Sequence[tuple[str, SourceFile]]) -> None:
    """Compare the source of each skeleton, given by its path; see `check_sources`."""
    descriptors = [
        encode(SourceCheck(location=location, skeletons=tuple(found[at : at + _FILES_PER_TASK])))
        for at in range(0, len(found), _FILES_PER_TASK)
    ]
    for _ in tasks.run(check_sources_task, descriptors):
        pass


def check_sources_task(descriptor: str) -> str:
    """Compare the sources of a `SourceCheck`; return an empty text.

    Raises:
        SourceDriftError, CorruptFileError: see `check_sources`.
    """
    check = decode(SourceCheck, descriptor)
    table = open_storage(check.location)
    for skeleton, source in check.skeletons:
        folder, name = open_storage(parent_of(source.uri)), name_of(source.uri)
        what = _difference(folder.stat(name), source)
        if what:
            raise drifted(source.uri, what)
        fingerprint = _fingerprint(table, skeleton)
        if fingerprint is not None:
            with open_source(folder, replace(fingerprint, path=name)):
                pass
    return ""


def _difference(entry: Entry | None, source: SourceFile) -> str:
    """Return how a file differs from the table's record of it; "" if it does not."""
    if entry is None or entry.is_folder:
        return "it is missing"
    if entry.size != source.size:
        return f"it has {entry.size} bytes, not {source.size}"
    if source.mtime_ms and entry.mtime_ns // _NS_PER_MS != source.mtime_ms:
        return "its modification time has changed"
    return ""


def _fingerprint(table: Storage, skeleton: str) -> Fingerprint | None:
    """Return the fingerprint in a skeleton's footer; None in one of Apache Hudi's."""
    try:
        with table.open_input(skeleton) as stream:
            entries = SealedFooter.read(stream).metadata.metadata or {}
    except UNREADABLE as error:
        raise CorruptFileError(
            "file/not-readable",
            f"the file cannot be read: {error}",
            where=Where(file=f"{table.location}/{skeleton}"),
            remedy="Restore the file from a copy.",
        ) from error
    stored = entries.get(SOURCE.encode())
    return None if stored is None else Fingerprint.from_json(stored)
