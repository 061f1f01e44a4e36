"""Great Expectations' results as ours, without the values of redacted columns."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Collection, Iterable, Mapping
from types import MappingProxyType
from typing import Any, Final

from framework.engine.results import CheckResult, FailedRow
from framework.plan.quality.model import Check
from framework.spark.checking.great_expectations import ExpectationValidationResult
from framework.spec.rules.expectations import checks_rows, column_arguments
from framework.vocabulary import OnFail, Outcome

__all__ = ["HIDDEN", "columns_of", "has_bad_rows", "is_hidden", "reason_of", "result_of"]

HIDDEN: Final = "***"
"""Replaces a value of a redacted column."""

_COUNTS: Final = frozenset(
    {
        "element_count",
        "missing_count",
        "missing_percent",
        "unexpected_count",
        "unexpected_percent",
        "unexpected_percent_nonmissing",
        "unexpected_percent_total",
    }
)
_COUNTING: Final = frozenset(
    {
        "expect_column_proportion_of_non_null_values_to_be_between",
        "expect_column_proportion_of_unique_values_to_be_between",
        "expect_column_type_to_be",
        "expect_column_unique_value_count_to_be_between",
        "expect_column_values_to_be_in_type_list",
        "expect_column_values_to_be_of_type",
    }
)
"""The observed value of these is a count, a share or a type, not a value of the column."""

_LIST: Final = "partial_unexpected_list"
_OF_EXECUTOR: Final = re.compile(r"\(executor [^)]*\): (.+)")
_CALLING: Final = "An error occurred while calling"
_LONGEST: Final = 500


def result_of(
    check: Check, found: ExpectationValidationResult, redacted: Collection[str]
) -> CheckResult:
    """Return the result of a check that GX could run."""
    result: dict[str, Any] = dict(found.result)
    bad = int(result.get("unexpected_count", 0)) if checks_rows(check.text) else not found.success
    rows = int(result.get("element_count", 0))
    passed = found.success or (checks_rows(check.text) and check.budget.allows(bad, rows))
    shown = _shown(check, result, redacted)
    observed = shown.get("observed_value")
    items = shown.get(_LIST, ()) if checks_rows(check.text) else ()
    return CheckResult(
        check=check,
        outcome=_outcome(check, passed=passed),
        rows=rows,
        failed=int(bad),
        observed=None if observed is None else _text(observed),
        samples=tuple(_sample(item, check) for item in items),
        expectation=MappingProxyType(_as_gx(check, found, shown)),
    )


def has_bad_rows(found: ExpectationValidationResult) -> bool:
    """Return whether there is something to show: a failure, or rows within a budget."""
    return not found.success or bool(found.result.get("unexpected_count"))


def columns_of(check: Check) -> list[str]:
    """Return the columns whose values a check reads."""
    return [column for _, column in column_arguments(check.text, check.arguments)]


def is_hidden(column: str, redacted: Iterable[str]) -> bool:
    """Return whether a column, an ancestor or a descendant of it is redacted; ignores case."""
    own = column.casefold().split(".")
    others = [name.casefold().split(".") for name in redacted]
    return any(own[: len(o)] == o[: len(own)] for o in others)


def reason_of(found: Any) -> str | None:
    """Return in one line why GX could not run an expectation, None if it could."""
    info: Mapping[str, Any] = found.exception_info or {}
    if "raised_exception" not in info:
        messages = [each["exception_message"] for each in info.values()]
    else:
        messages = [info["exception_message"]] if info["raised_exception"] else []
    if messages:
        return _line(str(messages[0]))
    is_counted = (
        not checks_rows(str(found.expectation_config.type)) or "unexpected_count" in found.result
    )
    return None if is_counted else "Great Expectations did not count"


def _outcome(check: Check, *, passed: bool) -> Outcome:
    if passed:
        return Outcome.PASSED
    return Outcome.WARNED if check.on_fail is OnFail.WARN else Outcome.FAILED


def _shown(check: Check, result: dict[str, Any], redacted: Collection[str]) -> dict[str, Any]:
    """Return GX's result, JSON-ready, and without values of redacted columns."""
    secret = any(is_hidden(column, redacted) for column in columns_of(check))
    ready = {
        key: value if key in _COUNTS or not secret or _is_count(check, key) else HIDDEN
        for key, value in result.items()
    }
    if secret and _LIST in result:
        rows = checks_rows(check.text)
        ready[_LIST] = [
            _hidden(each, check, redacted) if rows else HIDDEN for each in result[_LIST]
        ]
    return {key: _json_ready(value) for key, value in ready.items()}


def _is_count(check: Check, key: str) -> bool:
    """Return whether the observed value shows no value of a column."""
    return key == "observed_value" and check.text in _COUNTING


def _hidden(item: Any, check: Check, redacted: Collection[str]) -> Any:
    """Return the values of one bad row, in the same form, with redacted ones replaced."""
    cells = [(c, HIDDEN if is_hidden(c, redacted) else v) for c, v in _cells(item, check)]
    if isinstance(item, dict):
        return dict(cells)
    return cells[0][1] if len(cells) == 1 else [value for _, value in cells]


def _cells(item: Any, check: Check) -> list[tuple[str, Any]]:
    """Return the values of one bad row with their columns.

    GX returns a bare value for one column, a tuple for a pair, and a mapping for more.
    """
    if isinstance(item, dict):
        return list(item.items())
    columns = columns_of(check)
    return list(zip(columns, [item] if len(columns) == 1 else item, strict=True))


def _sample(item: Any, check: Check) -> FailedRow:
    """Return one bad row, with the columns of the check."""
    cells = [(column, _json_ready(value)) for column, value in _cells(item, check)]
    values = {column: None if value is None else _text(value) for column, value in cells}
    return FailedRow(values=MappingProxyType(values))


def _as_gx(
    check: Check, found: ExpectationValidationResult, shown: dict[str, Any]
) -> dict[str, Any]:
    """Return a result in GX's own form, for its tooling."""
    return {
        "success": bool(found.success),
        "expectation_config": {
            "type": check.text,
            "kwargs": _json_ready(dict(check.arguments)),
            "meta": {"check": check.name},
            "severity": "warning" if check.on_fail is OnFail.WARN else "critical",
        },
        "result": shown,
        "meta": {},
        "exception_info": {
            "raised_exception": False,
            "exception_traceback": None,
            "exception_message": None,
        },
    }


def _json_ready(value: Any) -> Any:
    """Return a JSON-ready value; values that JSON cannot hold become text."""
    if isinstance(value, dict):
        return {str(key): _json_ready(each) for key, each in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [_json_ready(each) for each in value]
    if value is None or isinstance(value, str | bool | int):
        return value
    if isinstance(value, float) and math.isfinite(value):
        return value
    return _text(value)


def _text(value: Any) -> str:
    """Return a value as text, as Spark would cast it in the simple cases."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, dict | list):
        return json.dumps(value, ensure_ascii=False)
    if isinstance(value, bytes | bytearray):
        return value.hex()
    return str(value)  # dates and times too have Spark's form


def _line(message: str) -> str:
    """Return the most informative line of an exception's text."""
    task = _OF_EXECUTOR.search(message)
    if task is not None:
        return task[1].strip()[:_LONGEST]
    lines = [line.strip(" :;") for line in message.splitlines() if line.strip(" :;")]
    reasons = [line for line in lines if not line.startswith(_CALLING)]
    return (reasons or lines or ["no reason was given"])[0][:_LONGEST]
