"""What `framework.spark.read` makes of each source format, on this PySpark, is as listed."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import framework.plan.bootstrap.build_bootstrap
from framework.plan.readers.source_formats import FORMATS, Engine, Use
from framework.spark import read
from tests.interop.canonical import canonical_rows
from tests.support.formats import READ, RIGHT, TRAITS, adopted, upsert_into

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

BY_TRAIT = {known.trait: known for known in FORMATS}


@pytest.mark.parametrize("name", [*READ, *RIGHT])
def test_read_of_a_format_is_as_listed(
    name: str, spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of a table whose one file stayed as it is, whether or not a plan refuses that."""
    monkeypatch.setattr(framework.plan.bootstrap.build_bootstrap, "FORMATS", ())
    location = adopted(name, tmp_path)
    rows, _, _ = upsert_into(name)
    engine = Engine.SPARK_3_5 if spark.version.startswith("3.5") else Engine.SPARK_4_1
    wanted = BY_TRAIT[TRAITS[name]].reads.get(engine, Use.RIGHT) if name in TRAITS else Use.RIGHT
    try:
        found = read(spark, str(location)).select(rows.column_names).collect()
    except Exception:  # noqa: BLE001 - Spark's reader fails in many ways
        assert wanted is Use.FAILS
        return
    expected = canonical_rows([tuple(row.values()) for row in rows.to_pylist()])
    same = canonical_rows([tuple(row) for row in found]) == expected
    assert wanted is (Use.RIGHT if same else Use.WRONG)
