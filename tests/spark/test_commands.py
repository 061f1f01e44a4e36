"""The command and the library call over Spark: sessions, settings, logs, results."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from framework import AuditFailedError
from framework.engine.inspect.status import table_status
from framework.spark import run
from tests.support.commands import run_pipeline
from tests.support.scenes import Scene, a_scene, snapshot
from tests.support.sources import ids

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark


@pytest.fixture
def scene(tmp_path: Path) -> Scene:
    """Two partitions with unique keys."""
    return a_scene(tmp_path / "scene", {"p=1/a": ids(1, 2), "p=2/a": ids(3)})


def test_run_on_the_callers_session_leaves_it_open(spark: SparkSession, scene: Scene) -> None:
    """It publishes once, then finds nothing to do."""
    result = run(spark, scene.spec)
    assert (result.instant, result.files, result.rows) == ("00000000000001", 2, 3)
    assert run(spark, str(scene.spec)).case == "up_to_date"
    assert spark.range(3).count() == 3
    assert table_status(str(scene.location)).dangers == ()


def test_refused_run_on_the_callers_session_leaves_nothing(
    spark: SparkSession, tmp_path: Path
) -> None:
    """The error of the gate is the caller's to handle."""
    scene = a_scene(tmp_path / "twice", {"p=1/a": ids(1, 2), "p=2/a": ids(2)})
    with pytest.raises(AuditFailedError):
        run(spark, scene.spec)
    assert snapshot(scene.location) == {}


def test_command_starts_and_stops_a_session_of_its_own(scene: Scene) -> None:
    """`--master` beats the spec's; of a run that goes well no log is left."""
    document = {
        **scene.document,
        "spark": {"master": "nonsense://", "conf": {"spark.app.name": "x"}},
    }
    scene.spec.write_text(json.dumps(document))
    outcome = run_pipeline(
        *("run", scene.folder / "scene.pipeline.yml", "--format", "json", "--log-format", "json"),
        *("--master", "local[2]", "--conf", "spark.ui.enabled=false"),
    )
    assert outcome.code == 0, outcome.err
    assert json.loads(outcome.out)["instant"] == "00000000000001"
    log = [json.loads(line) for line in outcome.err.splitlines()]
    assert any(e["event"] == "note" and "local[2]" in e["message"] for e in log)


def test_command_names_the_log_of_spark_where_it_does_not_start(scene: Scene) -> None:
    """The reason is in it."""
    outcome = run_pipeline("run", scene.spec, "--format", "json", "--master", "nonsense://")
    assert outcome.code == 5
    assert outcome.error["condition"] == "spark/not-started"
    (note,) = outcome.error["notes"]
    assert Path(note.removeprefix("Spark's log: ")).read_text()
    assert snapshot(scene.location) == {}
