"""`run-pipeline plan`: the plan of a run, without running it and without Java."""

from __future__ import annotations

import contextlib
import json
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from framework.cli.options import LogFormat, LogOption, Specs, Target, Variables, pairs
from framework.cli.places import each_file, in_process
from framework.cli.render.console import out
from framework.cli.render.errors import OutputOptions
from framework.cli.render.plan import write_plan
from framework.cli.render.progress import reporting
from framework.cli.usage import usage_error
from framework.engine.events import Events, Note
from framework.engine.prepare import PlanningContext, Prepared, Request, prepare
from framework.engine.source_checks import prove_source, verify_source
from framework.errors import FrameworkError, StorageError, Where
from framework.plan.render.explain import explain_json, explain_markdown
from framework.plan.render.markdown import failure_text
from framework.plan.saved import save_plan
from framework.spec.loader import find_specs

__all__ = ["Markdown", "command"]

_CHANGES = 2
_NO_PAGES = "no pages to verify: this plan reads no files"
_NOT_PROVEN = (
    "Keys: not proven; `--prove-keys` reads them, and `run` proves them before it publishes."
)
_NOT_VERIFIED = "Pages: not verified; `--verify=full` reads those of the files to adopt."


@dataclass
class Markdown:
    """The Markdown to write; `failures` hold the errors of specs that have no plan."""

    failures: list[str] = field(default_factory=list)
    plans: list[str] = field(default_factory=list)

    def noting_failures(self, one: Callable[[Path], int]) -> Callable[[Path], int]:
        """Return `one`, wrapped to record errors and raise them again."""

        def noted(path: Path) -> int:
            try:
                return one(path)
            except FrameworkError as error:
                self.failures.append(failure_text(str(path), error))
                raise

        return noted

    @contextlib.contextmanager
    def written(self, wanted: bool) -> Iterator[None]:
        """Write to stdout at the end, after a failure too, if wanted."""
        try:
            yield
        finally:
            if wanted:
                for text in (*self.failures, *self.plans):
                    sys.stdout.write(text.rstrip("\n") + "\n\n")


class PlanVerify(StrEnum):
    """The depth of verification of source files."""

    FOOTER = "footer"
    FULL = "full"


class PlanFormat(StrEnum):
    """Formats of a plan; Markdown is for the comment on a pull request."""

    TEXT = "text"
    JSON = "json"
    MARKDOWN = "markdown"


def command(
    specs: Specs = None,
    target: Target = None,
    var: Variables = None,
    prove_keys: Annotated[
        bool,
        typer.Option("--prove-keys", help="Read the key columns and prove the keys unique."),
    ] = False,
    verify: Annotated[
        PlanVerify,
        typer.Option(
            "--verify",
            help="Read footers, or also every page of the files to adopt: the whole source, once.",
        ),
    ] = PlanVerify.FOOTER,
    save: Annotated[
        Path | None,
        typer.Option("--out", metavar="FILE", help="Save the plan of one spec, for `run`."),
    ] = None,
    detailed_exitcode: Annotated[
        bool, typer.Option("--detailed-exitcode", help="Exit 2 if there are changes.")
    ] = False,
    form: Annotated[
        PlanFormat, typer.Option("--format", help="Format of the plan on stdout.")
    ] = PlanFormat.TEXT,
    log_format: LogOption = LogFormat.TEXT,
) -> int:
    """Show what run would do: stages, rows, bytes, readers.

    Changes nothing and needs no Java. With --format json several plans are one line each.
    """
    paths = find_specs(specs or [])
    if save and len(paths) > 1:
        raise usage_error("one-spec", f"--out saves the plan of one spec, not of {len(paths)}")
    variables = pairs(var, "--var")
    changes: list[bool] = []
    document = Markdown()

    def one(path: Path) -> int:
        request = Request(path=path, target=target, variables=variables)
        with tempfile.TemporaryDirectory() as scratch:
            planning = PlanningContext(tasks=in_process(), scratch=Path(scratch))
            with reporting(log_format, str(path)) as events:
                prepared = prepare(request, replace(planning, events=events))
            changes.append(prepared.plan.has_changes)
            if form is PlanFormat.TEXT:
                write_plan(out(), prepared.plan)
            with reporting(log_format, str(path)) as events:
                deeper = replace(planning, events=events)
                known = _looked_into(prepared, deeper, verify, prove_keys=prove_keys)
                if save:
                    _save(save, prepared, request, events)
        if form is PlanFormat.MARKDOWN:
            document.plans.append(explain_markdown(prepared.plan, *known))
        elif form is PlanFormat.JSON:
            _write_json(prepared, several=len(paths) > 1)
        return 0

    output = OutputOptions(
        json_result=form is PlanFormat.JSON, json_log=log_format is LogFormat.JSON
    )
    with document.written(form is PlanFormat.MARKDOWN):
        code = each_file(paths, document.noting_failures(one), output)
    return _CHANGES if code == 0 and detailed_exitcode and any(changes) else code


def _looked_into(
    prepared: Prepared, planning: PlanningContext, verify: PlanVerify, *, prove_keys: bool
) -> tuple[str, ...]:
    """Verify pages and prove keys as requested; return one sentence on each.

    A plan that reads no files has no pages, so pages are omitted.
    """
    pages = _verify(prepared, planning) if verify is PlanVerify.FULL else _NOT_VERIFIED
    keys = _prove(prepared, planning) if prove_keys else _NOT_PROVEN
    return (keys, pages) if prepared.plan.taken.files else (keys,)


def _verify(prepared: Prepared, planning: PlanningContext) -> str:
    """Read every page of a plan's files, and return the result as a sentence."""
    files = verify_source(prepared.plan, planning)
    text = f"{files:,} files can be read"
    planning.events(Note(level="info", message=f"pages verified: {text}" if files else _NO_PAGES))
    return f"Pages: verified, {text}."


def _prove(prepared: Prepared, planning: PlanningContext) -> str:
    """Prove the keys of a plan that reads files, and return the result as a sentence."""
    if prepared.plan.inventory is None or not prepared.plan.taken.files:
        text = "nothing to prove: this plan reads no files; `history` shows earlier proofs"
        planning.events(Note(level="info", message=text))
        return "Keys: nothing to prove, because this plan reads no files."
    proof: Mapping[str, object] = prove_source(prepared.plan, planning)
    text = f"{proof['rows']:,} keys are unique and not null"
    planning.events(Note(level="info", message=f"keys proven: {text}"))
    return f"Keys: proven, {text}."


def _write_json(prepared: Prepared, *, several: bool) -> None:
    text = explain_json(prepared.plan)
    sys.stdout.write((json.dumps(json.loads(text)) if several else text) + "\n")


def _save(file: Path, prepared: Prepared, request: Request, events: Events) -> None:
    text = save_plan(prepared.plan, prepared.observation.table, request.invocation)
    try:
        file.write_text(text, encoding="utf-8")
    except OSError as error:
        raise StorageError(
            "storage/failed",
            f"the plan cannot be saved: {error.strerror}",
            where=Where(file=str(file)),
        ) from error
    events(Note(level="info", message=f"saved; run it with `run-pipeline run {file}`"))
