"""What refused a run, and for which rows."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from framework.engine.results import CheckResult
from framework.engine.spec_tests.result import NO_ROWS, refused_rows, refusing_names
from framework.errors import AuditFailedError
from framework.hudi.keygen.rule import PartitionField, choose_rule
from framework.plan.quality.model import Check
from framework.vocabulary import CheckKind, KeyScope, Outcome, PartitionType, SourceLayout

ROWS = pa.table({"id": [1, 1, 2, None], "p": [1, 2, 2, 2]})


def refused(kind: str, **report: Any) -> AuditFailedError:
    """The error of a gate."""
    return AuditFailedError(f"audit/{kind}", "no", report=report)


def ids(error: AuditFailedError, scope: KeyScope = KeyScope.TABLE) -> list[int | None]:
    """The refused ids."""
    fields = (PartitionField(name="p", type=PartitionType.INT),)
    rule = choose_rule(("id",), fields, layout=SourceLayout.HIVE, scope=scope)
    found = refused_rows(error, rule, ROWS)
    return found["id"].to_pylist() if found.num_columns else []


def test_rows_without_a_key_are_those_of_null_keys() -> None:
    """As the gate itself finds them."""
    assert ids(refused("null-keys")) == [None]


@pytest.mark.parametrize(("scope", "expected"), [("table", [1, 1]), ("partition", [])])
def test_rows_of_duplicate_keys_share_a_key_in_their_scope(scope: str, expected: list[int]) -> None:
    """In other partitions it may come again where the scope is one of them."""
    assert ids(refused("duplicate-keys"), KeyScope(scope)) == expected


def test_rows_of_taken_keys_are_those_that_the_report_names() -> None:
    """By their keys."""
    assert ids(refused("taken-keys", samples=[{"key": "2"}])) == [2]


def test_other_refusals_name_no_rows_of_the_input() -> None:
    """Checks know their own."""
    rule = choose_rule(("id",), (), layout=SourceLayout.NONE, scope=KeyScope.TABLE)
    assert refused_rows(refused("checks-failed"), rule, ROWS) is NO_ROWS


def test_names_are_those_of_all_checks_that_failed() -> None:
    """Sorted, without those that only warned; else the kind of refusal."""
    error = refused("checks-failed")
    outcomes = {"b": Outcome.FAILED, "a": Outcome.FAILED, "c": Outcome.WARNED}
    error.results = tuple(
        CheckResult(check=Check(name=name, kind=CheckKind.EXPECT, text="x"), outcome=outcome)
        for name, outcome in outcomes.items()
    )
    assert refusing_names(error) == ("a", "b")
    assert refusing_names(refused("duplicate-keys", check="duplicate-keys")) == ("duplicate-keys",)
    assert refusing_names(refused("over-budget", name="few_only")) == ("few_only",)
