"""The tables that benches load, as specs."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

__all__ = ["keyed_table"]


def keyed_table(
    target: Path | str, kind: str, *, keys: Iterable[str], partition: str, partition_type: str
) -> dict[str, Any]:
    """Return the spec of an ordinary table whose keys are unique in a partition.

    Args:
        target: its location.
        kind: its type.
        keys: the columns of its key.
        partition: the column of its partitions.
        partition_type: that column's type.
    """
    return {
        "version": 1,
        "table": {
            "name": "bench",
            "location": str(target),
            "type": kind,
            "partition_by": {partition: partition_type},
            "record_key": {"columns": list(keys), "unique_within": "partition"},
            "ordering": "commit_time",
        },
    }
