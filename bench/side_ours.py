"""Lakestrap: the whole run, from the spec to the published instant.

The time includes inventory and plan, the uniqueness proof, every fsync and the commit.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from queries import reader
from spark_session import session

from framework.engine.prepare import PlanningContext, Request, prepare
from framework.engine.runner import run
from framework.engine.services.clustering import observe_clustering, run_clustering
from framework.engine.services.compaction import observe_compaction, run_compaction
from framework.engine.tasks import InProcessTasks
from framework.plan.services.clustering import ClusterRequest
from framework.spark import read, read_incremental
from framework.spark.checking.checker import SparkChecker
from framework.spark.tasks import SparkTasks

__all__ = ["start"]

BLOOMS: Mapping[str, Mapping[str, Any]] = {
    "bloom": {
        "kind": "dynamic",
        "expected_keys": 60_000,
        "false_positive_rate": 1e-9,
        "max_keys": 100_000,
    },
    "none": {"kind": "none"},
    "default": {},
    "full": {"kind": "none"},
}
"""By variant of a run; `bloom` has Apache Hudi's default rate, small files get smaller filters."""


def start(settings: Mapping[str, str]) -> Mapping[str, Callable[..., object]]:
    """Start the session; actions are `bootstrap`, `run`, services, `open` and `query`."""
    spark = session(settings)

    def bootstrap(target: str, variant: str, **facts: Any) -> dict[str, float]:
        """Run a spec like `run-pipeline run`; return its seconds, and the plan's estimate."""
        return execute_spec(_spec(target, variant, facts))

    def execute_spec(document: dict[str, Any]) -> dict[str, float]:
        """Run a spec, given as a document; return its seconds, and the plan's estimate."""
        with tempfile.TemporaryDirectory() as folder:
            scratch = Path(folder) / "scratch"
            scratch.mkdir()
            spec = Path(folder) / "bench.pipeline.yml"
            spec.write_text(json.dumps(document))
            tasks = InProcessTasks(int(settings["cores"]))
            prepared = prepare(Request(path=spec), PlanningContext(tasks=tasks, scratch=scratch))
            result = run(prepared.plan, SparkTasks(spark), checker=SparkChecker(spark))
        return {
            "run_s": result.seconds,
            "estimated_cpu_s": prepared.plan.estimate.core_seconds,
        }

    def compaction(target: str, by: list[str]) -> int:
        """Compact all log files, in this process as the command does; return the files."""
        del by
        done = run_compaction(observe_compaction(target), InProcessTasks(int(settings["cores"])))
        return 0 if done is None else done.files

    def clustering(target: str, by: list[str]) -> int:
        """Sort the rows of each partition, in this process; return the files."""
        plan = observe_clustering(target, ClusterRequest(by=tuple(by)))
        done = run_clustering(plan, InProcessTasks(int(settings["cores"])))
        return 0 if done is None else done.files

    return {
        "bootstrap": bootstrap,
        "run": execute_spec,
        "compaction": compaction,
        "clustering": clustering,
        **reader(
            lambda location: read(spark, location),
            lambda location, begin: read_incremental(spark, location, begin),
        ),
    }


def _spec(target: str, variant: str, facts: Mapping[str, Any]) -> dict[str, Any]:
    """Return the pipeline spec as a document; JSON is YAML."""
    bloom = BLOOMS[variant]
    mode = "full_record" if variant == "full" else "metadata_only"
    table: dict[str, Any] = {
        "name": "bench",
        "location": target,
        "type": "copy_on_write",
        "partition_by": {facts["partition"]: facts["partition_type"]},
        "record_key": {"columns": facts["keys"], "unique_within": "table"},
    }
    return {
        "version": 1,
        "table": {**table, **({"bloom": dict(bloom)} if bloom else {})},
        "bootstrap": {"path": facts["source"], "layout": "hive", "mode": mode},
    }
