"""Tables that the user named by a spec, by their location, or not at all."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from framework.engine.prepare import Request, load
from framework.plan.quality.of_spec import quarantine_of
from framework.spec.loader import find_specs
from framework.spec.sections.quality_spec import QUARANTINE_SUFFIX

if TYPE_CHECKING:
    from collections.abc import Mapping

    from framework.spec.sections.pipeline_spec import PipelineSpec

__all__ = ["NamedTable", "locations_of", "table_of", "tables_of"]


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedTable:
    """A table that the user meant.

    Attributes:
        location: where it is.
        named: how the user would name it again.
        spec: the spec that names it, None where it was given by its location.
    """

    location: str
    named: str
    spec: PipelineSpec | None = None

    @property
    def quarantine(self) -> str:
        """Where its rows are quarantined, beside the places that its commits name."""
        if self.spec is None:
            return f"{self.location}{QUARANTINE_SUFFIX}"
        return quarantine_of(self.spec)

    @property
    def redacted(self) -> tuple[str, ...]:
        """Columns that the spec hides."""
        return self.spec.quality.redact if self.spec and self.spec.quality else ()


def locations_of(
    place: str | None, target: str | None, variables: Mapping[str, str]
) -> tuple[str, ...]:
    """Return the location of each table meant, as of `tables_of`."""
    return tuple(each.location for each in tables_of(place, target, variables))


def tables_of(
    place: str | None, target: str | None, variables: Mapping[str, str]
) -> tuple[NamedTable, ...]:
    """Return each table meant.

    A spec file means its table, any other text is a location itself, None means the tables of all
    specs below the current folder.

    Raises:
        SpecError: a spec is faulty, or there is none.
    """
    if place is not None:
        return (table_of(place, target, variables),)
    return tuple(table_of(str(path), target, variables) for path in find_specs(()))


def table_of(place: str, target: str | None, variables: Mapping[str, str]) -> NamedTable:
    """Return the table of a spec, or at a location.

    Raises:
        SpecError: the spec is faulty.
    """
    if not place.endswith((".yml", ".yaml")):
        location = place if ":/" in place else str(Path(place).resolve())
        return NamedTable(location=location, named=place)
    spec = load(Request(path=Path(place), target=target, variables=variables))
    return NamedTable(location=spec.table.location, named=place, spec=spec)
