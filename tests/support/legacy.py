"""Source files as Spark writes them in its old calendar."""

from __future__ import annotations

from datetime import date
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

__all__ = ["JULIAN", "LATE", "MEANT", "UTC_MARKS", "write_legacy"]

UTC_MARKS: Mapping[str, str] = {
    "org.apache.spark.version": "3.5.8",
    "org.apache.spark.legacyDateTime": "",
    "org.apache.spark.legacyINT96": "",
    "org.apache.spark.timeZone": "UTC",
}
"""What the footer of a file says all of whose days are of the old calendar."""

MEANT = date(1000, 2, 28)
JULIAN = date(1000, 3, 5)
"""How the number of `MEANT` in the old calendar reads in the new one."""

LATE = date(2024, 2, 29)


def write_legacy(
    path: Path,
    rows: pa.Table | Sequence[Mapping[str, Any]],
    pairs: Mapping[str, str] = UTC_MARKS,
    *,
    int96: bool = False,
) -> Path:
    """Write rows, whose days are numbers of the old calendar, and these key-values."""
    path.parent.mkdir(parents=True, exist_ok=True)
    table = rows if isinstance(rows, pa.Table) else pa.Table.from_pylist(list(rows))
    with pq.ParquetWriter(
        path, table.schema, store_schema=False, use_deprecated_int96_timestamps=int96
    ) as writer:
        writer.write_table(table)
        writer.add_key_value_metadata(dict(pairs))
    return path
