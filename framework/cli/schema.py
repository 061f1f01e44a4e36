"""`run-pipeline schema`: the JSON Schemas, for editors and other tools."""

from __future__ import annotations

import json
import sys
from enum import StrEnum
from typing import Annotated, Final

import typer

from framework.cli.lazily import attribute
from framework.cli.options import Format, JsonFormat

__all__ = ["command"]


class Document(StrEnum):
    """What a schema describes."""

    PIPELINE = "pipeline"
    PROJECT = "project"
    PLAN = "plan"
    REPORT = "report"


_TEXTS: Final = {
    Document.PIPELINE: ("framework.spec.json_schema", "spec_schema"),
    Document.PROJECT: ("framework.spec.json_schema", "project_schema"),
    Document.PLAN: ("framework.plan.document", "plan_schema"),
    Document.REPORT: ("framework.engine.reporting.document", "report_schema"),
}


def command(
    document: Annotated[
        Document, typer.Argument(metavar="pipeline|project|plan|report", help="What to describe.")
    ] = Document.PIPELINE,
    form: Format = JsonFormat.JSON,
) -> int:
    """Print the JSON Schema of specs, of the project file, of a plan's JSON or of a report's."""
    del form  # a JSON Schema is JSON in each form
    schema = attribute(*_TEXTS[document])()
    sys.stdout.write(json.dumps(schema, indent=2) + "\n")
    return 0
