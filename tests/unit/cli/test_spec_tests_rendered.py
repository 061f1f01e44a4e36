"""The command `test` before Spark starts, and its output."""

from __future__ import annotations

import json
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from framework.cli.app import main
from framework.cli.render.spec_tests import SpecTestReport
from framework.engine.spec_tests.result import SpecTestOutcome, SpecTestResult
from framework.errors import PlanError
from tests.support.spec_tests import a_difference, a_test, some_results, write_spec


def rendered(form: str, found: list[SpecTestResult], capsys: pytest.CaptureFixture[str]) -> str:
    """What is written of the tests of one spec."""
    report = SpecTestReport(form=form)
    report.begin("a.pipeline.yml")
    for each in found:
        report.report(each)
    report.end()
    report.close({Path("b.pipeline.yml"): PlanError("tests/none", "nothing\x00")})
    return capsys.readouterr().out


def test_results_are_one_line_each_with_the_differences(capsys: pytest.CaptureFixture[str]) -> None:
    """Columns below each other, then the totals."""
    assert rendered("text", some_results(), capsys).splitlines() == [
        "a.pipeline.yml",
        "  ✓ passes  1.2 s",
        "  ✗ differs  0.5 s",
        "      the run was refused: no",
        "      written: 1 row missing, 1 row unexpected",
        "           id  amount",
        "        -  1   2.50",
        "        +  1   null",
        "  ! breaks  0.2 s",
        "      error[load/no-table]: there is no table to delete from",
        "        help: Begin it.",
        "      kept in /kept/here",
        "3 tests: 1 passed, 1 failed, 1 error in 2.0 s",
    ]


def test_differences_of_many_rows_show_ten_of_each(capsys: pytest.CaptureFixture[str]) -> None:
    """And count the others; long values are cut, and none can steer a terminal."""
    rows = tuple((str(number), "x" * 50 if number else "\x1b[2J") for number in range(13))
    (first, second, _) = some_results()
    many = type(second)(
        name="many", seconds=0, differences=(a_difference(missing=rows, unexpected=()),)
    )
    lines = rendered("text", [first, many], capsys).splitlines()
    assert "      written: 13 rows missing" in lines
    assert sum(line.startswith("        -") for line in lines) == 11
    assert any("… 3 more" in line for line in lines)
    assert all(len(line) <= 80 and "\x1b" not in line for line in lines)


def test_json_is_a_line_for_each_spec(capsys: pytest.CaptureFixture[str]) -> None:
    """With outcomes counted, and errors as all errors are."""
    document = json.loads(rendered("json", some_results(), capsys))
    assert document["spec"] == "a.pipeline.yml"
    assert [document[each.value] for each in SpecTestOutcome] == [1, 1, 1]
    _, differs, breaks = document["tests"]
    assert differs["differences"][0]["missing"] == [["1", "2.50"]]
    assert (breaks["error"]["condition"], breaks["folder"]) == ("load/no-table", "/kept/here")


def test_junit_has_a_suite_for_each_spec(capsys: pytest.CaptureFixture[str]) -> None:
    """One that could not run has one error; the failure lists the rows."""
    root = ET.fromstring(rendered("junit", some_results(), capsys))  # noqa: S314  our own document
    tried, faulty = root
    assert (tried.get("tests"), tried.get("failures"), tried.get("errors")) == ("3", "1", "1")
    failure = tried.find("testcase/failure")
    assert failure is not None
    assert "written, missing: {id: 1, amount: 2.50}" in str(failure.text)
    error = faulty.find("testcase/error")
    assert error is not None
    assert error.get("type") == "tests/none"


def test_codes_are_those_of_the_gate_and_of_errors(capsys: pytest.CaptureFixture[str]) -> None:
    """3 for rows that are not as expected."""
    report = SpecTestReport(form="json")
    report.begin("a")
    for each in some_results():
        report.report(each)
    assert report.codes == [0, 3, 1]
    assert capsys.readouterr().out == ""


def test_faults_of_rows_end_the_command_before_spark_starts(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """All of them, each with its line."""
    test = a_test(given=[{"id": 1, "p": "one"}, {"id": 2, "p": 1.5}])
    assert main(["test", str(write_spec(tmp_path, test))]) == 1
    found = capsys.readouterr().err
    assert found.count("tests/value-does-not-fit") == 2
    assert '"p": "one"' in found


@pytest.mark.parametrize("words", [[], ["-k", "other"]])
def test_nothing_to_test_is_an_error(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], words: list[str]
) -> None:
    """A spec without tests is reported; a text that matches no name is an error too."""
    tests = [a_test()] if words else []
    assert main(["test", str(write_spec(tmp_path, *tests)), *words, "--format", "json"]) == 1
    done = capsys.readouterr()
    assert json.loads(done.out)["error"]["condition"] == "tests/none"
    assert ("no tests" in done.err) == (not words)
