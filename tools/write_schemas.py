"""Write the JSON Schemas of plans and reports; those of specs, `framework.spec` writes itself."""

from __future__ import annotations

from pathlib import Path

from framework.engine.reporting.json_schema import report_schema_text
from framework.plan.json_schema import plan_schema_text

ROOT = Path(__file__).resolve().parents[1]


def main() -> None:
    """Write the files in `schemas` again; the same types give the same bytes."""
    folder = ROOT / "schemas"
    (folder / "plan.schema.json").write_text(plan_schema_text(), encoding="utf-8")
    (folder / "report.schema.json").write_text(report_schema_text(), encoding="utf-8")


if __name__ == "__main__":
    main()
