"""Errors and findings for machines."""

from __future__ import annotations

from typing import TYPE_CHECKING

from framework.errors import AuditFailedError, SpecError

if TYPE_CHECKING:
    from framework.errors import Finding, FrameworkError

__all__ = ["error_as_json", "finding_as_json", "findings_of"]


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
    """Return the findings that an error holds, by itself or as its cause; none for most."""
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
