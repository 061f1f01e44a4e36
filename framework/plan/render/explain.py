"""A plan as text, JSON and Markdown."""

from __future__ import annotations

from framework.plan.definition import Plan
from framework.plan.render.document import plan_document
from framework.plan.render.json_values import json_text
from framework.plan.render.markdown import markdown_text
from framework.plan.render.text import Line, LineKind, text_lines

__all__ = ["Line", "LineKind", "explain", "explain_json", "explain_markdown", "explain_text"]


def explain(plan: Plan) -> str:
    """Return the plan as text, as `run-pipeline plan` shows it."""
    return "\n".join(line.text for line in explain_text(plan)) + "\n"


def explain_text(plan: Plan) -> tuple[Line, ...]:
    """Return the plan as lines; `line.text` is the text, `line.kind` its style."""
    return text_lines(plan)


def explain_json(plan: Plan) -> str:
    """Return the plan as one JSON document, indented; its schema is `schemas/plan.schema.json`."""
    return json_text(plan_document(plan))


def explain_markdown(plan: Plan, *known: str) -> str:
    """Return the plan as Markdown for a pull request; `known` is as in `markdown_text`."""
    return markdown_text(plan, *known)
