"""The files of gate reports, one for each requested format."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final, Self

from framework.cli.render.checks import write_checks
from framework.cli.render.console import err
from framework.cli.usage import usage_error
from framework.engine.events import Audited, Event, Events, Note, Published, StageFinished
from framework.engine.reporting.forms import render
from framework.engine.reporting.lineage import RunState, emit, run_event
from framework.errors import AfterCommitError, FrameworkError, StorageError, Where
from framework.spec.document.findings import nearest
from framework.vocabulary import Outcome, ReportForm

if TYPE_CHECKING:
    from framework.engine.prepare import Prepared
    from framework.engine.results import AuditReport

__all__ = ["ReportFiles", "kept_reports"]

_TIME: Final = "%Y-%m-%dT%H:%M:%SZ"
_ENDINGS: Final = {
    ReportForm.HTML: "html",
    ReportForm.JSON: "json",
    ReportForm.JUNIT: "xml",
    ReportForm.MARKDOWN: "md",
    ReportForm.GX: "gx.json",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportFiles:
    """Formats with the file of each; None for a file named after the spec."""

    wanted: tuple[tuple[ReportForm, Path | None], ...] = ()

    @classmethod
    def of(cls, words: Sequence[str] | None) -> Self:
        """Return the files that `--report` requests.

        Raises:
            SpecError: `usage/report-form`.
        """
        return cls(wanted=tuple(map(_wanted, words or ())))

    def __bool__(self) -> bool:
        """Return whether any report is requested."""
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
                f"{named[0]} cannot contain the reports of {specs} specs",
                "omit the file; each report is then named after its spec",
            )

    def write(self, report: AuditReport, spec: Path, events: Events) -> None:
        """Write all formats and log their paths.

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


@contextmanager
def kept_reports(
    files: ReportFiles,
    lineage: str | None,
    prepared: Prepared,
    events: Events,
    *,
    shows: bool,
) -> Iterator[Events]:
    """Yield a receiver of a run's events that saves and sends the gate's report at the end.

    If a run passed its gate and failed afterwards, the failure is reported as the refusal. With
    `shows`, checks that did not pass are written to stderr.
    """
    heard = _Heard(timings={"source": time.monotonic() - prepared.begun})
    begun = datetime.now(tz=UTC).strftime(_TIME)

    def listening(event: Event) -> None:
        heard.take(event)
        events(event)

    sent = partial(_keep, files, lineage, prepared, events)
    try:
        yield listening
    except FrameworkError as error:
        if heard.report:
            report = heard.report
            after = not report.refusal and not isinstance(error, AfterCommitError)
            sent(replace(report, refusal=error.as_json()) if after else report, begun)
            if shows:
                write_checks(err(), report)
        raise
    if heard.report:
        sent(heard.report, begun)
        if shows and any(each.outcome is not Outcome.PASSED for each in heard.report.checks):
            write_checks(err(), heard.report)


@dataclass
class _Heard:
    """A run's gate report and timings so far; `report` is None before the gate."""

    report: AuditReport | None = None
    timings: dict[str, float] = field(default_factory=dict)

    def take(self, event: Event) -> None:
        """Record the report or the timing of an event."""
        if isinstance(event, Audited):
            self.report = event.report
        elif isinstance(event, StageFinished):
            self.timings[event.stage] = event.seconds
        elif isinstance(event, Published) and self.report:
            self.report = replace(self.report, seconds=event.seconds, timings=self.timings)


def _keep(
    files: ReportFiles,
    lineage: str | None,
    prepared: Prepared,
    events: Events,
    report: AuditReport,
    begun: str,
) -> None:
    """Write the reports of a finished run, and report it to OpenLineage.

    Neither changes the run's result: their failures are warnings.
    """
    try:
        files.write(report, prepared.request.path, events)
    except StorageError as error:
        events(Note(level="warning", message=str(error)))
    if lineage is None:
        return
    plan = prepared.plan
    source = plan.source
    if plan.load is not None and plan.load.request is not None:
        source = plan.load.request.path
    ended = RunState.COMPLETE if report.passed else RunState.FAIL
    for event in (
        run_event(report, RunState.START, source=source, at=begun),
        run_event(report, ended, source=source),
    ):
        warning = emit(event, lineage)
        if warning is not None:
            events(warning)
            return


def _wanted(word: str) -> tuple[ReportForm, Path | None]:
    """Return the format, and the file if any, of one `--report`."""
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
