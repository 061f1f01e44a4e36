"""What Apache Hudi is asked to write into an adopted table, and what must be there afterwards."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from tests.interop.cases import Case
from tests.interop.sources import Row

__all__ = ["Upsert", "upsert_for", "write_batch", "writer_options"]

GENERATORS: Mapping[str, str] = {
    "none": "NonpartitionedKeyGenerator",
    "one": "SimpleKeyGenerator",
    "several": "ComplexKeyGenerator",
    "custom": "CustomKeyGenerator",
}
NEW_ID = 900_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Upsert:
    """Incoming rows and the whole table as it must be when they are in."""

    batch: tuple[Row, ...]
    expected: tuple[Row, ...]
    touched: frozenset[str]


def upsert_for(case: Case, *, index: str) -> Upsert:
    """Return updates of the first and last row, an insert beside them, one in a new partition.

    A global index is also given a row that has moved to another partition.
    """
    rows = [_without_meta(row) for row in case.rows]
    changed = [{**row, "v": "updated", "n": 9} for row in (rows[0], rows[-1])]
    added = [{**rows[-1], "id": NEW_ID, "v": "added", "n": 8}]
    if case.new_partition:
        added.append({**rows[0], **case.new_partition, "id": NEW_ID + 1, "v": "placed", "n": 7})
    if index.startswith("GLOBAL") and case.new_partition and _key_stays(case):
        changed.append({**rows[1], **case.new_partition, "v": "moved", "n": 6})
    replaced = {case.record_key(row) for row in changed}
    kept = [row for row in rows if case.record_key(row) not in replaced]
    batch = (*changed, *added)
    return Upsert(
        batch=batch,
        expected=(*kept, *batch),
        touched=frozenset(case.record_key(row) for row in batch),
    )


def write_batch(case: Case, upsert: Upsert, path: Path) -> Path:
    """Write the incoming rows in the table's schema and return the file."""
    fields = [pa.field(column.name, column.type) for column in case.schema]
    table = pa.Table.from_pylist(list(upsert.batch), schema=pa.schema(fields))
    pq.write_table(table, path, store_schema=False)
    return path


def writer_options(case: Case, index: str) -> dict[str, str]:
    """Return the options with which a Hudi DataFrame job continues the table."""
    fields = list(case.partition_by)
    generator = _generator(case)
    options = {
        "hoodie.table.name": case.name.replace("-", "_"),
        "hoodie.index.type": index,
        "hoodie.datasource.write.recordkey.field": ",".join(case.key),
        "hoodie.datasource.write.keygenerator.class": f"org.apache.hudi.keygen.{generator}",
        "hoodie.datasource.write.partitionpath.field": ",".join(
            f"{name}:SIMPLE" if generator.startswith("Custom") else name for name in fields
        ),
        "hoodie.datasource.write.hive_style_partitioning": str(case.layout == "hive").lower(),
        "hoodie.datasource.write.partitionpath.urlencode": str(case.layout == "hive").lower(),
        "hoodie.index.bloom.num_entries": "1000",
    }
    if case.table_type == "merge_on_read":
        return {**options, "hoodie.datasource.write.precombine.field": "n"}
    return {**options, "hoodie.combine.before.upsert": "false"}


def _generator(case: Case) -> str:
    """Return the class of key generator that fits keys and partition fields."""
    if not case.partition_by:
        return GENERATORS["none"]
    if len(case.key) > 1:
        return GENERATORS["several"]
    return GENERATORS["one" if len(case.partition_by) == 1 else "custom"]


def _key_stays(case: Case) -> bool:
    """Say whether a row keeps its key when it moves to another partition."""
    return not set(case.key) & set(case.partition_by)


def _without_meta(row: Mapping[str, Any]) -> Row:
    """Return the data columns of a row."""
    return {name: value for name, value in row.items() if not name.startswith("_hoodie_")}


def sql_literal(value: object) -> str:
    """Return a partition value as a Spark SQL literal."""
    match value:
        case dt.date():
            return f"date'{value}'"
        case str():
            return "'" + value.replace("'", "\\'") + "'"
        case _:
            return str(value)
