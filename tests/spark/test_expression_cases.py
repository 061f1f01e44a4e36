"""The light scan of expressions and texts against Spark's own parser and casts."""

from __future__ import annotations

import json
from itertools import product
from typing import TYPE_CHECKING

import pytest

from framework.spec.sql.expressions import scan
from framework.spec.sql.predicates import reads_as
from tests.unit.spec.expression_cases import AGGREGATE, ROWWISE

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

TEXTS = (
    *("", " ", "abc", "1", " 1 ", "-1", "+1", "1.5", ".5", "1.", ".", "1e3", "1e-3", "1d", "1L"),
    *("0x1F", "nan", "NaN", "inf", "-Infinity", "1_000", "1,5", "127", "128", "-129", "32768"),
    *("2147483648", "9223372036854775807", "9223372036854775808", "1" * 40, "12345678.91"),
    *("true", "T", "yes", "on", "no", "0", "maybe", "2026", "2026-1", "2026-01-01", "2026-1-1"),
    *("2026-02-29", "2024-02-29", "1900-02-29", "2026-13-01", "2026-01-32", "26-01-01", "garbage"),
    *("2026-01-01T10:00:00", "2026-01-01 10:00:00.123456 UTC", "2026-01-01 10", "10:00", "T10:00"),
    *("epoch", "now", "today", "01/02/2026", "20260101", "+12026-01-01", "2026-01-01x"),
)
TYPES = (
    *("tinyint", "smallint", "int", "bigint", "float", "double", "boolean", "date", "timestamp"),
    *("timestamp_ntz", "decimal(10,2)", "decimal(2,2)", "decimal(38,0)", "string"),
)


def _seen(spark: SparkSession, expression: str) -> set[str]:
    """The columns that Spark sees in an expression, but for those within lambdas."""
    parser = spark._jsparkSession.sessionState().sqlParser()  # noqa: SLF001 - no public parser
    nodes = json.loads(parser.parseExpression(expression).toJSON())
    names = [n["nameParts"] for n in nodes if n["class"].endswith(".UnresolvedAttribute")]
    return {name.strip("[]").replace(", ", ".") for name in names}


def test_spark_sees_the_columns_that_the_scan_sees(spark: SparkSession) -> None:
    """Of each case that the unit tests take for valid; Spark 3.5 has less syntax."""
    if spark.version < "4":
        pytest.skip("a cast by `::` and COLLATE came with Spark 4")
    wrong = []
    for expression, columns in (*ROWWISE, *AGGREGATE):
        doubtful = {".".join(found.names) for found in scan(expression).doubtful}
        seen = _seen(spark, expression)
        same = seen - doubtful == set(columns) or expression == "(a).b = 1"  # a field, to us
        if not same and not ("->" in expression and seen <= set(columns)):
            wrong.append((expression, seen, columns))
    assert wrong == []


def test_text_that_is_no_value_is_refused_by_sparks_cast(spark: SparkSession) -> None:
    """What validation calls no value of a type, Spark cannot cast in ANSI mode."""
    refused = [(text, kind) for text, kind in product(TEXTS, TYPES) if not reads_as(text, kind)]
    casts = ", ".join(f"try_cast('{text}' AS {kind})" for text, kind in refused)
    row = spark.sql(f"SELECT {casts}").first()
    assert row is not None
    cast = [case for case, value in zip(refused, row, strict=True) if value is not None]
    assert cast == []
    assert len(refused) > 300
