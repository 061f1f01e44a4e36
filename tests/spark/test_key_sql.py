"""The key expression, run by Spark, equals the Arrow kernels and so Apache Hudi."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from framework.hudi.keygen.rule import key_faults
from framework.hudi.keygen.spark_sql import key_sql
from framework.hudi.keygen.text import record_keys
from tests.support.golden_keys import arrow_type, golden_keys, golden_table, rule_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark


def _table() -> pa.Table:
    """Return all columns of the golden vectors that may be keys, and some harder ones."""
    columns = {
        name: column
        for name, column in golden_keys("1.2.0")["columns"].items()
        if not key_faults(rule_of("k"), pa.schema([("k", arrow_type(column["type"]))]))
    }
    columns["k_empty"] = {"type": "string", "values": ["x", None, "", "__null__"]}
    fine = ["0", "1E-36", "-1.5", "0.000001", "-0.00000012", "99.5"]
    columns["k_fine"] = {"type": "decimal128(38, 36)", "values": fine}
    return golden_table(columns)


TABLE = _table()


@pytest.fixture
def frame_conf(spark: SparkSession) -> Iterator[SparkSession]:
    """Make the session read days before 1582 unchanged, and restore the setting."""
    keys = ("spark.sql.parquet.datetimeRebaseModeInRead", "spark.sql.ansi.enabled")
    before = {key: spark.conf.get(key) for key in keys}
    spark.conf.set(keys[0], "CORRECTED")
    yield spark
    for key, value in before.items():
        if value is not None:
            spark.conf.set(key, value)


@pytest.mark.parametrize("ansi", ["true", "false"])
def test_key_expression_equals_key_kernels(
    frame_conf: SparkSession, tmp_path: Path, ansi: str
) -> None:
    """Column by column and all together, in ANSI mode and outside it."""
    frame_conf.conf.set("spark.sql.ansi.enabled", ansi)
    numbered = TABLE.append_column("row", pa.array(range(TABLE.num_rows)))
    pq.write_table(numbered, tmp_path / "keys.parquet", store_schema=False)
    rules = [rule_of(name) for name in TABLE.schema.names]
    rules += [rule_of(*TABLE.schema.names), rule_of("k_empty", "k_int8")]
    frame = frame_conf.read.parquet(str(tmp_path / "keys.parquet"))
    expressions = [f"{key_sql(rule, TABLE.schema)} AS e{n}" for n, rule in enumerate(rules)]
    found = frame.orderBy("row").selectExpr(*expressions).collect()
    for n, rule in enumerate(rules):
        ours = record_keys(rule, TABLE, {}).to_pylist()
        assert [row[n] for row in found] == ours, rule.record_key
