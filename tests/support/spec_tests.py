"""Builders for tests of what tries specs: specs with tests, lists of rows, results."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

from framework.engine.spec_tests.result import Difference, SpecTestResult
from framework.engine.spec_tests.rows import ReadySpecTest, made_ready
from framework.errors import PlanError
from framework.plan.refusals import Fault
from framework.plan.spec_tests.spec_test import RowColumns, SpecTestRows, spec_tests_of
from framework.spec.loader import load_spec
from framework.spec.sections.pipeline_spec import PipelineSpec

__all__ = [
    "a_difference",
    "a_spec",
    "a_test",
    "ready_tests",
    "some_results",
    "some_rows",
    "write_spec",
]

_TABLE: Mapping[str, Any] = MappingProxyType(
    {
        "name": "shop.orders",
        "location": "lake/orders",
        "partition_by": {"p": "int"},
        "record_key": {"columns": ["id"], "unique_within": "table"},
        "ordering": "commit_time",
    }
)


def a_test(name: str = "a test", **fields: Any) -> dict[str, Any]:
    """Return a test that expects nothing to be written, but for what is given here."""
    return {"name": name, "given": [], "expect": {"written": []}, **fields}


def write_spec(
    folder: Path, *tests: Mapping[str, Any], table: Mapping[str, Any] | None = None, **sections: Any
) -> Path:
    """Write a spec with these tests, which upserts Parquet but for what the sections say.

    A section that is None is left out; `table` changes fields of that section.
    """
    document = {
        "version": 1,
        "table": {**_TABLE, **(table or {})},
        "source": {"path": "lake/landing"},
        "write": {"operation": "upsert"},
        **sections,
        **({"tests": list(tests)} if tests else {}),
    }
    path = folder / "orders.pipeline.yml"
    kept = {name: section for name, section in document.items() if section is not None}
    path.write_text(json.dumps(kept, indent=1))
    return path


def a_spec(folder: Path, *tests: Mapping[str, Any], **sections: Any) -> PipelineSpec:
    """Return the spec that `write_spec` writes."""
    return load_spec(write_spec(folder, *tests, **sections))


def ready_tests(spec: PipelineSpec) -> tuple[tuple[ReadySpecTest, ...], list[Fault]]:
    """Return the tests of a spec with their rows typed, and what is wrong with them."""
    faults: list[Fault] = []
    return tuple(made_ready(each, faults) for each in spec_tests_of(spec)), faults


def some_rows(*rows: Mapping[str, object], **types: str) -> SpecTestRows:
    """Return rows as a spec has them, of columns with these types."""
    return SpecTestRows(path="tests[0].given", rows=rows, columns=RowColumns(further=types))


def a_difference(**changes: Any) -> Difference:
    """Return a difference of one row missing and one unexpected."""
    fields: dict[str, Any] = {
        "what": "written",
        "columns": ("id", "amount"),
        "missing": (("1", "2.50"),),
        "unexpected": (("1", "null"),),
        "matched": 3,
    }
    return Difference(**{**fields, **changes})


def some_results() -> list[SpecTestResult]:
    """Return one result of each kind."""
    error = PlanError("load/no-table", "there is no table to delete from", remedy="Begin it.")
    return [
        SpecTestResult(name="passes", seconds=1.25),
        SpecTestResult(
            name="differs",
            seconds=0.5,
            reasons=("the run was refused: no",),
            differences=(a_difference(),),
        ),
        SpecTestResult(name="breaks", seconds=0.25, error=error, folder="/kept/here"),
    ]
