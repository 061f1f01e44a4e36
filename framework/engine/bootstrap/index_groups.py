"""The written skeletons as the bootstrap index wants them: by partition, in either of its orders.

Statuses come by the bytes of partition paths. In the fileids file a partition comes after those
whose path goes on where its own ends, with a byte below `;`: `p=1-2`, `p=10`, then `p=1`. Such
partitions follow it at once in the statuses, so it waits on a stack until the last has passed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import pyarrow.compute as pc

from framework.hudi.bootstrap.index_values import FileMapping, IndexGroup, fileids_key
from framework.hudi.commit.links import by_partition
from framework.hudi.commit.segments import merge_segments
from framework.vocabulary import BootstrapMode

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    import pyarrow as pa

    from framework.hudi.bootstrap.index import IndexOrder
    from framework.hudi.commit.segments import SegmentRef
    from framework.hudi.storage.port import Storage

__all__ = ["index_groups"]

_NS_PER_MS: Final = 1_000_000
_COLUMNS: Final = ("file_id", "source_path", "source_size", "source_mtime_ns")


def index_groups(
    storage: Storage, segments: Sequence[SegmentRef], source_uri: str
) -> Callable[[IndexOrder], Iterable[IndexGroup]]:
    """Return what `write_index` asks for groups in an order; each call reads the segments once.

    Memory holds one partition's skeletons, and those of partitions whose path it continues.

    Args:
        storage: the table's.
        segments: statuses of all written files; full ones are passed over.
        source_uri: full URI of the source root.
    """

    def groups(order: IndexOrder) -> Iterable[IndexGroup]:
        found = _by_path(storage, segments, source_uri)
        return found if order == "partition" else _by_fileids_key(found)

    return groups


def _by_path(
    storage: Storage, segments: Sequence[SegmentRef], source_uri: str
) -> Iterator[IndexGroup]:
    """Yield the partitions that have skeletons, by the bytes of their paths."""
    for partition, batches in by_partition(merge_segments(storage, segments)):
        files = [file for batch in batches for file in _mappings(batch, source_uri)]
        if files:
            yield IndexGroup(partition_path=partition, source_partition=partition, files=files)


def _mappings(batch: pa.RecordBatch, source_uri: str) -> Iterator[FileMapping]:
    """Yield the skeletons of a batch of statuses."""
    chosen = batch.filter(pc.equal(batch["mode"], BootstrapMode.METADATA_ONLY.value))
    columns = (chosen[name].to_pylist() for name in _COLUMNS)
    for file_id, path, size, mtime_ns in zip(*columns, strict=True):
        yield FileMapping(
            file_id=file_id,
            uri=f"{source_uri}/{path}",
            size=size,
            mtime_ms=mtime_ns // _NS_PER_MS,
        )


def _by_fileids_key(groups: Iterable[IndexGroup]) -> Iterator[IndexGroup]:
    """Yield groups that come by path in the order of their keys in the fileids file."""
    waiting: list[IndexGroup] = []
    for group in groups:
        while waiting and not _precedes(group.partition_path, waiting[-1].partition_path):
            yield waiting.pop()
        waiting.append(group)
    while waiting:
        yield waiting.pop()


def _precedes(path: str, shorter: str) -> bool:
    """Return whether `path`, which comes later by its bytes, comes earlier by its key."""
    return path.startswith(shorter) and fileids_key(path) < fileids_key(shorter)
