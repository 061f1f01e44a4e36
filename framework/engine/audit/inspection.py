"""What the checks found, on its way through the gate: beside the proof of the keys."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from framework.engine.audit.verdicts import refusal_of
from framework.errors import AuditFailedError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from framework.engine.results import CheckResult, ColumnFigures

__all__ = ["UNCHECKED", "Inspection"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Inspection:
    """The results of all checks.

    Attributes:
        table: location of the table.
        results: one for each check of the spec.
        columns: figures of columns, empty where nobody asked for them.
        committed: what the commit says of it, JSON-ready.
        seconds: how long it took.
    """

    table: str = ""
    results: tuple[CheckResult, ...] = ()
    columns: tuple[ColumnFigures, ...] = ()
    committed: Mapping[str, object] = field(default_factory=lambda: MappingProxyType({}))
    seconds: float = 0.0

    @contextmanager
    def beside(self) -> Iterator[None]:
        """Let a refusal for other reasons report the results of the checks too."""
        try:
            yield
        except AuditFailedError as error:
            error.results = self.results
            raise

    def require(self) -> None:
        """Refuse where a check failed.

        Raises:
            AuditFailedError: `audit/checks-failed`.
        """
        refusal = refusal_of(self.results, self.table)
        if refusal is not None:
            raise refusal


UNCHECKED: Final = Inspection()
"""Nothing was checked, since the spec has no checks."""
