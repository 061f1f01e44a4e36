"""What a commit says of each file, from the statuses that the driver received."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from framework.hudi.filegroup.names import LogFileName
from framework.hudi.table.layout import join
from framework.hudi.timeline.commit_metadata import LogAppend, WriteStat

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    import pyarrow as pa

__all__ = ["stats_of"]

_COLUMNS: Final = (
    "file_id",
    "name",
    "rows",
    "size",
    "inserts",
    "updates",
    "deletes",
    "previous",
    "base_name",
)


def stats_of(partition: str, batches: Iterable[pa.RecordBatch]) -> Iterator[WriteStat]:
    """Yield the statistics of a partition's files, in the order of their statuses."""
    for batch in batches:
        for status in batch.select(_COLUMNS).to_pylist():
            yield _stat(partition, **status)


def _stat(partition: str, *, name: str, base_name: str | None, **counts: Any) -> WriteStat:
    """Return the statistics of one file; its name tells whether it is a log file."""
    log = LogFileName.parse(name)
    append = LogAppend(version=log.version, base_file=base_name or "") if log else None
    return WriteStat(path=join(partition, name), partition_path=partition, log=append, **counts)
