"""Lakestrap's proof of a source's keys alone, as in `plan --prove-keys`, on Spark's tasks."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from spark_session import session

from framework.engine.prepare import PlanningContext, Request, prepare
from framework.engine.source_checks import prove_source
from framework.engine.tasks import InProcessTasks
from framework.errors import AuditFailedError
from framework.plan.definition import Plan
from framework.spark.tasks import SparkTasks

__all__ = ["start"]


def start(settings: Mapping[str, str]) -> Mapping[str, Callable[..., object]]:
    """Start the session; actions are `open`, which plans the adoption of a folder, and `unique`.

    `unique` proves the keys of the open folder and returns the number of duplicate groups and rows;
    the next `open` deletes the proof's scratch folder.
    """
    spark = session(settings)
    held: list[tuple[Plan, tempfile.TemporaryDirectory[str]]] = []

    def open_source(location: str, keys: Sequence[str], partition: str = "") -> int:
        """Plan; return the number of rows. `partition` is an integer partition column."""
        held.clear()
        folder = tempfile.TemporaryDirectory(dir=settings["work_dir"])
        spec = Path(folder.name) / "bench.pipeline.yml"
        spec.write_text(json.dumps(_spec(location, keys, partition)))
        tasks = InProcessTasks(int(settings["cores"]))
        plan = prepare(
            Request(path=spec), PlanningContext(tasks=tasks, scratch=Path(folder.name))
        ).plan
        held.append((plan, folder))
        return plan.taken.rows

    def unique() -> dict[str, Any]:
        """Prove the keys; return the method or the duplicates."""
        plan, folder = held[0]
        scratch = Path(tempfile.mkdtemp(dir=folder.name))
        try:
            proof = prove_source(plan, PlanningContext(tasks=SparkTasks(spark), scratch=scratch))
        except AuditFailedError as error:
            return {name: error.report[name] for name in ("groups", "rows", "exact")}
        return {"groups": 0, "rows": 0, "exact": True, "method": proof["method"]}

    return {"open": open_source, "unique": unique}


def _spec(location: str, keys: Sequence[str], partition: str) -> dict[str, Any]:
    """Return the spec of a table beside the source."""
    table = {
        "name": "bench",
        "location": f"{location}.table",
        "record_key": {"columns": list(keys), "unique_within": "table"},
        "ordering": "commit_time",
    }
    if partition:
        table["partition_by"] = {partition: "int"}
    layout = "hive" if partition else "none"
    return {"version": 1, "table": table, "bootstrap": {"path": location, "layout": layout}}
