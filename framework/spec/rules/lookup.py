"""Lookups in a document as written, before it becomes a model."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from pydantic_core import PydanticCustomError

from framework.spec.document.findings import FindingList
from framework.spec.document.positions import Positions
from framework.spec.document.references import LooseText
from framework.spec.sections.locations import resolve_location

__all__ = ["Lookup"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Lookup:
    """Base of checks across fields; relative locations start at `folder`."""

    data: Mapping[str, object]
    positions: Positions
    findings: FindingList
    folder: Path

    def _note(self, rule: str, path: str, message: str, suggestion: str | None = None) -> None:
        span = self.positions.span(path, of_key=rule == "unknown-partition-column")
        self.findings.add(f"spec/{rule}", span, message, key_path=path, suggestion=suggestion)

    def _note_within(
        self,
        rule: str,
        path: str,
        message: str,
        place: tuple[int, int],
        suggestion: str | None = None,
    ) -> None:
        """Report a fault at a place, offset and length, within the text at the path."""
        span = self.positions.part(path, *place)
        self.findings.add(f"spec/{rule}", span, message, key_path=path, suggestion=suggestion)

    def _is_reported(self, path: str) -> bool:
        """Return whether a fault is already reported at exactly this path."""
        return any(finding.key_path == path for finding in self.findings.errors)

    def _has(self, path: str) -> bool:
        """Return whether the document has the path, even without a value."""
        return self.positions.has(path)

    def _number(self, *names: str) -> int | None:
        """Return the whole number at the path, or None."""
        value = self._at(*names)
        typed = value.typed() if isinstance(value, LooseText) else value
        return typed if isinstance(typed, int) else None

    def _place(self, *names: str) -> str | None:
        """Return the resolved location, or None if it is faulty."""
        text = self._at(*names)
        try:
            return resolve_location(text, self.folder) if isinstance(text, str) else None
        except PydanticCustomError:
            return None

    def _at(self, *names: str) -> object:
        """Return the value at the path, or None if there is none."""
        value: object = self.data
        for name in names:
            value = value.get(name) if isinstance(value, Mapping) else None
        return value
