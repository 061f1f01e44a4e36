"""`run-pipeline validate`: every fault of every spec at once, without Spark and without data.

It finishes in under half a second, so the code that prints faults is loaded only if there are any.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from framework.cli.options import Specs, Target, Variables, pairs
from framework.errors import Finding, SpecError
from framework.spec.loader import find_specs, load_spec
from framework.spec.rules.semantics import shared_tables

if TYPE_CHECKING:
    from framework.spec.sections.pipeline_spec import PipelineSpec

__all__ = ["command"]


class ValidateFormat(StrEnum):
    """Formats of findings: for people, and for the tools that show them in a pull request."""

    TEXT = "text"
    JSON = "json"
    GITHUB = "github"
    SARIF = "sarif"
    JUNIT = "junit"


def command(
    specs: Specs = None,
    target: Target = None,
    var: Variables = None,
    form: Annotated[
        ValidateFormat, typer.Option("--format", help="Format of the findings on stdout.")
    ] = ValidateFormat.TEXT,
) -> int:
    """Check specs: structure, names, types, variables. Starts no Spark and reads no data.

    Exit 0 if there are no errors; warnings do not count.
    """
    findings, paths = _check(specs, target, pairs(var, "--var"))
    bad = any(each.severity == "error" for each in findings)
    if form is ValidateFormat.TEXT:
        _say(findings, len(paths), bad=bad)
    else:
        from framework.cli.render.findings import RENDERERS

        sys.stdout.write(RENDERERS[form.value](findings, paths))
    return 1 if bad else 0


def _check(
    specs: Sequence[Path] | None, target: str | None, variables: dict[str, str]
) -> tuple[list[Finding], Sequence[Path]]:
    """Return all findings and the checked specs; a path without a spec is a finding too."""
    try:
        paths = find_specs(specs or [])
    except SpecError as error:
        return list(error.findings), ()
    found: list[Finding] = []
    sound: list[PipelineSpec] = []
    for path in paths:
        try:
            sound.append(load_spec(path, target=target, variables=variables))
        except SpecError as error:
            found.extend(error.findings)
        else:
            found.extend(sound[-1].warnings)
    found.extend(shared_tables(sound))
    return list(dict.fromkeys(found)), paths  # each spec repeats the faults of the project file


def _say(findings: list[Finding], specs: int, *, bad: bool) -> None:
    if findings:
        from framework.cli.render.console import err
        from framework.cli.render.frames import write_findings

        write_findings(err(), findings)
    if not bad:
        sys.stdout.write(f"{specs} spec{'s' * (specs != 1)} valid\n")
