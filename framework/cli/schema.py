"""`run-pipeline schema`: the JSON Schemas, for editors and other tools."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping
from enum import StrEnum
from typing import Annotated, Any, Final

import typer

from framework.cli.options import Format, JsonFormat
from framework.engine.fsck.document import fsck_schema
from framework.engine.reporting.document import report_schema
from framework.plan.render.document import plan_schema
from framework.spec.json_schema import project_schema, spec_schema

__all__ = ["command"]


class Document(StrEnum):
    """The kind of document that a schema describes."""

    PIPELINE = "pipeline"
    PROJECT = "project"
    PLAN = "plan"
    REPORT = "report"
    FSCK = "fsck"


_SCHEMAS: Final[Mapping[Document, Callable[[], dict[str, Any]]]] = {
    Document.PIPELINE: spec_schema,
    Document.PROJECT: project_schema,
    Document.PLAN: plan_schema,
    Document.REPORT: report_schema,
    Document.FSCK: fsck_schema,
}


def command(
    document: Annotated[
        Document,
        typer.Argument(metavar="pipeline|project|plan|report|fsck", help="The document."),
    ] = Document.PIPELINE,
    form: Format = JsonFormat.JSON,
) -> int:
    """Print the JSON Schema of specs, the project file, or the JSON of a plan, report or check."""
    del form  # a JSON Schema is JSON in every format
    sys.stdout.write(json.dumps(_SCHEMAS[document](), indent=2) + "\n")
    return 0
