"""Rows of a bucket by partition or by place, read a part at a time."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from framework.engine.load.dedup import Bucket, read_batches, read_parts
from framework.engine.load.key_input import Part
from framework.hudi.storage.port import Storage

__all__ = ["bucket_rows", "taken_rows"]


def bucket_rows(
    storage: Storage, bucket: Bucket, paths: frozenset[str] | None, names: Sequence[str]
) -> tuple[pa.Table | None, np.ndarray]:
    """Return some columns of a bucket's rows in some partitions, and the rows' places in it.

    `paths` None means all of them. The table is None if there are no rows.
    """
    parts, places = [], [np.empty(0, np.int64)]
    for part, (path, start, stop) in zip(bucket.parts, bucket.starts(), strict=True):
        if paths is None or path in paths:
            parts.append(part)
            places.append(np.arange(start, stop))
    found = read_parts(storage, parts, names) if parts else None
    return found, np.concatenate(places)


def taken_rows(
    storage: Storage, bucket: Bucket, names: Sequence[str], rows: np.ndarray
) -> pa.Table | None:
    """Return some columns of the rows at some places of a bucket, in their order; None for none.

    Parts without such rows are not read, the others one at a time.
    """
    order = np.argsort(rows, kind="stable")
    asked = rows[order]
    parts: list[Part] = []
    mine: list[np.ndarray] = []
    for part, (_, start, stop) in zip(bucket.parts, bucket.starts(), strict=True):
        first, last = np.searchsorted(asked, [start, stop]).tolist()
        if first < last:
            parts.append(part)
            mine.append(asked[first:last] - start)
    if not parts:
        return None
    batches = zip(read_batches(storage, parts, names), mine, strict=True)
    found = pa.Table.from_batches([_taken(batch, some) for batch, some in batches])
    if (order[:-1] < order[1:]).all():
        return found
    return found.take(pa.array(np.argsort(order)))


def _taken(batch: pa.RecordBatch, places: np.ndarray) -> pa.RecordBatch:
    """Return the rows at some ascending places, without a copy if they are all."""
    if places.size == batch.num_rows and (places == np.arange(places.size)).all():
        return batch
    return batch.take(pa.array(places))
