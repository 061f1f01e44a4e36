"""Results of tests: lines and small tables for people, JSON and JUnit for tools."""

from __future__ import annotations

import json
import re
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final
from xml.etree import ElementTree as ET

from rich.text import Text

from framework.cli.render.console import clean, in_columns, out, write
from framework.cli.render.findings import error_as_json, findings_of
from framework.engine.spec_tests.result import SpecTestOutcome, SpecTestResult

if TYPE_CHECKING:
    from framework.engine.spec_tests.result import Difference, Row
    from framework.errors import FrameworkError

__all__ = ["SpecTestReport", "junit_document"]


_NOT_XML: Final = re.compile("[^\\t\\n\\r\\x20-\\ud7ff\\ue000-\\ufffd\\U00010000-\\U0010ffff]")

_CODE: Final = 3
"""Exit code of a test with an unexpected result: the spec's pipeline does not do what it should."""
_SHOWN: Final = 10
_WIDEST: Final = 30
_MARKS: Final = {
    SpecTestOutcome.PASSED: ("✓", "green"),
    SpecTestOutcome.FAILED: ("✗", "red"),
    SpecTestOutcome.ERROR: ("!", "bold red"),
}


def junit_document(
    results: Mapping[str, Sequence[SpecTestResult]], faults: Mapping[Path, FrameworkError]
) -> str:
    """Return a suite for each spec; one that could not be run is a suite with one error."""
    root = ET.Element("testsuites", name="run-pipeline test")
    for spec, tests in results.items():
        suite = _suite(root, spec, tests)
        for result in tests:
            _add_case(suite, spec, result)
    for path, error in faults.items():
        suite = ET.SubElement(
            root, "testsuite", name=_xml(str(path)), tests="1", failures="0", errors="1"
        )
        case = ET.SubElement(suite, "testcase", classname=_xml(str(path)), name="spec")
        _add_error(case, error)
    return ET.tostring(root, encoding="unicode", xml_declaration=True) + "\n"


def _suite(root: ET.Element, spec: str, tests: Sequence[SpecTestResult]) -> ET.Element:
    """Return the new suite of a spec."""
    outcomes = [result.outcome for result in tests]
    return ET.SubElement(
        root,
        "testsuite",
        name=_xml(spec),
        tests=str(len(tests)),
        failures=str(outcomes.count(SpecTestOutcome.FAILED)),
        errors=str(outcomes.count(SpecTestOutcome.ERROR)),
        time=f"{sum(result.seconds for result in tests):.3f}",
    )


def _add_case(suite: ET.Element, spec: str, result: SpecTestResult) -> None:
    case = ET.SubElement(
        suite,
        "testcase",
        classname=_xml(spec),
        name=_xml(result.name),
        time=f"{result.seconds:.3f}",
    )
    lines = [*result.reasons, *_lines(result)]
    if lines:
        failure = ET.SubElement(case, "failure", message=_xml(lines[0]))
        failure.text = _xml("\n".join(lines))
    if result.error is not None:
        _add_error(case, result.error)


def _lines(result: SpecTestResult) -> Iterator[str]:
    """Yield rows that differ from the expected ones, one per line."""
    for each in result.differences:
        for word, rows in (("missing", each.missing), ("unexpected", each.unexpected)):
            for row in rows:
                pairs = zip(each.columns, row, strict=True)
                values = ", ".join(f"{name}: {text}" for name, text in pairs)
                yield f"{each.what}, {word}: {{{values}}}"


def _add_error(case: ET.Element, error: FrameworkError) -> None:
    """Add the error of a test without a result."""
    node = ET.SubElement(case, "error", type=error.condition, message=_xml(error.message))
    lines = [f"{each.where}: {each.message}" for each in findings_of(error)]
    node.text = _xml("\n".join(lines) or str(error))


def _xml(text: str) -> str:
    """Return the text without the characters that XML 1.0 does not allow."""
    return _NOT_XML.sub("\N{REPLACEMENT CHARACTER}", text)


@dataclass(slots=True, kw_only=True)
class SpecTestReport:
    """Reports the results of tests, line by line for text, else at the end.

    Attributes:
        form: `text`, `json` or `junit`.
        results: of the tests, by spec.
    """

    form: str
    results: dict[str, list[SpecTestResult]] = field(default_factory=dict)

    @property
    def codes(self) -> list[int]:
        """Exit codes of all tests."""
        return [_code(result) for tests in self.results.values() for result in tests]

    def begin(self, spec: str) -> None:
        """Start the tests of another spec."""
        self.results[spec] = []
        if self.form == "text":
            write(out(), Text(clean(spec), style="bold"))

    def report(self, result: SpecTestResult) -> None:
        """Report the result of a test of the current spec."""
        [*_, tests] = self.results.values()
        tests.append(result)
        if self.form == "text":
            _write_result(result)
            sys.stdout.flush()

    def end(self) -> None:
        """Report the results of the current spec, in formats that are written per spec."""
        if self.form == "json":
            spec, tests = list(self.results.items())[-1]
            sys.stdout.write(json.dumps(_as_json(spec, tests), ensure_ascii=False) + "\n")
            sys.stdout.flush()

    def close(self, faults: Mapping[Path, FrameworkError]) -> None:
        """Write the totals; `faults` are specs that could not be tested."""
        if self.form == "junit":
            sys.stdout.write(junit_document(self.results, faults))
        elif self.form == "text" and self.results:
            _write_sum([result for tests in self.results.values() for result in tests])


def _code(result: SpecTestResult) -> int:
    """Return the exit code for a test's result."""
    if result.error is not None:
        return result.error.exit_code
    return _CODE if result.outcome is SpecTestOutcome.FAILED else 0


def _write_result(result: SpecTestResult) -> None:
    """Write one line, and below it the differences from the expected result."""
    mark, style = _MARKS[result.outcome]
    line = Text.assemble("  ", (mark, style), f" {clean(result.name)}  ")
    write(out(), line + Text(f"{result.seconds:.1f} s", style="dim"), hang=4)
    for reason in result.reasons:
        write(out(), f"      {clean(reason)}", hang=8)
    for difference in result.differences:
        _write_difference(difference)
    if result.error is not None:
        _write_error(result.error)
    if result.folder is not None:
        write(out(), Text(f"      kept in {clean(result.folder)}", style="dim"), hang=8)


def _write_error(error: FrameworkError) -> None:
    """Write why a test has no result: the spec's findings, or else the error."""
    findings = findings_of(error)
    for each in findings:
        _write_reason(each.rule, each.message, str(each.where), each.suggestion or "")
    if not findings:
        _write_reason(error.condition, error.message, str(error.where), error.remedy)


def _write_reason(condition: str, message: str, where: str, remedy: str) -> None:
    """Write one reason with its place and remedy."""
    label = ("error", "bold red"), (f"[{condition}]", "red")
    write(out(), Text.assemble("      ", *label, f": {clean(message)}"), hang=8)
    if where:
        write(out(), Text(f"        at {clean(where)}", style="dim"), hang=11)
    if remedy:
        write(out(), Text.assemble(("        help: ", "cyan"), clean(remedy)))


def _write_difference(difference: Difference) -> None:
    """Write the missing and the unexpected rows, in columns."""
    missing, unexpected = difference.missing, difference.unexpected
    counts = [
        f"{len(rows)} row{'s' * (len(rows) != 1)} {word}"
        for rows, word in ((missing, "missing"), (unexpected, "unexpected"))
        if rows
    ]
    write(out(), f"      {difference.what}: {', '.join(counts)}")
    rows = [*_marked("-", missing), *_marked("+", unexpected)]
    header = ["", *map(_cell, difference.columns)]
    for number, line in enumerate(in_columns([header, *rows], ())):
        colour = {"-": "red", "+": "green"}.get(line[:1], "dim") if number else "dim"
        write(out(), Text(f"        {line}", style=colour), hang=10)


def _marked(mark: str, rows: Sequence[Row]) -> Iterator[list[str]]:
    """Yield the first rows as cells, and a last one that counts the rest."""
    for row in rows[:_SHOWN]:
        yield [mark, *map(_cell, row)]
    if len(rows) > _SHOWN:
        width = len(rows[0])
        yield [mark, f"… {len(rows) - _SHOWN} more", *[""] * (width - 1)][: width + 1]


def _cell(text: str) -> str:
    """Return a text shortened to the width of a cell."""
    shown = clean(text).replace("\n", "\\n")
    return shown if len(shown) <= _WIDEST else f"{shown[: _WIDEST - 1]}…"


def _write_sum(tests: Sequence[SpecTestResult]) -> None:
    counted = Counter(result.outcome for result in tests)
    words = [f"{counted[SpecTestOutcome.PASSED]} passed"]
    if counted[SpecTestOutcome.FAILED]:
        words.append(f"{counted[SpecTestOutcome.FAILED]} failed")
    if errors := counted[SpecTestOutcome.ERROR]:
        words.append(f"{errors} error{'s' * (errors != 1)}")
    seconds = sum(result.seconds for result in tests)
    count = f"{len(tests)} test{'s' * (len(tests) != 1)}"
    write(out(), Text(f"{count}: {', '.join(words)} in {seconds:.1f} s", style="bold"))


def _as_json(spec: str, tests: Sequence[SpecTestResult]) -> dict[str, object]:
    counted = Counter(result.outcome for result in tests)
    return {
        "spec": spec,
        **{outcome.value: counted[outcome] for outcome in SpecTestOutcome},
        "tests": [_result_as_json(result) for result in tests],
    }


def _result_as_json(result: SpecTestResult) -> dict[str, object]:
    return {
        "name": result.name,
        "outcome": result.outcome.value,
        "seconds": round(result.seconds, 3),
        "reasons": list(result.reasons),
        "differences": [
            {
                "what": each.what,
                "columns": list(each.columns),
                "missing": [list(row) for row in each.missing],
                "unexpected": [list(row) for row in each.unexpected],
            }
            for each in result.differences
        ],
        **({"error": error_as_json(result.error)} if result.error else {}),
        **({"folder": result.folder} if result.folder else {}),
    }
