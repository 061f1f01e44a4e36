"""The tests of a spec as plain values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from framework.plan.spec_tests.columns import RowColumns, given_columns, table_columns
from framework.spec.sections.pipeline_spec import PipelineSpec
from framework.spec.sections.tests_spec import ExpectedSpec, TestSpec

__all__ = ["EXPECTED", "SpecTest", "SpecTestRows", "spec_tests_of"]

EXPECTED: Final = ("written", "table_after", "quarantined", "rejected")
"""What a test may expect rows of, in the order in which it is reported."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SpecTestRows:
    """Rows as they are written in a spec.

    Attributes:
        path: where the list stands, such as `tests[0].given`.
        rows: column to value, as YAML reads it.
        columns: what the spec says of the columns; of expected rows the run's own columns do.
    """

    path: str
    rows: tuple[Mapping[str, object], ...]
    columns: RowColumns | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SpecTest:
    """One test of a spec.

    Attributes:
        name: what it shows.
        path: where it stands, such as `tests[0]`.
        before: rows that the table has before, None where there is no table.
        given: rows that come in.
        same_columns: whether rows become those of the table as they are, without transforms.
        expected: the lists that are expected, by their names.
        refused_by: names of the checks that refuse the run, None where that is not said.
        is_refusal: whether the run must be refused.
    """

    name: str
    path: str
    before: SpecTestRows | None
    given: SpecTestRows
    same_columns: bool
    expected: Mapping[str, SpecTestRows]
    refused_by: tuple[str, ...] | None
    is_refusal: bool


def spec_tests_of(spec: PipelineSpec) -> tuple[SpecTest, ...]:
    """Return the tests of a spec in their order; none where it has none."""
    return tuple(_spec_test(spec, number, test) for number, test in enumerate(spec.tests))


def _spec_test(spec: PipelineSpec, number: int, test: TestSpec) -> SpecTest:
    """Return one test."""
    path = f"tests[{number}]"
    before = None
    if test.table is not None:
        columns = table_columns(spec)
        before = SpecTestRows(path=f"{path}.table", rows=test.table, columns=columns)
    return SpecTest(
        name=test.name,
        path=path,
        before=before,
        given=SpecTestRows(path=f"{path}.given", rows=test.given, columns=given_columns(spec)),
        same_columns=not spec.transforms,
        expected=_expected(test.expect, f"{path}.expect"),
        refused_by=test.expect.refused_by,
        is_refusal=test.expect.is_refusal,
    )


def _expected(expected: ExpectedSpec, path: str) -> dict[str, SpecTestRows]:
    """Return the lists of rows that are written."""
    lists = ((name, getattr(expected, name)) for name in EXPECTED)
    return {
        name: SpecTestRows(path=f"{path}.{name}", rows=rows)
        for name, rows in lists
        if rows is not None
    }
