"""What came of tests as a JUnit document."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final
from xml.etree import ElementTree as ET

from framework.cli.render.as_json import findings_of
from framework.engine.examples.trial import TrialOutcome

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from framework.engine.examples.trial import Trial
    from framework.errors import FrameworkError

__all__ = ["junit_document"]

_NOT_XML: Final = re.compile("[^\\t\\n\\r\\x20-\\ud7ff\\ue000-\\ufffd\\U00010000-\\U0010ffff]")


def junit_document(
    told: Mapping[str, Sequence[Trial]], faults: Mapping[Path, FrameworkError]
) -> str:
    """Return a suite for each spec; one that could not be tried is a suite with one error."""
    root = ET.Element("testsuites", name="run-pipeline test")
    for spec, trials in told.items():
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
    told = [f"{each.where}: {each.message}" for each in findings_of(error)]
    node.text = _xml("\n".join(told) or str(error))


def _xml(text: str) -> str:
    """Return the text without the characters that XML 1.0 cannot hold."""
    return _NOT_XML.sub("\N{REPLACEMENT CHARACTER}", text)
