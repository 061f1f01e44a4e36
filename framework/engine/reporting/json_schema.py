"""The JSON Schema of a report's JSON, from the types in `framework.engine.reporting.document`."""

from __future__ import annotations

import json
from typing import Any, Final

from framework.engine.reporting.document import ReportDocument
from framework.plan.json_schema import type_schema

__all__ = ["report_schema", "report_schema_text"]

_DIALECT: Final = "https://json-schema.org/draft/2020-12/schema"


def report_schema() -> dict[str, Any]:
    """Return the schema; each type of the document is one entry of `$defs`."""
    definitions: dict[str, Any] = {}
    root = type_schema(ReportDocument, definitions)
    return {
        "$schema": _DIALECT,
        "title": "Report of run-pipeline",
        **root,
        "$defs": dict(sorted(definitions.items())),
    }


def report_schema_text() -> str:
    """Return the content of `schemas/report.schema.json`."""
    return json.dumps(report_schema(), indent=2) + "\n"
