"""The report as Great Expectations reads it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from framework.engine.reporting.gx import gx_text
from framework.engine.results import AuditReport
from framework.vocabulary import CheckKind
from tests.support.reports import HOSTILE, a_check, a_refused_report, a_report, a_result

ROOT = Path(__file__).parents[4]

RENDER = """
import json, logging, sys, warnings
warnings.simplefilter("ignore")
from great_expectations.core.expectation_validation_result import (
    ExpectationSuiteValidationResultSchema,
)
from great_expectations.render.renderer.page_renderer import ValidationResultsPageRenderer
from great_expectations.render.view import DefaultJinjaPageView

faults = []
class Heard(logging.Handler):
    def emit(self, record):
        faults.append(record.getMessage())
logging.getLogger("great_expectations").addHandler(Heard(logging.WARNING))

result = ExpectationSuiteValidationResultSchema().load(json.load(sys.stdin))
again = result.to_json_dict()
for each in result.results:
    each.render()
page = DefaultJinjaPageView().render(ValidationResultsPageRenderer().render(result))
print("\\n" + json.dumps({"page": page, "faults": faults, "again": again}))
"""


def suite(report: AuditReport) -> dict[str, Any]:
    """Return the document."""
    found = json.loads(gx_text(report))
    assert isinstance(found, dict)
    return found


def queries(report: AuditReport) -> list[str]:
    """Return the queries for bad rows, without that of the keys."""
    found = suite(report)["results"][1:]
    return [each["expectation_config"]["kwargs"]["unexpected_rows_query"] for each in found]


def test_predicates_are_written_as_queries_for_bad_rows() -> None:
    """Null counts as failed unless it is allowed; braces are GX's own, so they are doubled."""
    checks = [
        a_check("a", where="x = '{'", text="y > 0"),
        a_check("b", text="y > 0", allow_null=True),
        a_check("c */ d", kind=CheckKind.EXPECT_AGGREGATE, text="count(*) > 0"),
        a_check("e", kind=CheckKind.QUERY, text="SELECT 1"),
    ]
    found = [" ".join(each.split()) for each in queries(a_report(list(map(a_result, checks))))]
    assert found == [
        "/* a */ SELECT * FROM {batch} WHERE ( x = '{{' ) AND NOT coalesce(( y > 0 ), FALSE)",
        "/* b */ SELECT * FROM {batch} WHERE NOT coalesce(( y > 0 ), TRUE)",
        (
            "/* c * / d */ SELECT * FROM (SELECT ( count(*) > 0 ) AS met FROM {batch})"
            " WHERE NOT coalesce(met, FALSE)"
        ),
        "/* e */ SELECT 1",
    ]


def test_success_and_statistics_are_those_of_every_expectation() -> None:
    """As with GX, a warning is not a success; the gate's own verdict is in `meta`."""
    found = suite(a_report())
    assert found["success"] is False
    assert found["statistics"] == {
        "evaluated_expectations": 8,
        "successful_expectations": 5,
        "unsuccessful_expectations": 3,
        "success_percent": 62.5,
    }
    assert found["meta"]["lakestrap"]["passed"] is True
    severities = {each["expectation_config"]["severity"] for each in found["results"]}
    assert severities == {"critical", "warning"}
    assert suite(a_report([a_result()]))["success"] is True


def test_expectation_keeps_its_type_arguments_and_result() -> None:
    """A class's name becomes its type."""
    check = a_check(kind=CheckKind.GX, text="ExpectColumnToExist", arguments={"column": "a"})
    result = a_result(check, expectation={"success": True, "result": {"observed_value": 3}})
    (_, found) = suite(a_report([result]))["results"]
    assert found["expectation_config"]["type"] == "expect_column_to_exist"
    assert found["expectation_config"]["kwargs"] == {"column": "a"}
    assert found["result"] == {"observed_value": 3}


def test_keys_within_partitions_include_the_partition() -> None:
    """No more is claimed than was proven."""
    proof = {"columns": ["id"], "scope": "partition", "rows": 3}
    query = suite(a_report([], keys=proof))["results"][0]["expectation_config"]["kwargs"]
    assert "GROUP BY _hoodie_partition_path, _hoodie_record_key" in query["unexpected_rows_query"]
    assert suite(a_report([], keys={}))["results"] == []


def rendered(report: AuditReport) -> dict[str, Any]:
    """Return what GX makes of a report, in a process of its own: its import warns of much."""
    done = subprocess.run(
        [sys.executable, "-c", RENDER],
        input=gx_text(report),
        capture_output=True,
        text=True,
        check=False,
        timeout=240,
        cwd=ROOT,
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout.splitlines()[-1])
    assert isinstance(found, dict)
    return found


@pytest.mark.long
def test_great_expectations_loads_and_renders_the_report() -> None:
    """By its own schema and its own page, without a fault, and to the same document."""
    report = a_refused_report()
    found = rendered(report)
    assert found["faults"] == []
    assert "Traceback" not in found["page"]
    assert "1204 unexpected values found" in found["page"]
    assert "amount_is_positive" in found["page"]
    ours, again = suite(report), found["again"]
    for name in ("success", "statistics", "suite_name", "meta"):
        assert again[name] == ours[name]
    for mine, theirs in zip(ours["results"], again["results"], strict=True):
        assert theirs["result"] == mine["result"]
        assert theirs["expectation_config"]["kwargs"] == mine["expectation_config"]["kwargs"]


@pytest.mark.long
def test_page_of_great_expectations_has_no_markup_of_the_data() -> None:
    """Predicates and names come through its parameters, which it escapes."""
    checks = [
        a_result(a_check(text, text=text, where=text or None), failed=3) for text in HOSTILE[:7]
    ]
    found = rendered(a_report(checks))
    assert found["faults"] == []
    assert "<script>alert" not in found["page"]
    assert "<img src=x" not in found["page"]
