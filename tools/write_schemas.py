"""Write the JSON Schemas of plans, reports and checks; `framework.spec` writes those of specs."""

from __future__ import annotations

import json
from pathlib import Path

from framework.engine.fsck.document import fsck_schema
from framework.engine.reporting.document import report_schema
from framework.plan.render.document import plan_schema

ROOT = Path(__file__).resolve().parents[1]


def main() -> None:
    """Regenerate the files in `schemas`; the same types give the same bytes."""
    schemas = {"plan": plan_schema(), "report": report_schema(), "fsck": fsck_schema()}
    for name, schema in schemas.items():
        text = json.dumps(schema, indent=2) + "\n"
        (ROOT / "schemas" / f"{name}.schema.json").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
