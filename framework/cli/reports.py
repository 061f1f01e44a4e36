"""Where reports of a gate go: into files, one for each form that was asked for."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final, Self

from framework.cli.usage import usage_error
from framework.engine.events import Note
from framework.engine.reporting.forms import render
from framework.errors import StorageError, Where
from framework.spec.findings import nearest
from framework.vocabulary import ReportForm

if TYPE_CHECKING:
    from collections.abc import Sequence

    from framework.engine.events import Events
    from framework.engine.results import AuditReport

__all__ = ["ReportFiles"]

_ENDINGS: Final = {
    ReportForm.HTML: "html",
    ReportForm.JSON: "json",
    ReportForm.JUNIT: "xml",
    ReportForm.MARKDOWN: "md",
    ReportForm.GX: "gx.json",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportFiles:
    """Forms with the file of each, None for one that is named after the spec."""

    wanted: tuple[tuple[ReportForm, Path | None], ...] = ()

    @classmethod
    def of(cls, words: Sequence[str] | None) -> Self:
        """Return what `--report` asks for.

        Raises:
            SpecError: `usage/report-form`.
        """
        return cls(wanted=tuple(map(_wanted, words or ())))

    def __bool__(self) -> bool:
        """Whether any report is wanted."""
        return bool(self.wanted)

    def for_one_of(self, specs: int) -> None:
        """Refuse one file for several specs.

        Raises:
            SpecError: `usage/one-report-file`.
        """
        named = [str(path) for _, path in self.wanted if path is not None]
        if named and specs > 1:
            raise usage_error(
                "one-report-file",
                f"{named[0]} cannot hold the reports of {specs} specs",
                "leave the file out; each is named after its spec then",
            )

    def write(self, report: AuditReport, spec: Path, events: Events) -> None:
        """Write all forms and say where they are.

        Raises:
            StorageError: `storage/failed`; a report cannot be written.
        """
        for form, path in self.wanted:
            file = path or Path(f"{spec.name.removesuffix('.pipeline.yml')}.gate.{_ENDINGS[form]}")
            try:
                file.write_text(render(report, form), encoding="utf-8")
            except OSError as error:
                raise StorageError(
                    "storage/failed",
                    f"the report cannot be written: {error.strerror}",
                    where=Where(file=str(file)),
                ) from error
            events(Note(level="info", message=f"report: {file}"))


def _wanted(word: str) -> tuple[ReportForm, Path | None]:
    """Return the form, and the file if there is one, of one `--report`."""
    name, equals, file = word.partition("=")
    known = {form.value: form for form in ReportForm}
    if name not in known or (equals and not file):
        forms = ", ".join(known)
        close = nearest(name, known)
        raise usage_error(
            "report-form",
            f"--report {word!r} is not FORM or FORM=FILE; forms are {forms}",
            f"--report {close}" if close else None,
        )
    return known[name], Path(file) if file else None
