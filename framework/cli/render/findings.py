"""Findings in machine formats: JSON, GitHub annotations, SARIF 2.1.0, JUnit."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from pathlib import Path, PurePath
from urllib.parse import quote
from xml.etree import ElementTree as ET

from framework.errors import AuditFailedError, Finding, FrameworkError, SpecError

__all__ = ["RENDERERS", "error_as_json", "finding_as_json", "findings_of"]

_NOT_XML = re.compile("[^\\t\\n\\r\\x20-\\ud7ff\\ue000-\\ufffd\\U00010000-\\U0010ffff]")
_SARIF = "https://json.schemastore.org/sarif-2.1.0.json"


def error_as_json(error: FrameworkError) -> dict[str, object]:
    """Return condition, message, remedy, exit code and place; findings and report if any."""
    described = error.as_json()
    findings = findings_of(error)
    if findings:
        described["findings"] = [finding_as_json(each) for each in findings]
    if isinstance(error, AuditFailedError):
        described["report"] = error.report
    return described


def findings_of(error: FrameworkError) -> tuple[Finding, ...]:
    """Return the findings of an error or of its cause; most errors have none."""
    holder = error if isinstance(error, SpecError) else error.__cause__
    return holder.findings if isinstance(holder, SpecError) else ()


def finding_as_json(finding: Finding) -> dict[str, object]:
    """Return one finding; line and column count from 1, None where they do not apply."""
    return {
        "rule": finding.rule,
        "severity": finding.severity,
        "file": finding.where.file,
        "line": finding.where.line,
        "column": finding.where.column,
        "partition": finding.where.partition,
        "key": finding.key_path,
        "message": finding.message,
        "suggestion": finding.suggestion,
    }


def _json(findings: Sequence[Finding], paths: Sequence[Path]) -> str:
    return (
        json.dumps(
            {"specs": [str(p) for p in paths], "findings": [finding_as_json(f) for f in findings]},
            indent=2,
        )
        + "\n"
    )


def _github(findings: Sequence[Finding], paths: Sequence[Path]) -> str:
    """Return one workflow command per finding; escapes `%`, CR and LF for the runner."""
    del paths
    return "".join(
        f"::{each.severity} {_place(each)}title={_property(each.rule)}::{_data(_sentence(each))}\n"
        for each in findings
    )


def _place(finding: Finding) -> str:
    """Return `file=…,line=…,col=…,`, or "" for a fault outside of files."""
    where = finding.where
    if where.file is None:
        return ""
    return f"file={_property(where.file)},line={where.line or 1},col={where.column or 1},"


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")


def _sentence(finding: Finding) -> str:
    hint = f" ({finding.suggestion})" if finding.suggestion else ""
    return finding.message + hint


def _sarif(findings: Sequence[Finding], paths: Sequence[Path]) -> str:
    del paths
    run = {
        "tool": {
            "driver": {
                "name": "run-pipeline",
                "rules": [{"id": rule} for rule in sorted({f.rule for f in findings})],
            }
        },
        "results": [_sarif_result(f) for f in findings],
    }
    return json.dumps({"$schema": _SARIF, "version": "2.1.0", "runs": [run]}, indent=2) + "\n"


def _sarif_result(finding: Finding) -> dict[str, object]:
    column = finding.where.column or 1
    region = {
        "startLine": finding.where.line or 1,
        "startColumn": column,
        "endColumn": column + max(1, finding.length),
    }
    return {
        "ruleId": finding.rule,
        "level": finding.severity,
        "message": {"text": _sentence(finding)},
        "locations": [
            {
                "physicalLocation": {
                    "artifactLocation": {"uri": _uri(finding.where.file)},
                    "region": region,
                }
            }
        ],
    }


def _uri(file: str | None) -> str:
    """Return a path as SARIF requires it: a relative reference, or a `file:` URI."""
    path = PurePath(file or ".")
    return path.as_uri() if path.is_absolute() else quote(path.as_posix())


def _junit(findings: Sequence[Finding], paths: Sequence[Path]) -> str:
    """Return one test case per file, also for a project file; its errors are its failures."""
    errors: dict[str, list[Finding]] = {str(path): [] for path in paths}
    for finding in findings:
        if finding.severity == "error":
            errors.setdefault(finding.where.file or "", []).append(finding)
    failed = sum(map(bool, errors.values()))
    suite = ET.Element(
        "testsuite",
        name="run-pipeline validate",
        tests=str(len(errors)),
        failures=str(failed),
        errors="0",
    )
    for file, mine in errors.items():
        case = ET.SubElement(suite, "testcase", classname="spec", name=_xml(file))
        for finding in mine:
            failure = ET.SubElement(
                case, "failure", type=finding.rule, message=_xml(finding.message)
            )
            failure.text = _xml(f"{finding.where}: {_sentence(finding)}")
    return ET.tostring(suite, encoding="unicode", xml_declaration=True) + "\n"


def _xml(text: str) -> str:
    """Return the text without the characters that XML 1.0 does not allow."""
    return _NOT_XML.sub("\N{REPLACEMENT CHARACTER}", text)


RENDERERS: dict[str, Callable[[Sequence[Finding], Sequence[Path]], str]] = {
    "json": _json,
    "github": _github,
    "sarif": _sarif,
    "junit": _junit,
}
