"""JUnit XML as continuous integration reads it."""

from __future__ import annotations

from xml.etree import ElementTree as ET

import pytest

from framework.engine.reporting.junit import junit_text
from tests.support.reports import (
    HOSTILE,
    a_hostile_report,
    a_refused_report,
    a_report,
    a_result,
    an_endless_report,
)


def suite_of(text: str) -> ET.Element:
    """Return the one suite."""
    root = ET.fromstring(text)  # noqa: S314  our own text
    assert root.tag == "testsuites"
    (suite,) = root
    return suite


def cases_of(text: str) -> dict[str, ET.Element]:
    """Return the cases by name."""
    return {case.attrib["name"]: case for case in suite_of(text).iter("testcase")}


def test_each_check_and_the_keys_are_a_case() -> None:
    """Warnings and rows that were taken out are output of cases that pass."""
    cases = cases_of(junit_text(a_report()))
    assert list(cases) == [
        "record keys",
        "amount_is_positive",
        "late_orders",
        "customer_is_known",
        "no_test_orders",
        "currency_is_known",
        "every_order_has_a_line",
        "orders_came_in",
    ]
    assert all(case.find("failure") is None for case in cases.values())
    assert "warned: rows where status" in (cases["late_orders"].findtext("system-out") or "")


def test_failed_checks_are_failures_with_their_rows() -> None:
    """Counted in the suite."""
    text = junit_text(a_refused_report())
    suite = suite_of(text)
    assert (suite.attrib["tests"], suite.attrib["failures"], suite.attrib["errors"]) == (
        "9",
        "2",
        "0",
    )
    failure = cases_of(text)["amount_is_positive"].find("failure")
    assert failure is not None
    assert failure.attrib["message"] == "1,204 of 336,776 rows failed, 3 of them null"
    assert "part-00001.parquet row 411" in (failure.text or "")


def test_refused_keys_are_one_failure() -> None:
    """With the error's condition as its type."""
    refusal = {"condition": "audit/null-keys", "message": "3 rows have no key", "exit_code": 3}
    cases = cases_of(junit_text(a_report([a_result()], refusal=refusal, keys={})))
    failure = cases["record keys"].find("failure")
    assert failure is not None
    assert failure.attrib["type"] == "audit/null-keys"
    assert cases["amount_is_positive"].find("failure") is None


@pytest.mark.parametrize(("code", "tag"), [(3, "failure"), (5, "error"), (1, "error")])
def test_refusal_that_no_check_explains_is_a_case_of_its_own(code: int, tag: str) -> None:
    """A check that could not run is an error, not a failure."""
    refusal = {"condition": "audit/x", "message": "no", "exit_code": code, "remedy": "do"}
    case = cases_of(junit_text(a_report([a_result()], refusal=refusal)))["gate"]
    found = case.find(tag)
    assert found is not None
    assert found.text == "do"


def test_no_keys_asked_for_means_no_case_for_them() -> None:
    """Nothing is claimed."""
    assert list(cases_of(junit_text(a_report([], keys={})))) == []


def test_hostile_texts_are_data_in_well_formed_xml() -> None:
    """What XML cannot hold is replaced."""
    found = cases_of(junit_text(a_hostile_report()))
    assert HOSTILE[0] in found
    assert suite_of(junit_text(a_hostile_report())).find(".//script") is None


def test_endless_report_stays_bounded() -> None:
    """Some kilobytes a check."""
    assert len(junit_text(an_endless_report())) < 900 * 40_000
