"""A report as JUnit XML: one test case for the keys and one for each check."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final
from xml.etree import ElementTree as ET

from framework.engine.reporting import words
from framework.engine.reporting.keys import key_rule_text, key_samples, keys_refused, proof_text
from framework.engine.results import AuditReport, CheckResult
from framework.vocabulary import Outcome

__all__ = ["junit_text"]

_NOT_XML: Final = re.compile("[^\\t\\n\\r\\x20-\\ud7ff\\ue000-\\ufffd\\U00010000-\\U0010ffff]")
_REFUSED: Final = 3


def junit_text(report: AuditReport) -> str:
    """Return JUnit XML that ends in a newline.

    A check that warned, or excluded rows, passes; its findings are its output. A refusal that
    neither checks nor keys explain is a case of its own: a failure if the data is to blame, an
    error if a check could not run.
    """
    cases = [*_keys(report), *(_check(report, each) for each in report.checks), *_rest(report)]
    counts = {
        word: str(sum(case.find(tag) is not None for case in cases))
        for word, tag in (("failures", "failure"), ("errors", "error"), ("skipped", "skipped"))
    }
    suite = ET.Element(
        "testsuite",
        {
            "name": _xml(words.line_text(f"{report.table} {report.subject}")),
            "tests": str(len(cases)),
            **counts,
            "time": f"{report.took:.3f}",
            "timestamp": _xml(report.at.removesuffix("Z")),
        },
    )
    properties = ET.SubElement(suite, "properties")
    for name, value in _properties(report):
        ET.SubElement(properties, "property", name=name, value=_xml(value))
    suite.extend(cases)
    root = ET.Element("testsuites")
    root.append(suite)
    ET.indent(root)
    return ET.tostring(root, encoding="unicode", xml_declaration=True) + "\n"


def _properties(report: AuditReport) -> Iterator[tuple[str, str]]:
    found = words.verdict(report)
    yield "verdict", f"{found.word}: {found.sentence}"
    yield "location", report.location
    yield "run_id", report.run_id
    if report.instant is not None:
        yield "instant", report.instant
    if report.fate is not None:
        yield "rows", words.fate_text(report.fate, published=report.passed)


def _keys(report: AuditReport) -> Iterator[ET.Element]:
    """Yield the case of the keys; none if they were not checked."""
    if keys_refused(report):
        case = _case(report, "record keys")
        samples, more = key_samples(report)
        lines = [" ".join(filter(None, (each.key, each.places))) for each in samples]
        lines += [f"and {more:,} more"] if more else []
        _fail(case, "failure", report, lines)
        yield case
    elif report.keys:
        case = _case(report, "record keys")
        _say(case, [key_rule_text(report), proof_text(report)])
        yield case


def _check(report: AuditReport, result: CheckResult) -> ET.Element:
    """Return the case of one check."""
    case = _case(report, result.check.name, result.seconds)
    lines = [
        words.meaning(result.check),
        f"{words.result_text(result)}; allowed: {words.allowed_text(result.check)}",
        f"on failure it {words.ON_FAIL[result.check.on_fail]}",
        *(
            f"{words.place_text(row)}  {words.sample_text(row)}".strip()
            for row in result.samples
            if result.outcome is not Outcome.PASSED
        ),
    ]
    if result.outcome is Outcome.FAILED:
        failure = ET.SubElement(
            case,
            "failure",
            type=result.check.kind.value,
            message=_xml(words.line_text(words.result_text(result))),
        )
        failure.text = _text(lines)
    else:
        _say(case, [f"{result.outcome}: {lines[0]}", *lines[1:]])
    return case


def _rest(report: AuditReport) -> Iterator[ET.Element]:
    """Yield a case for a refusal by neither keys nor checks."""
    failed = any(each.outcome is Outcome.FAILED for each in report.checks)
    if report.refusal and not failed and not keys_refused(report):
        case = _case(report, "gate")
        by_data = report.refusal.get("exit_code", _REFUSED) == _REFUSED
        _fail(case, "failure" if by_data else "error", report, [])
        yield case


def _fail(case: ET.Element, tag: str, report: AuditReport, lines: list[str]) -> None:
    refusal = report.refusal
    element = ET.SubElement(
        case,
        tag,
        type=_xml(words.line_text(refusal.get("condition", "audit"))),
        message=_xml(words.line_text(refusal.get("message", ""), 600)),
    )
    remedy = words.line_text(refusal.get("remedy") or "", 600)
    element.text = _text([*lines, *([remedy] if remedy else [])])


def _case(report: AuditReport, name: str, seconds: float = 0.0) -> ET.Element:
    return ET.Element(
        "testcase",
        classname=_xml(words.line_text(report.table)),
        name=_xml(words.line_text(name)),
        time=f"{seconds:.3f}",
    )


def _say(case: ET.Element, lines: list[str]) -> None:
    ET.SubElement(case, "system-out").text = _text(lines)


def _text(lines: list[str]) -> str:
    return _xml(words.block_text("\n".join(filter(None, lines)), 4000))


def _xml(text: str) -> str:
    """Return the text without the characters that XML 1.0 cannot hold."""
    return _NOT_XML.sub("\N{REPLACEMENT CHARACTER}", text)
