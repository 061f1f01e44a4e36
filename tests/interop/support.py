"""From a case of the matrix to an adopted table."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from framework.engine.prepare import PlanningContext, Request, prepare
from framework.engine.runner import run
from framework.engine.tasks import InProcessTasks
from tests.interop.cases import Case
from tests.interop.sources import write_source

__all__ = ["adopt", "adopt_case"]


def adopt_case(case: Case, folder: Path) -> Path:
    """Write the source of a case below `folder`, adopt it, and return the table's location."""
    source, location = folder / "source", folder / "table"
    write_source(case.files, source)
    return adopt(case.spec(source=str(source), location=str(location)), folder)


def adopt(document: Mapping[str, Any], folder: Path) -> Path:
    """Run a pipeline spec in this process, without Spark; return the table's location.

    JSON is valid YAML, so the document is written as JSON.
    """
    spec, scratch = folder / "case.pipeline.yml", folder / "scratch"
    spec.write_text(json.dumps(document, indent=1))
    scratch.mkdir()
    tasks = InProcessTasks(2)
    prepared = prepare(Request(path=spec), PlanningContext(tasks=tasks, scratch=scratch))
    run(prepared.plan, tasks)
    return Path(document["table"]["location"])
