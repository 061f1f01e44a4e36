"""The faults of a spec, collected so that all are reported at once."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from difflib import get_close_matches
from itertools import islice

from framework.errors import Finding
from framework.spec.document.source import Span

__all__ = ["MAX_FINDINGS", "FindingList", "finding_at", "nearest", "sort_findings"]

MAX_FINDINGS = 200
"""Faults beyond this number are dropped: the file is not a spec."""

_MAX_NAME = 100
_MAX_COMPARED = 1_000


class FindingList:
    """A growing list of findings that keeps up to `MAX_FINDINGS` errors and as many warnings."""

    def __init__(self) -> None:
        self._errors: list[Finding] = []
        self._warnings: list[Finding] = []

    def add(
        self,
        rule: str,
        span: Span,
        message: str,
        *,
        key_path: str = "",
        suggestion: str | None = None,
    ) -> None:
        """Add an error at the span."""
        if self.full:
            return
        self.append(finding_at(rule, span, message, key_path=key_path, suggestion=suggestion))

    def warn(
        self,
        rule: str,
        span: Span,
        message: str,
        *,
        key_path: str = "",
        suggestion: str | None = None,
    ) -> None:
        """Add a warning at the span; warnings do not stop a run."""
        found = finding_at(rule, span, message, key_path=key_path, suggestion=suggestion)
        self.append(replace(found, severity="warning"))

    def append(self, finding: Finding) -> None:
        """Add a finding made elsewhere."""
        found = self._errors if finding.severity == "error" else self._warnings
        if len(found) < MAX_FINDINGS:
            found.append(finding)

    def extend(self, findings: Iterable[Finding]) -> None:
        """Add several findings made elsewhere."""
        for finding in findings:
            self.append(finding)

    @property
    def errors(self) -> tuple[Finding, ...]:
        """The findings that stop a run, sorted."""
        return sort_findings(self._errors)

    @property
    def warnings(self) -> tuple[Finding, ...]:
        """The findings that do not stop a run, sorted."""
        return sort_findings(self._warnings)

    @property
    def full(self) -> bool:
        """Whether the limit of errors is reached, so that looking for more is pointless."""
        return len(self._errors) >= MAX_FINDINGS

    @property
    def warned(self) -> bool:
        """Whether the limit of warnings is reached."""
        return len(self._warnings) >= MAX_FINDINGS


def finding_at(
    rule: str, span: Span, message: str, *, key_path: str = "", suggestion: str | None = None
) -> Finding:
    """Return an error that shows the span's line and underlines the span."""
    return Finding(
        rule=rule,
        key_path=key_path,
        where=span.where,
        message=message,
        suggestion=suggestion,
        length=span.length,
        source_line=span.text,
    )


def sort_findings(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """Return the findings sorted by file, line and column; whole-file faults come first."""
    return tuple(
        sorted(
            findings,
            key=lambda f: (f.where.file or "", f.where.line or 0, f.where.column or 0, f.rule),
        )
    )


def nearest(word: str, known: Iterable[str]) -> str | None:
    """Return the known word that the user most likely meant, or None if none is close.

    Of more than 1,000 known words, only those that start with the same two letters are compared,
    because comparing is slow.
    """
    wanted = word[:_MAX_NAME].lower()
    by_lower = {name.lower(): name for name in known}
    if len(by_lower) > _MAX_COMPARED:
        alike = (name for name in by_lower if name[:2] == wanted[:2])
        by_lower = {name: by_lower[name] for name in islice(alike, _MAX_COMPARED)}
    close = get_close_matches(wanted, by_lower, n=1, cutoff=0.6)
    return by_lower[close[0]] if close else None
