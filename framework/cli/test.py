"""`run-pipeline test`: run the tests of specs, over rows that stand in them."""

from __future__ import annotations

import shutil
import tempfile
from dataclasses import dataclass, field, replace
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from framework.cli.exits import gravest
from framework.cli.interrupts import raise_if_lost
from framework.cli.options import Conf, Master, Specs, Target, Variables, pairs
from framework.cli.render.console import clean, err, write
from framework.cli.render.errors import OutputOptions, fail
from framework.cli.render.trials import SpecTestReport
from framework.cli.spark_session import spark_session
from framework.engine.examples.ready import made_ready
from framework.engine.prepare import Request, load
from framework.errors import FrameworkError, PlanError
from framework.plan.examples.example import examples_of
from framework.plan.examples.stand_in import plain_conf
from framework.plan.faults import refuse
from framework.spec.loader import find_specs

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from pyspark.sql import SparkSession

    from framework.engine.examples.ready import ReadyExample
    from framework.engine.examples.trial import Trial
    from framework.plan.faults import Fault
    from framework.spec.sections.pipeline_spec import PipelineSpec

__all__ = ["Suite", "Suites", "command", "load_suites"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Suite:
    """The chosen tests of one spec.

    Attributes:
        path: the spec's file, as it was typed.
        spec: the spec.
        tests: at least one.
        conf: the spec's Spark settings, but for secret ones.
    """

    path: Path
    spec: PipelineSpec
    tests: tuple[ReadyExample, ...]
    conf: Mapping[str, str]

    def trials(self, spark: SparkSession, *, keep: bool) -> Iterator[Trial]:
        """Yield the result of each test, each in a new folder, which goes unless it is kept."""
        from framework.spark.examples.example_run import try_example

        for test in self.tests:
            raise_if_lost()
            folder = tempfile.mkdtemp(prefix="run-pipeline-test-")
            try:
                trial = try_example(spark, self.spec, test, Path(folder).resolve())
            finally:
                if not keep:
                    shutil.rmtree(folder, ignore_errors=True)
            yield replace(trial, folder=folder) if keep else trial


@dataclass(slots=True, kw_only=True)
class Suites:
    """What there is to try.

    Attributes:
        suites: one for each spec with tests.
        faults: specs that cannot be tried, with the reason.
    """

    suites: list[Suite] = field(default_factory=list)
    faults: dict[Path, FrameworkError] = field(default_factory=dict)

    @property
    def codes(self) -> list[int]:
        """Exit codes of the faults."""
        return [error.exit_code for error in self.faults.values()]


def load_suites(
    paths: Sequence[Path],
    target: str | None,
    variables: Mapping[str, str],
    keyword: str | None,
    voice: OutputOptions,
) -> Suites:
    """Return the tests of all specs whose names have the keyword in them, whatever the case.

    A fault of one of several specs is drawn and does not keep the others from their turn; the fault
    of a single one is raised. A spec without tests is reported.

    Raises:
        PlanError: `tests/none`; there is nothing to try.
    """
    files, found, others = find_specs(paths), Suites(), 0
    for path in files:
        try:
            spec = load(Request(path=path, target=target, variables=variables))
            tests = _ready(spec, keyword)
        except FrameworkError as error:
            if len(files) == 1:
                raise
            fail(error, voice)
            found.faults[path] = error
            continue
        if tests:
            conf = plain_conf(spec)
            found.suites.append(Suite(path=path, spec=spec, tests=tests, conf=conf))
        elif spec.tests:
            others += 1
        else:
            write(err(), f"{clean(path)}: no tests")
    if not found.suites and not found.faults:
        raise _nothing(keyword if others else None)
    return found


def _ready(spec: PipelineSpec, keyword: str | None) -> tuple[ReadyExample, ...]:
    """Return the chosen tests with their rows typed.

    Raises:
        PlanError: every fault in the rows, as of `made_ready`.
    """
    faults: list[Fault] = []
    chosen = [e for e in examples_of(spec) if (keyword or "").lower() in e.name.lower()]
    ready = tuple(made_ready(each, faults) for each in chosen)
    if faults:
        refuse(faults, spec.positions)
    return ready


def _nothing(keyword: str | None) -> PlanError:
    """Return the error for nothing to try."""
    if keyword is not None:
        message, remedy = f"no test has '{keyword}' in its name", "Leave -k out to try all tests."
    else:
        message = "there is nothing to test"
        remedy = "Add a section `tests` to a spec: docs/guide/testing.md shows one."
    return PlanError("tests/none", message, remedy=remedy)


class TrialFormat(StrEnum):
    """Forms of results: for people, and for the tools that gather them."""

    TEXT = "text"
    JSON = "json"
    JUNIT = "junit"


def command(
    specs: Specs = None,
    keyword: Annotated[
        str | None,
        typer.Option("-k", metavar="TEXT", help="Only tests whose name has this text in it."),
    ] = None,
    keep: Annotated[
        bool, typer.Option("--keep", help="Keep the files of each test, and say where.")
    ] = False,
    target: Target = None,
    var: Variables = None,
    master: Master = None,
    conf: Conf = None,
    form: Annotated[
        TrialFormat, typer.Option("--format", help="Form of the results on stdout.")
    ] = TrialFormat.TEXT,
) -> int:
    """Run the tests of specs: their pipeline, over the rows that are written there.

    Tables and sources of the specs are not touched. Exit 0 when all tests passed, 3 when one has
    another result than expected, 1 when one is at fault itself.
    """
    voice = OutputOptions(json_result=form is TrialFormat.JSON)
    found = load_suites(specs or [], target, pairs(var, "--var"), keyword, voice)
    settings = pairs(conf, "--conf")
    report = SpecTestReport(form=form.value)
    if found.suites:
        _try_all(found, report, master, settings, keep=keep)
    report.close(found.faults)
    return gravest([*found.codes, *report.codes])


def _try_all(
    found: Suites,
    report: SpecTestReport,
    master: str | None,
    settings: dict[str, str],
    *,
    keep: bool,
) -> None:
    """Try the tests of all specs on one session."""
    from framework.spark.examples.session import MASTER, session_of, start_settings

    confs = [suite.conf for suite in found.suites]
    with spark_session(master or MASTER, start_settings(confs, settings)) as spark:
        for suite in found.suites:
            own = session_of(spark, suite.conf, settings, confs)
            report.begin(str(suite.path))
            for trial in suite.trials(own, keep=keep):
                report.report(trial)
            report.end()
