"""Loads on Spark: other formats, transforms, and queries over what was loaded."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from framework.errors import AuditFailedError
from framework.spark import read, read_incremental, run
from tests.support.commands import run_pipeline

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark


def a_spec(folder: Path, kind: str = "copy_on_write", operation: str = "upsert") -> Path:
    """Write a spec that loads JSON lines through two views, and return it."""
    document: dict[str, Any] = {
        "version": 1,
        "table": {
            "name": "shop.orders",
            "location": str(folder / "table"),
            "type": kind,
            "partition_by": {"day": "date"},
            "record_key": {"columns": ["id"], "unique_within": "table"},
            "ordering": {"columns": ["ts"]},
        },
        "source": {
            "format": "json",
            "path": str(folder / "landing"),
            "schema": "id BIGINT, day DATE, ts BIGINT, price STRING",
        },
        "transforms": [
            {"name": "priced", "sql": "SELECT *, CAST(price AS DECIMAL(9,2)) p FROM source"},
            {"name": "kept", "sql": "SELECT id, day, ts, p, rand() r FROM priced WHERE p > 0"},
        ],
        "write": {"operation": operation},
    }
    path = folder / "orders.pipeline.yml"
    path.write_text(json.dumps(document))
    return path


def land(folder: Path, name: str, *rows: tuple[int, str, int, str]) -> None:
    """Write a file of JSON lines."""
    place = folder / "landing"
    place.mkdir(exist_ok=True)
    names = ("id", "day", "ts", "price")
    lines = [json.dumps(dict(zip(names, row, strict=True))) for row in rows]
    (place / f"{name}.json").write_text("\n".join(lines))


def prices(frame: Any) -> dict[int, str]:
    """Return day and price of each row by id."""
    return {row.id: f"{row.day} {row.p}" for row in frame.collect()}


@pytest.mark.parametrize("kind", ["copy_on_write", "merge_on_read"])
def test_load_of_json_through_views_is_read_by_every_query(
    kind: str, spark: SparkSession, tmp_path: Path
) -> None:
    """Rows come through the transforms; a second load changes, moves and adds some."""
    spec = a_spec(tmp_path, kind)
    land(tmp_path, "a", (1, "2026-01-01", 1, "2.50"), (2, "2026-01-01", 1, "3"), (3, "x", 1, "-1"))
    first = run(spark, spec)
    land(tmp_path, "b", (1, "2026-01-02", 2, "9.99"), (4, "2026-01-01", 1, "1"))
    second = run(spark, spec)
    assert run(spark, spec).instant is None
    table = tmp_path / "table"
    before = {1: "2026-01-01 2.50", 2: "2026-01-01 3.00"}
    after = {1: "2026-01-02 9.99", 2: "2026-01-01 3.00", 4: "2026-01-01 1.00"}
    assert prices(read(spark, table)) == after
    assert prices(read(spark, table, as_of=first.instant)) == before
    changed = read_incremental(spark, table, begin=first.instant, end=second.instant)
    assert prices(changed) == {key: after[key] for key in (1, 4)}


def test_load_refused_by_the_gate_leaves_the_table_as_it_was(
    spark: SparkSession, tmp_path: Path
) -> None:
    """An insert of an existing key is reported with its file, and nothing is published."""
    land(tmp_path, "a", (1, "2026-01-01", 1, "2.50"))
    run(spark, a_spec(tmp_path, operation="insert"))
    land(tmp_path, "b", (5, "2026-01-01", 1, "1"), (1, "2026-01-02", 2, "9.99"))
    with pytest.raises(AuditFailedError) as caught:
        run(spark, a_spec(tmp_path, operation="insert"))
    assert caught.value.condition == "audit/taken-keys"
    assert prices(read(spark, tmp_path / "table")) == {1: "2026-01-01 2.50"}


def test_preview_shows_rows_after_the_views_and_writes_nothing(tmp_path: Path) -> None:
    """The command names the columns' types, and what would not be the same each time."""
    land(tmp_path, "a", (1, "2026-01-01", 1, "2.50"), (3, "2026-01-01", 1, "-1"))
    done = run_pipeline("preview", a_spec(tmp_path), "--format", "json")
    assert done.code == 0
    assert [json.loads(line)["id"] for line in done.out.splitlines()] == [1]
    assert "p decimal(9,2)" in done.err
    assert "not deterministic: rand" in done.err
    assert not (tmp_path / "table").exists()
