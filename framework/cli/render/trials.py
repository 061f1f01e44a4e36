"""Results of tests: lines and small tables for people, JSON and JUnit for tools."""

from __future__ import annotations

import json
import re
import sys
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final
from xml.etree import ElementTree as ET

from rich.text import Text

from framework.cli.render.console import clean, out, write
from framework.cli.render.findings import error_as_json, findings_of
from framework.cli.render.rows import laid_in_columns
from framework.engine.examples.trial import TrialOutcome

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from framework.engine.examples.comparison import Difference, Row
    from framework.engine.examples.trial import Trial
    from framework.errors import FrameworkError

__all__ = ["SpecTestReport", "junit_document"]


_NOT_XML: Final = re.compile("[^\\t\\n\\r\\x20-\\ud7ff\\ue000-\\ufffd\\U00010000-\\U0010ffff]")


def junit_document(
    results: Mapping[str, Sequence[Trial]], faults: Mapping[Path, FrameworkError]
) -> str:
    """Return a suite for each spec; one that could not be tried is a suite with one error."""
    root = ET.Element("testsuites", name="run-pipeline test")
    for spec, trials in results.items():
        suite = _suite(root, spec, trials)
        for trial in trials:
            _add_trial(suite, spec, trial)
    for path, error in faults.items():
        suite = ET.SubElement(
            root, "testsuite", name=_xml(str(path)), tests="1", failures="0", errors="1"
        )
        case = ET.SubElement(suite, "testcase", classname=_xml(str(path)), name="spec")
        _add_error(case, error)
    return ET.tostring(root, encoding="unicode", xml_declaration=True) + "\n"


def _suite(root: ET.Element, spec: str, trials: Sequence[Trial]) -> ET.Element:
    """Return the new suite of a spec."""
    outcomes = [trial.outcome for trial in trials]
    return ET.SubElement(
        root,
        "testsuite",
        name=_xml(spec),
        tests=str(len(trials)),
        failures=str(outcomes.count(TrialOutcome.FAILED)),
        errors=str(outcomes.count(TrialOutcome.ERROR)),
        time=f"{sum(trial.seconds for trial in trials):.3f}",
    )


def _add_trial(suite: ET.Element, spec: str, trial: Trial) -> None:
    """Add a test."""
    case = ET.SubElement(
        suite,
        "testcase",
        classname=_xml(spec),
        name=_xml(trial.name),
        time=f"{trial.seconds:.3f}",
    )
    lines = [*trial.reasons, *_lines(trial)]
    if lines:
        failure = ET.SubElement(case, "failure", message=_xml(lines[0]))
        failure.text = _xml("\n".join(lines))
    if trial.error is not None:
        _add_error(case, trial.error)


def _lines(trial: Trial) -> Iterator[str]:
    """Yield rows that are not as expected, one a line."""
    for each in trial.differences:
        for word, rows in (("missing", each.missing), ("unexpected", each.unexpected)):
            for row in rows:
                pairs = zip(each.columns, row, strict=True)
                values = ", ".join(f"{name}: {text}" for name, text in pairs)
                yield f"{each.what}, {word}: {{{values}}}"


def _add_error(case: ET.Element, error: FrameworkError) -> None:
    """Add why there is no result."""
    node = ET.SubElement(case, "error", type=error.condition, message=_xml(error.message))
    lines = [f"{each.where}: {each.message}" for each in findings_of(error)]
    node.text = _xml("\n".join(lines) or str(error))


def _xml(text: str) -> str:
    """Return the text without the characters that XML 1.0 cannot hold."""
    return _NOT_XML.sub("\N{REPLACEMENT CHARACTER}", text)


_CODE: Final = 3
"""Of a test with another result than expected: what the gate lets through is not what it should."""

_SHOWN: Final = 10
_WIDEST: Final = 30
_MARKS: Final = {
    TrialOutcome.PASSED: ("✓", "green"),
    TrialOutcome.FAILED: ("✗", "red"),
    TrialOutcome.ERROR: ("!", "bold red"),
}


@dataclass(slots=True, kw_only=True)
class SpecTestReport:
    """Reports the results of tests, as they end where the form has lines, else at the end.

    Attributes:
        form: `text`, `json` or `junit`.
        results: of the tests, by spec.
    """

    form: str
    results: dict[str, list[Trial]] = field(default_factory=dict)

    @property
    def codes(self) -> list[int]:
        """Exit codes of all tests."""
        return [_code(trial) for trials in self.results.values() for trial in trials]

    def begin(self, spec: str) -> None:
        """Go on to the tests of another spec."""
        self.results[spec] = []
        if self.form == "text":
            write(out(), Text(clean(spec), style="bold"))

    def report(self, trial: Trial) -> None:
        """Report the result of a test of this spec."""
        [*_, trials] = self.results.values()
        trials.append(trial)
        if self.form == "text":
            _write_trial(trial)
            sys.stdout.flush()

    def end(self) -> None:
        """Report what there is to report of a whole spec."""
        if self.form == "json":
            spec, trials = list(self.results.items())[-1]
            sys.stdout.write(json.dumps(_as_json(spec, trials), ensure_ascii=False) + "\n")
            sys.stdout.flush()

    def close(self, faults: Mapping[Path, FrameworkError]) -> None:
        """Sum up all of it; `faults` are specs that could not be tried."""
        if self.form == "junit":
            sys.stdout.write(junit_document(self.results, faults))
        elif self.form == "text" and self.results:
            _write_sum([trial for trials in self.results.values() for trial in trials])


def _code(trial: Trial) -> int:
    """Return the exit code that a test asks for."""
    if trial.error is not None:
        return trial.error.exit_code
    return _CODE if trial.outcome is TrialOutcome.FAILED else 0


def _write_trial(trial: Trial) -> None:
    """Write one line, and below it what is not as expected."""
    mark, style = _MARKS[trial.outcome]
    line = Text.assemble("  ", (mark, style), f" {clean(trial.name)}  ")
    write(out(), line + Text(f"{trial.seconds:.1f} s", style="dim"), hang=4)
    for reason in trial.reasons:
        write(out(), f"      {clean(reason)}", hang=8)
    for difference in trial.differences:
        _write_difference(difference)
    if trial.error is not None:
        _write_error(trial.error)
    if trial.folder is not None:
        write(out(), Text(f"      kept in {clean(trial.folder)}", style="dim"), hang=8)


def _write_error(error: FrameworkError) -> None:
    """Write why there is no result, by its faults in the spec where it has some."""
    findings = findings_of(error)
    for each in findings:
        _write_reason(each.rule, each.message, str(each.where), each.suggestion or "")
    if not findings:
        _write_reason(error.condition, error.message, str(error.where), error.remedy)


def _write_reason(condition: str, message: str, where: str, remedy: str) -> None:
    """Write one reason with its place and what to do."""
    label = ("error", "bold red"), (f"[{condition}]", "red")
    write(out(), Text.assemble("      ", *label, f": {clean(message)}"), hang=8)
    if where:
        write(out(), Text(f"        at {clean(where)}", style="dim"), hang=11)
    if remedy:
        write(out(), Text.assemble(("        help: ", "cyan"), clean(remedy)))


def _write_difference(difference: Difference) -> None:
    """Write which rows are missing and which are there unasked, in columns."""
    missing, unexpected = difference.missing, difference.unexpected
    counts = [
        f"{len(rows)} row{'s' * (len(rows) != 1)} {word}"
        for rows, word in ((missing, "missing"), (unexpected, "unexpected"))
        if rows
    ]
    write(out(), f"      {difference.what}: {', '.join(counts)}")
    rows = [*_marked("-", missing), *_marked("+", unexpected)]
    header = ["", *map(_cell, difference.columns)]
    for number, line in enumerate(laid_in_columns([header, *rows], ())):
        colour = {"-": "red", "+": "green"}.get(line[:1], "dim") if number else "dim"
        write(out(), Text(f"        {line}", style=colour), hang=10)


def _marked(mark: str, rows: Sequence[Row]) -> Iterator[list[str]]:
    """Yield the first rows as cells, and a last one that counts the others."""
    for row in rows[:_SHOWN]:
        yield [mark, *map(_cell, row)]
    if len(rows) > _SHOWN:
        width = len(rows[0])
        yield [mark, f"… {len(rows) - _SHOWN} more", *[""] * (width - 1)][: width + 1]


def _cell(text: str) -> str:
    """Return a text that leaves room for others."""
    shown = clean(text).replace("\n", "\\n")
    return shown if len(shown) <= _WIDEST else f"{shown[: _WIDEST - 1]}…"


def _write_sum(trials: Sequence[Trial]) -> None:
    """Write the totals."""
    counted = Counter(trial.outcome for trial in trials)
    words = [f"{counted[TrialOutcome.PASSED]} passed"]
    if counted[TrialOutcome.FAILED]:
        words.append(f"{counted[TrialOutcome.FAILED]} failed")
    if errors := counted[TrialOutcome.ERROR]:
        words.append(f"{errors} error{'s' * (errors != 1)}")
    seconds = sum(trial.seconds for trial in trials)
    tests = f"{len(trials)} test{'s' * (len(trials) != 1)}"
    write(out(), Text(f"{tests}: {', '.join(words)} in {seconds:.1f} s", style="bold"))


def _as_json(spec: str, trials: Sequence[Trial]) -> dict[str, object]:
    """Return the results of one spec."""
    counted = Counter(trial.outcome for trial in trials)
    return {
        "spec": spec,
        **{outcome.value: counted[outcome] for outcome in TrialOutcome},
        "tests": [_trial_as_json(trial) for trial in trials],
    }


def _trial_as_json(trial: Trial) -> dict[str, object]:
    """Return one result."""
    return {
        "name": trial.name,
        "outcome": trial.outcome.value,
        "seconds": round(trial.seconds, 3),
        "reasons": list(trial.reasons),
        "differences": [
            {
                "what": each.what,
                "columns": list(each.columns),
                "missing": [list(row) for row in each.missing],
                "unexpected": [list(row) for row in each.unexpected],
            }
            for each in trial.differences
        ],
        **({"error": error_as_json(trial.error)} if trial.error else {}),
        **({"folder": trial.folder} if trial.folder else {}),
    }
