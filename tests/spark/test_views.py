"""The timeline service of runs on a session: there by default, kept between runs, switched off."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from framework.engine.reading.table import open_table
from framework.engine.reading.views import LISTED
from framework.spark import read, run
from framework.spark.backend import EmbeddedViews, views_for
from framework.spec.sections.timeline_service_spec import TimelineServiceSpec

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark


def a_spec(folder: Path, **service: Any) -> Path:
    """Write a spec that upserts JSON lines, and return it."""
    document = {
        "version": 1,
        "table": {
            "name": "shop.orders",
            "location": str(folder / "table"),
            "partition_by": {"day": "string"},
            "record_key": {"columns": ["id"], "unique_within": "partition"},
            "ordering": {"columns": ["ts"]},
        },
        "source": {
            "format": "json",
            "path": str(folder / "landing"),
            "schema": "id BIGINT, day STRING, ts BIGINT",
        },
        "write": {"operation": "upsert"},
        "timeline_service": service,
    }
    path = folder / "orders.pipeline.yml"
    path.write_text(json.dumps(document))
    return path


def land(folder: Path, name: str, ts: int) -> None:
    """Write a file with ten rows over two days."""
    place = folder / "landing"
    place.mkdir(exist_ok=True)
    lines = [json.dumps({"id": n, "day": f"d{n % 2}", "ts": ts}) for n in range(10)]
    (place / f"{name}.json").write_text("\n".join(lines))


def test_runs_of_a_session_share_a_view_that_lists_each_partition_once(
    spark: SparkSession, tmp_path: Path
) -> None:
    """The third run lists nothing to learn its slices, and its tasks were answered."""
    spec = a_spec(tmp_path)
    for number in range(2):
        land(tmp_path, str(number), number)
        run(spark, spec)
    views = views_for(spark, TimelineServiceSpec())
    assert isinstance(views, EmbeddedViews)
    served = views.served(open_table(str(tmp_path / "table")))
    before, asked = served.view.counts, served.answers["look-up"]
    assert before.listings > 0
    assert asked > 0
    land(tmp_path, "2", 2)
    run(spark, spec)
    after = served.view.counts
    assert after.listings == before.listings
    assert (after.rebuilt, after.resets) == (0, 0)
    assert served.answers["look-up"] > asked
    assert {row.ts for row in read(spark, tmp_path / "table").collect()} == {2}


def test_run_whose_spec_switches_the_service_off_lists_folders(
    spark: SparkSession, tmp_path: Path
) -> None:
    """The rows are the same, and no view is kept."""
    spec = a_spec(tmp_path, enabled=False)
    for number in range(2):
        land(tmp_path, str(number), number)
        run(spark, spec)
    assert views_for(spark, TimelineServiceSpec(enabled=False)) is LISTED
    kept = views_for(spark, TimelineServiceSpec())
    assert isinstance(kept, EmbeddedViews)
    assert not kept.serves(str(tmp_path / "table"))
    assert {row.ts for row in read(spark, tmp_path / "table").collect()} == {1}
