"""Faults that planning finds, gathered so that all of them are reported at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NoReturn

from framework.errors import Finding, PlanError, SpecError
from framework.spec.document.positions import Positions

__all__ = ["Fault", "refuse"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """One reason why the spec does not fit what is there.

    Attributes:
        condition: stable id, `area/kebab-name`.
        key_path: the key of the spec that the fault speaks of; "" is the whole.
        message: one sentence, no trailing newline.
        remedy: what to do, or "".
        partition: the partition concerned, when it is one.
        source: the source file concerned, relative to the source root, when it is one.
    """

    condition: str
    key_path: str
    message: str
    remedy: str = ""
    partition: str | None = None
    source: str | None = None


def refuse(faults: Sequence[Fault], positions: Positions) -> NoReturn:
    """Raise one `PlanError` that reports every fault, sorted by its place in the spec.

    The error has the condition, place and remedy of the first. With more than one, the message
    lists them all, a line each; `__cause__` holds them as findings, to be drawn as code frames.
    """
    findings = tuple(sorted((_finding(fault, positions) for fault in faults), key=_place))
    first = findings[0]
    if len(findings) == 1:
        message = first.message
    else:
        lines = "".join(f"\n  {f.where}: {f.message} [{f.rule}]" for f in findings)
        message = f"the spec does not fit in {len(findings)} ways:{lines}"
    raise PlanError(
        first.rule, message, where=first.where, remedy=first.suggestion or ""
    ) from SpecError(findings)


def _finding(fault: Fault, positions: Positions) -> Finding:
    """Return the fault as a finding with its place in the spec."""
    message = f"{fault.source}: {fault.message}" if fault.source else fault.message
    found = positions.finding(
        fault.condition, fault.key_path, message, suggestion=fault.remedy or None
    )
    return replace(found, where=replace(found.where, partition=fault.partition))


def _place(finding: Finding) -> tuple[int, int, str, str]:
    """Order by line, column, rule and partition."""
    where = finding.where
    return (where.line or 0, where.column or 0, finding.rule, where.partition or "")
