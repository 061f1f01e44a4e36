"""`run-pipeline quarantine release`: sends quarantined rows through the audit gate again."""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.text import Text

from framework.cli import options
from framework.cli.exits import gravest
from framework.cli.places import NamedTable, in_process, table_of
from framework.cli.quarantine import NOTHING, InstantOption, chosen
from framework.cli.render.console import clean, out, write
from framework.cli.render.errors import OutputOptions, fail
from framework.cli.render.progress import reporting
from framework.cli.run import RunOptions, interruptible
from framework.cli.spark_session import opened_backend
from framework.cli.usage import usage_error
from framework.engine.events import Events, Note
from framework.engine.prepare import PlanningContext, Prepared, Request
from framework.engine.quarantine.record import read_record
from framework.engine.release import finish_release, prepare_release
from framework.engine.runner import RunResult
from framework.errors import FrameworkError
from framework.hudi.timeline.clock import SystemClock
from framework.plan.render.explain import explain_text
from framework.plan.words import count_text

if TYPE_CHECKING:
    from framework.engine.quarantine.quarantined_batch import QuarantinedBatch
    from framework.engine.runner import Backend

__all__ = ["release_command"]

_STAYS = "quarantine/all-fail"


def release_command(
    spec: Annotated[Path, typer.Argument(metavar="SPEC", help="The spec of the table.")],
    instant: InstantOption = None,
    target: options.Target = None,
    var: options.Variables = None,
    master: options.Master = None,
    conf: options.Conf = None,
    form: options.Format = options.JsonFormat.TEXT,
    log_format: options.LogOption = options.LogFormat.TEXT,
) -> int:
    """Load quarantined rows into the table through the gate; rows that fail stay out.

    Without --instant, loads oldest first, one commit per instant. Stops at the first failure, but
    continues if all rows of an instant fail as before: these stay quarantined. With --format json
    each instant is one line.
    """
    variables = options.pairs(var, "--var")
    table = table_of(str(spec), target, variables)
    if table.spec is None:
        raise usage_error("needs-spec", f"{spec} is not a spec", "the checks of a spec are needed")
    work = _Releasing(
        table=table,
        request=Request(path=spec, target=target, variables=variables),
        run_options=RunOptions(
            master=master,
            conf=options.pairs(conf, "--conf"),
            in_process=False,
            output=OutputOptions(
                json_result=form is options.JsonFormat.JSON,
                json_log=log_format is options.LogFormat.JSON,
            ),
        ),
    )
    earlier = read_record(table.location).released
    if earlier:
        finish_release(table.location, SystemClock(), location=table.quarantine)
    if instant is not None and instant in earlier:
        _write_idle(work, f"{instant} was released before, at {earlier[instant]}")
        return 0
    found = chosen(table, instant)
    if not found:
        _write_idle(work, NOTHING)
    return work.release_all(found)


@dataclass(kw_only=True)
class _Releasing:
    """Releases data sets one after the other, on one session that is opened for the first.

    Attributes:
        table: the table of the rows.
        request: names the spec.
        run_options: how each release is executed and reported.
        done: instants whose rows are published so far.
    """

    table: NamedTable
    request: Request
    run_options: RunOptions
    done: list[str] = field(default_factory=list)
    _backend: Backend | None = None

    def release_all(self, found: Sequence[QuarantinedBatch]) -> int:
        """Release data sets and return the gravest exit code.

        Raises:
            FrameworkError: the first failure, with a note of the released instants.
        """
        codes = []
        with ExitStack() as stack, tempfile.TemporaryDirectory() as scratch:
            for each in found:
                try:
                    codes.append(self._release(each, Path(scratch), stack))
                except FrameworkError as error:
                    if len(found) == 1 or error.condition != _STAYS:
                        self._note(error)
                        raise
                    codes.append(fail(error, self.run_options.output))
                except KeyboardInterrupt as stop:
                    self._note(stop)
                    raise
        return gravest(codes)

    def _release(self, batch: QuarantinedBatch, scratch: Path, stack: ExitStack) -> int:
        with reporting(self.run_options.log_format, str(self.request.path)) as reporter:
            events = interruptible(reporter)
            planning = PlanningContext(tasks=in_process(), scratch=scratch, events=events)
            prepared = prepare_release(self.request, batch, planning)
            result = RunResult.unchanged(prepared.plan)
            if prepared.plan.has_changes:
                result = self._run(prepared, events, stack)
            if result.instant:
                self.done.append(batch.instant)
            finish_release(self.table.location, SystemClock(), location=self.table.quarantine)
        _print(self, batch, result, prepared)
        return 0

    def _run(self, prepared: Prepared, events: Events, stack: ExitStack) -> RunResult:
        """Run a plan, on a session opened for the first one."""
        events(Note(level="info", message=explain_text(prepared.plan)[0].text))
        if self._backend is None:
            run_options = self.run_options
            opened = opened_backend(
                prepared.spec, events, master=run_options.master, conf=run_options.conf
            )
            self._backend = stack.enter_context(opened)
        return self._backend.run(prepared.plan, events=events, begun=prepared.begun)

    def _note(self, error: BaseException) -> None:
        """Note the released instants on the error, and the effect of running again."""
        done = ", ".join(self.done) or "nothing"
        error.add_note(f"Released: {done}. The same command continues; no row is loaded twice.")


def _write_idle(work: _Releasing, text: str) -> None:
    """Report why there is nothing to do; JSON has no line for it."""
    if not work.run_options.output.json_result:
        write(out(), text)


def _print(
    work: _Releasing, batch: QuarantinedBatch, result: RunResult, prepared: Prepared
) -> None:
    """Report the result for one data set."""
    if work.run_options.output.json_result:
        head = {"spec": str(work.request.path), "released": batch.instant}
        sys.stdout.write(json.dumps({**head, **asdict(result)}) + "\n")
        return
    name = (f"{clean(prepared.plan.target.name)}: ", "bold")
    if result.instant is None:
        write(out(), Text.assemble(name, f"{batch.instant} was released in the meantime"), hang=2)
        return
    fate = result.proof.get("fate")
    counts = fate if isinstance(fate, dict) else {"published": batch.rows}
    rows = f"{counts['published']:,} of {count_text(batch.rows, 'row')} of {batch.instant} released"
    done = f"{rows}, published at {result.instant} in {result.seconds:.1f} s"
    write(out(), Text.assemble(name, done), hang=2)
    again, dropped = counts.get("quarantined"), counts.get("dropped")
    if again:
        write(out(), f"  {count_text(again, 'row')} quarantined again, at {result.instant}")
    if dropped:
        write(out(), f"  {count_text(dropped, 'row')} dropped")
