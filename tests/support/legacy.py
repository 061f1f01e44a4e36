"""Source files as Spark writes them in its old calendar."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = [
    "COLUMNS",
    "JULIAN",
    "LATE",
    "MEANT",
    "STAMPS",
    "UTC_MARKS",
    "spark_writes",
    "write_legacy",
]

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


STAMPS = ("TIMESTAMP_MICROS", "TIMESTAMP_MILLIS", "INT96")
"""How Spark can store timestamps."""

COLUMNS = ("id", "d", "t", "s", "l", "m", "v")

_DAYS = ("0001-01-03", "0099-03-01", "1000-02-28", "1582-10-04", "1582-10-15", "1700-03-01")
_MOMENTS = ("1582-10-04 23:59:59.123", "1883-11-18 12:00:00.5", "1899-12-31 23:59:59.999")
_PARTS = (
    "d",
    "t",
    "struct(d, t, struct(t as t) as s) as s",
    "array(struct(d as d, t as t), null, named_struct('d', cast(null as date), 't', t)) as l",
    "map('k', array(t, null), 'n', null) as m",
    "'before' as v",
)


def spark_writes(
    spark: SparkSession, folder: Path, *, zone: str, stamp: str, settings: Mapping[str, str]
) -> Path:
    """Have Spark write early days in its old calendar below `folder`, two files of `COLUMNS`.

    Args:
        spark: a session; its settings stay as they are.
        folder: absent.
        zone: the session's time zone.
        stamp: one of `STAMPS`.
        settings: others of the session.
    """
    session = spark.newSession()
    modes = {f"spark.sql.parquet.{kind}RebaseModeInWrite": "LEGACY" for kind in _KINDS}
    every = {
        **modes,
        "spark.sql.session.timeZone": zone,
        "spark.sql.parquet.outputTimestampType": stamp,
        **settings,
    }
    for name, value in every.items():
        session.conf.set(name, value)
    texts = [*(f"{day} 11:22:33.456" for day in _DAYS), *_MOMENTS, "2024-02-29 01:02:03", None]
    rows = session.createDataFrame([*enumerate(texts)], "id long, x string")
    typed = rows.selectExpr("id", "cast(x as date) as d", "cast(x as timestamp) as t")
    everything = typed.selectExpr("id", *_PARTS)
    for number in range(2):
        half = everything.where(f"id % 2 = {number}").coalesce(1)
        half.write.mode("append").parquet(f"file:{folder}")
    return folder


_KINDS = ("datetime", "int96")
