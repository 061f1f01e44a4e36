"""What Apache Hudi said about keys, as `tests/golden/make_keys.py` recorded it."""

from __future__ import annotations

import json
import re
from decimal import Decimal
from functools import cache
from pathlib import Path
from typing import Any

import pyarrow as pa

from framework.hudi.keygen.rule import KeyRule, PartitionField, choose_rule
from framework.vocabulary import KeyScope, PartitionType, SourceLayout

__all__ = ["RELEASES", "arrow_type", "golden_keys", "golden_partitions", "golden_table", "rule_of"]

RELEASES = ("1.2.0", "0.15.0")
_GOLDEN = Path(__file__).parents[1] / "golden"
_TYPES: dict[str, pa.DataType] = {
    str(kind): kind
    for kind in (
        pa.string(),
        pa.int8(),
        pa.int16(),
        pa.int32(),
        pa.int64(),
        pa.bool_(),
        pa.date32(),
        pa.float32(),
        pa.float64(),
        pa.timestamp("us"),
        pa.timestamp("us", tz="UTC"),
        pa.binary(),
    )
}


@cache
def golden_keys(release: str) -> dict[str, Any]:
    """Return the vectors of one release."""
    vectors: dict[str, Any] = json.loads(
        (_GOLDEN / f"keys-{release}.json").read_text(encoding="utf-8")
    )
    return vectors


@cache
def golden_partitions(release: str) -> dict[str, Any]:
    """Return what one release did with partition values and the custom key generator."""
    found: dict[str, Any] = json.loads(
        (_GOLDEN / f"keys-partitions-{release}.json").read_text(encoding="utf-8")
    )
    return found


def arrow_type(name: str) -> pa.DataType:
    """Return the type that `str` showed as `name`."""
    decimal = re.fullmatch(r"decimal128\((\d+), (\d+)\)", name)
    return pa.decimal128(int(decimal[1]), int(decimal[2])) if decimal else _TYPES[name]


def golden_table(columns: dict[str, dict[str, Any]]) -> pa.Table:
    """Return the columns side by side, shorter ones repeated, as the vectors were made from."""
    rows = max(len(column["values"]) for column in columns.values())
    return pa.table({name: _array(column, rows) for name, column in columns.items()})


def rule_of(*keys: str, partitions: int = 0, scope: KeyScope = KeyScope.TABLE) -> KeyRule:
    """Return the rule for key columns and string partition columns p0, p1 and so on."""
    fields = [PartitionField(name=f"p{n}", type=PartitionType.STRING) for n in range(partitions)]
    layout = SourceLayout.HIVE if partitions else SourceLayout.NONE
    return choose_rule(keys, fields, layout=layout, scope=scope)


def _array(column: dict[str, Any], rows: int) -> pa.Array:
    """Return one column of the vectors."""
    kind = arrow_type(column["type"])
    values = [column["values"][i % len(column["values"])] for i in range(rows)]
    if pa.types.is_decimal(kind):
        return pa.array([Decimal(value) for value in values], kind)
    if pa.types.is_date32(kind):
        return pa.array(values, pa.int32()).cast(kind)
    return pa.array(values, kind)
