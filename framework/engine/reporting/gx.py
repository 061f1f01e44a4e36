"""A report as the JSON of a Great Expectations validation result (as version 1.24 writes it).

There only expectations have a type, and GX's pages fail on a type that is not registered. Other
checks are therefore written as `unexpected_rows_expectation`, whose query selects the bad rows: for
a predicate that is exactly what the gate checked. No `description` is set, since GX puts that into
its pages without escaping it; the query starts with the name instead. Samples are in `details`, not
in `partial_unexpected_list`, which GX does not escape either.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any, Final

from framework.engine.reporting.document import report_members
from framework.engine.reporting.keys import key_rule_text, keys_refused
from framework.engine.reporting.words import line_text, meaning, plain
from framework.engine.results import AuditReport, CheckResult
from framework.plan.quality.model import Check
from framework.vocabulary import CheckKind, OnFail, Outcome

__all__ = ["gx_text"]

_ROWS_TYPE: Final = "unexpected_rows_expectation"
_CAPITAL: Final = re.compile(r"(?<!^)(?=[A-Z])")
_NO_EXCEPTION: Final = {
    "raised_exception": False,
    "exception_traceback": None,
    "exception_message": None,
}


def gx_text(report: AuditReport) -> str:
    """Return the JSON of an `ExpectationSuiteValidationResult`, ending in a newline.

    As with GX, `success` is that of every expectation: it is false if a check only warned or
    excluded rows, which `severity: warning` marks; `meta.lakestrap.passed` is the gate's verdict.
    """
    results = [*_keys(report), *(_result(each) for each in report.checks)]
    document = report_members(report)
    kept = ("verdict", "passed", "sentence", "table", "location", "subject", "instant", "run_id")
    statistics = _statistics(results)
    suite = {
        "success": statistics["successful_expectations"] == len(results) and report.passed,
        "results": results,
        "suite_name": report.table,
        "suite_parameters": {},
        "statistics": statistics,
        "meta": {
            "run_id": {"run_name": report.run_id, "run_time": report.at},
            "validation_time": report.at,
            "batch_spec": {"path": report.location, "data_asset_name": report.table},
            "active_batch_definition": {
                "datasource_name": "lakestrap",
                "data_connector_name": report.subject,
                "data_asset_name": report.table,
                "batch_identifiers": {"instant": report.instant},
            },
            "lakestrap": {name: document[name] for name in (*kept, "refusal", "keys", "fate")},
        },
        "id": None,
    }
    return json.dumps(plain(suite), indent=2, ensure_ascii=False) + "\n"


def _statistics(results: list[dict[str, Any]]) -> dict[str, object]:
    good = sum(each["success"] for each in results)
    return {
        "evaluated_expectations": len(results),
        "successful_expectations": good,
        "unsuccessful_expectations": len(results) - good,
        "success_percent": 100 * good / len(results) if results else None,
    }


def _keys(report: AuditReport) -> list[dict[str, Any]]:
    """Return the result of the record keys, if they were checked."""
    if not report.keys and not keys_refused(report):
        return []
    columns = "_hoodie_record_key"
    found = report.refusal.get("report") if keys_refused(report) else report.keys
    proof: Mapping[str, Any] = found if isinstance(found, Mapping) else {}
    if proof.get("scope") == "partition":
        columns = f"_hoodie_partition_path, {columns}"
    query = _query(
        "record keys",
        f"SELECT {columns}, count(*) AS times FROM {{batch}} GROUP BY {columns}"  # noqa: S608  shown, not run
        " HAVING count(*) > 1 OR max(_hoodie_record_key) IS NULL",
    )
    bad = proof.get("groups") or proof.get("rows") or 0 if keys_refused(report) else 0
    samples = proof.get("samples", []) if keys_refused(report) else []
    return [
        {
            "success": not keys_refused(report),
            "expectation_config": _config(
                _ROWS_TYPE,
                {"unexpected_rows_query": query},
                {"meaning": key_rule_text(report), "key": dict(proof)},
            ),
            "result": {"observed_value": bad, "details": {"unexpected_rows": samples}},
            "meta": {},
            "exception_info": _NO_EXCEPTION,
        }
    ]


def _result(result: CheckResult) -> dict[str, Any]:
    """Return the result of one check."""
    check = result.check
    meta = {
        "name": check.name,
        "kind": check.kind.value,
        "meaning": meaning(check),
        "on_fail": check.on_fail.value,
        "over": check.over.value,
        "outcome": result.outcome.value,
        "fraction": result.fraction,
    }
    if check.kind is CheckKind.GX:
        config = _config(_type(check.text), dict(check.arguments), meta)
        found = result.expectation.get("result", result.expectation)
    else:
        config = _config(_ROWS_TYPE, {"unexpected_rows_query": _bad_rows(check)}, meta)
        found = _found(result)
    severity = "critical" if check.on_fail is OnFail.ABORT else "warning"
    return {
        "success": result.outcome is Outcome.PASSED,
        "expectation_config": {**config, "severity": severity},
        "result": found,
        "meta": {},
        "exception_info": _NO_EXCEPTION,
    }


def _config(kind: str, kwargs: dict[str, Any], meta: dict[str, Any]) -> dict[str, Any]:
    return {
        "type": kind,
        "kwargs": kwargs,
        "meta": {"lakestrap": meta},
        "severity": "critical",
    }


def _found(result: CheckResult) -> dict[str, Any]:
    """Return GX's fields of a check that counts bad rows; its pages need count and share."""
    samples = [
        {"file": row.file, "row": row.row, "key": row.key, **row.values} for row in result.samples
    ]
    found: dict[str, Any] = {
        "observed_value": result.failed if result.observed is None else result.observed,
        "element_count": result.rows,
        "details": {"unexpected_rows": samples},
    }
    if result.rows and result.check.kind is not CheckKind.EXPECT_AGGREGATE:
        found["unexpected_count"] = result.failed
        found["unexpected_percent"] = min(100.0, 100 * result.failed / result.rows)
    return found


def _bad_rows(check: Check) -> str:
    """Return SQL for the bad rows of a check; GX replaces `{batch}`."""
    text = _literal(check.text)
    null = "TRUE" if check.allow_null else "FALSE"
    if check.kind is CheckKind.QUERY:
        return _query(check.name, text)
    if check.kind is CheckKind.EXPECT_AGGREGATE:
        inner = f"(SELECT (\n{text}\n) AS met FROM {{batch}})"  # noqa: S608  shown, not run
        return _query(check.name, f"SELECT * FROM {inner} WHERE {_not('met', null)}")  # noqa: S608  shown, not run
    where = f"(\n{_literal(check.where)}\n) AND " if check.where else ""
    bad = _not(f"(\n{text}\n)", null)
    return _query(check.name, f"SELECT * FROM {{batch}} WHERE {where}{bad}")  # noqa: S608  shown, not run


def _not(predicate: str, null: str) -> str:
    return f"NOT coalesce({predicate}, {null})"


def _query(name: str, sql: str) -> str:
    comment = _literal(line_text(name).replace("*/", "* /"))
    return f"/* {comment} */ {sql}"


def _literal(text: str) -> str:
    """Return SQL with braces doubled, since GX formats the query."""
    return text.replace("{", "{{").replace("}", "}}")


def _type(name: str) -> str:
    """Return an expectation's type; `ExpectColumnToExist` is `expect_column_to_exist`."""
    return _CAPITAL.sub("_", name).lower() if name[:1].isupper() else name
