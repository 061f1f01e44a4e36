"""Write the JSON Schema of plans into `schemas/`; that of specs, `framework.spec` writes itself."""

from __future__ import annotations

from pathlib import Path

from framework.plan.json_schema import plan_schema_text

ROOT = Path(__file__).resolve().parents[1]


def main() -> None:
    """Write `schemas/plan.schema.json` again; the same types give the same bytes."""
    path = ROOT / "schemas" / "plan.schema.json"
    path.write_text(plan_schema_text(), encoding="utf-8")


if __name__ == "__main__":
    main()
