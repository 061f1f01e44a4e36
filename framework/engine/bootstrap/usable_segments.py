"""Which files of an earlier process of the same run can be kept."""

from __future__ import annotations

from typing import TYPE_CHECKING

from framework.engine.audit.spill import SpillReader
from framework.errors import CorruptFileError, StorageError
from framework.hudi.commit.segments import SegmentRef, read_segment
from framework.hudi.storage.checksum import file_crc32c
from framework.hudi.table.layout import join

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from framework.engine.bootstrap.job import BootstrapJob
    from framework.hudi.storage.port import Storage

__all__ = ["usable_segments"]


def usable_segments(
    storage: Storage, segments: Iterable[SegmentRef], job: BootstrapJob
) -> Iterator[SegmentRef]:
    """Yield the segments whose statuses, hashes and files are all as they were written.

    Reads each of them once. What is damaged or gone is left out, and so is done again. That the
    source is still the same is for the inventory's hash and the drift check to say.
    """
    for segment in segments:
        try:
            usable = _is_whole(storage, segment, job)
        except (CorruptFileError, StorageError):
            continue
        if usable:
            yield segment


def _is_whole(storage: Storage, segment: SegmentRef, job: BootstrapJob) -> bool:
    """Return whether nothing of the segment is missing or changed.

    Raises:
        CorruptFileError, StorageError: something is, and cannot even be read.
    """
    spill = SpillReader(storage, f"{segment.path}.spill")
    spill.verify()
    if spill.bits != job.bits or spill.total != segment.rows:
        return False
    columns = ("staged", "partition_path", "name", "size", "crc32c")
    for batch in read_segment(storage, segment):
        rows = zip(*(batch[name].to_pylist() for name in columns), strict=True)
        for staged, partition, name, size, crc32c in rows:
            path = _present(storage, staged, join(partition, name), size)
            if path is None or file_crc32c(storage, path) != crc32c:
                return False
    return True


def _present(storage: Storage, staged: str, placed: str, size: int) -> str | None:
    """Return where the file is: still staged, or at its name already; None if it is nowhere."""
    for path in (staged, placed):
        entry = storage.stat(path)
        if entry is not None and entry.size == size:
            return path
    return None
