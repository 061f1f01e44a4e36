"""Specs and tables that the user named: by a file, a folder, a location, or by default."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from rich.text import Text

from framework.cli.exits import gravest
from framework.cli.render.console import clean, err, write
from framework.cli.render.errors import OutputOptions, fail
from framework.engine.prepare import Request, load
from framework.engine.tasks import InProcessTasks
from framework.errors import FrameworkError
from framework.plan.quality.of_spec import quarantine_of
from framework.spec.loader import find_specs
from framework.spec.sections.quality_spec import QUARANTINE_SUFFIX

if TYPE_CHECKING:
    from framework.spec.sections.pipeline_spec import PipelineSpec

__all__ = ["NamedTable", "each_file", "in_process", "locations_of", "table_of", "tables_of"]


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedTable:
    """A table that the user named.

    Attributes:
        location: its location.
        named: the argument that names it.
        spec: the spec that names it, None if it was given by its location.
    """

    location: str
    named: str
    spec: PipelineSpec | None = None

    @property
    def quarantine(self) -> str:
        """Where its rows are quarantined, besides the locations that its commits name."""
        if self.spec is None:
            return f"{self.location}{QUARANTINE_SUFFIX}"
        return quarantine_of(self.spec)

    @property
    def redacted(self) -> tuple[str, ...]:
        """The columns that the spec hides."""
        return self.spec.quality.redact if self.spec and self.spec.quality else ()


def locations_of(
    place: str | None, target: str | None, variables: Mapping[str, str]
) -> tuple[str, ...]:
    """Return the location of each table, as of `tables_of`."""
    return tuple(each.location for each in tables_of(place, target, variables))


def tables_of(
    place: str | None, target: str | None, variables: Mapping[str, str]
) -> tuple[NamedTable, ...]:
    """Return each named table.

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


def in_process() -> InProcessTasks:
    """Return tasks on threads of this process, one per core."""
    return InProcessTasks(os.cpu_count() or 1)


def each_file(files: Sequence[Path], one: Callable[[Path], int], output: OutputOptions) -> int:
    """Call `one` for each spec or saved plan and return the gravest exit code.

    An error of one of several is printed and does not stop the others; the error of a single one is
    raised.
    """
    if len(files) == 1:
        return one(files[0])
    codes: dict[Path, int] = {}
    for file in files:
        if not output.json_log:
            write(err(), Text(clean(file), style="bold"))
        try:
            codes[file] = one(file)
        except FrameworkError as error:
            codes[file] = fail(error, output)
    if not output.json_log:
        _sum_up(codes)
    return gravest(list(codes.values()))


def _sum_up(codes: dict[Path, int]) -> None:
    failed = {file: code for file, code in codes.items() if code}
    write(err(), Text(f"{len(codes)} specs: {len(codes) - len(failed)} done, {len(failed)} failed"))
    for file, code in failed.items():
        write(err(), f"  exit {code}  {clean(file)}")
