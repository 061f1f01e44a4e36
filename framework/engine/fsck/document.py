"""The JSON of `fsck`: typed values that define the document and its JSON Schema.

Members are only added. A member that does not apply is null or empty, never absent.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from framework.engine.fsck.findings import Checked, TableFinding
from framework.engine.fsck.repair import Outcome
from framework.engine.fsck.table_check import TableReport
from framework.plan.render.json_values import json_members, json_schema

__all__ = ["FsckDocument", "fsck_members", "fsck_schema"]


@dataclass(frozen=True, slots=True, kw_only=True)
class FsckDocument:
    """The check of one table.

    `clean` says that there are no findings; errors come first. `repaired` has one entry for each
    file that a repair before the check looked at.
    """

    location: str
    deep: bool
    clean: bool
    checked: Checked
    findings: tuple[TableFinding, ...]
    repaired: tuple[Outcome, ...]


def fsck_schema() -> dict[str, object]:
    """Return the JSON Schema of a check, the content of `schemas/fsck.schema.json`."""
    return json_schema(FsckDocument, title="Check of a table by run-pipeline fsck")


def fsck_members(report: TableReport, outcomes: Sequence[Outcome] = ()) -> dict[str, object]:
    """Return the members of the document of a check, and of the repairs before it."""
    document = FsckDocument(
        location=report.location,
        deep=report.deep,
        clean=not report.findings,
        checked=report.checked,
        findings=report.findings,
        repaired=tuple(outcomes),
    )
    return json_members(document)
