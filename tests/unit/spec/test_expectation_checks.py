"""Checks by Great Expectations, against whatever catalogue is there."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from framework.errors import SpecError
from framework.plan.quality.contract import column_faults
from framework.plan.quality.of_spec import quality_of
from framework.spec.loader import load_spec

pytest.importorskip("framework.spec.rules.expectations", reason="the catalogue is not there yet")

Write = Callable[..., Path]

NAME = "expect_column_values_to_be_in_set"


def with_check(spec_text: str, fields: str) -> str:
    """The sound spec with one check of these fields."""
    return f"{spec_text}quality:\n  checks:\n    - name: a\n      {fields}\n"


def test_expectation_with_its_arguments_is_sound(write_spec: Write, spec_text: str) -> None:
    """Lists stay lists, as the catalogue wants them."""
    fields = f"gx: {NAME}\n      arguments: {{column: origin, value_set: [JFK, LGA]}}"
    (check,) = quality_of(load_spec(write_spec(with_check(spec_text, fields)))).checks
    assert check.text == NAME
    assert dict(check.arguments) == {"column": "origin", "value_set": ["JFK", "LGA"]}


@pytest.mark.parametrize(
    ("fields", "rule", "line"),
    [
        ("gx: expect_column_values_to_be_in_sett", "unknown-expectation", 17),
        (
            f"gx: {NAME}\n      arguments: {{colum: a, column: b, value_set: [1]}}",
            "unknown-argument",
            18,
        ),
        (f"gx: {NAME}\n      arguments: {{value_set: [1]}}", "missing-argument", 18),
    ],
)
def test_fault_of_an_expectation_has_its_place(
    write_spec: Write, spec_text: str, fields: str, rule: str, line: int
) -> None:
    """At its name, or at the argument."""
    with pytest.raises(SpecError) as caught:
        load_spec(write_spec(with_check(spec_text, fields)))
    assert [(f.rule, f.where.line) for f in caught.value.findings] == [(f"spec/{rule}", line)]


def test_column_of_an_expectation_is_one_of_the_tables(write_spec: Write, spec_text: str) -> None:
    """A warning with the spec where a declared column has nearly that name, a fault of the plan."""
    fields = f"gx: {NAME}\n      arguments: {{column: orign, value_set: [JFK]}}"
    text = with_check(spec_text, fields)
    contract = "  columns: {origin: {type: string}}\nbootstrap:"
    (finding,) = load_spec(write_spec(text.replace("bootstrap:", contract))).warnings
    assert (finding.rule, finding.suggestion) == ("spec/unknown-column", "origin")
    (fault,) = column_faults(quality_of(load_spec(write_spec(text))), ["origin"])
    assert fault.key_path == "quality.checks[0].arguments.column"
