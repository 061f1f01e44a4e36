"""`run-pipeline test`: runs the tests of specs, over the rows in them."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from framework.cli.exits import gravest, raise_if_lost
from framework.cli.options import Conf, Master, Specs, Target, Variables, pairs
from framework.cli.render.console import clean, err, write
from framework.cli.render.errors import OutputOptions, fail
from framework.cli.render.spec_tests import SpecTestReport
from framework.cli.spark_session import spark_session
from framework.engine.prepare import Request, load
from framework.engine.spec_tests.rows import ReadySpecTest, made_ready
from framework.errors import FrameworkError, PlanError
from framework.plan.refusals import Fault, refuse
from framework.plan.spec_tests.spec_test import spec_tests_of
from framework.plan.spec_tests.stand_in import plain_conf
from framework.spec.loader import find_specs

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from framework.engine.spec_tests.result import SpecTestResult
    from framework.spec.sections.pipeline_spec import PipelineSpec

__all__ = ["LoadedSpecTests", "SpecTests", "command", "load_spec_tests"]


@dataclass(frozen=True, slots=True, kw_only=True)
class SpecTests:
    """The chosen tests of one spec.

    Attributes:
        path: the spec's file, as typed.
        spec: the spec.
        tests: at least one.
        conf: the spec's Spark settings, except secret ones.
    """

    path: Path
    spec: PipelineSpec
    tests: tuple[ReadySpecTest, ...]
    conf: Mapping[str, str]

    def results(self, spark: SparkSession, *, keep: bool) -> Iterator[SpecTestResult]:
        """Yield the result of each test, run in a new folder that is deleted unless `keep`."""
        from framework.spark.spec_tests.run_test import run_spec_test

        for test in self.tests:
            raise_if_lost()
            folder = tempfile.mkdtemp(prefix="run-pipeline-test-")
            try:
                result = run_spec_test(spark, self.spec, test, Path(folder).resolve())
            finally:
                if not keep:
                    shutil.rmtree(folder, ignore_errors=True)
            yield replace(result, folder=folder) if keep else result


@dataclass(slots=True, kw_only=True)
class LoadedSpecTests:
    """The tests to run.

    Attributes:
        specs: one for each spec with tests.
        faults: specs whose tests cannot be run, with the reason.
    """

    specs: list[SpecTests] = field(default_factory=list)
    faults: dict[Path, FrameworkError] = field(default_factory=dict)

    @property
    def codes(self) -> list[int]:
        """Exit codes of the faults."""
        return [error.exit_code for error in self.faults.values()]


def load_spec_tests(
    paths: Sequence[Path],
    target: str | None,
    variables: Mapping[str, str],
    keyword: str | None,
    output: OutputOptions,
) -> LoadedSpecTests:
    """Return the tests of all specs whose names contain the keyword, ignoring case.

    A fault of one of several specs is printed and does not stop the others; the fault of a single
    one is raised. A spec without tests is reported.

    Raises:
        PlanError: `tests/none`; there is nothing to test.
    """
    files, found, others = find_specs(paths), LoadedSpecTests(), 0
    for path in files:
        try:
            spec = load(Request(path=path, target=target, variables=variables))
            tests = _ready(spec, keyword)
        except FrameworkError as error:
            if len(files) == 1:
                raise
            fail(error, output)
            found.faults[path] = error
            continue
        if tests:
            conf = plain_conf(spec)
            found.specs.append(SpecTests(path=path, spec=spec, tests=tests, conf=conf))
        elif spec.tests:
            others += 1
        else:
            write(err(), f"{clean(path)}: no tests")
    if not found.specs and not found.faults:
        raise _nothing(keyword if others else None)
    return found


def _ready(spec: PipelineSpec, keyword: str | None) -> tuple[ReadySpecTest, ...]:
    """Return the chosen tests with typed rows.

    Raises:
        PlanError: every fault in the rows, as of `made_ready`.
    """
    faults: list[Fault] = []
    chosen = [e for e in spec_tests_of(spec) if (keyword or "").lower() in e.name.lower()]
    ready = tuple(made_ready(each, faults) for each in chosen)
    if faults:
        refuse(faults, spec.positions)
    return ready


def _nothing(keyword: str | None) -> PlanError:
    """Return the error for no tests."""
    if keyword is not None:
        message, remedy = f"no test has '{keyword}' in its name", "Omit -k to run all tests."
    else:
        message = "there is nothing to test"
        remedy = "Add a section `tests` to a spec: docs/guide/testing.md shows one."
    return PlanError("tests/none", message, remedy=remedy)


class SpecTestFormat(StrEnum):
    """Formats of results: for people, and for the tools that collect them."""

    TEXT = "text"
    JSON = "json"
    JUNIT = "junit"


def command(
    specs: Specs = None,
    keyword: Annotated[
        str | None,
        typer.Option("-k", metavar="TEXT", help="Only tests whose name contains this text."),
    ] = None,
    keep: Annotated[
        bool, typer.Option("--keep", help="Keep the files of each test, and print their folder.")
    ] = False,
    target: Target = None,
    var: Variables = None,
    master: Master = None,
    conf: Conf = None,
    form: Annotated[
        SpecTestFormat, typer.Option("--format", help="Format of the results on stdout.")
    ] = SpecTestFormat.TEXT,
) -> int:
    """Run the tests of specs: their pipeline, over the rows in the section `tests`.

    Tables and sources of the specs are not touched. Exit 0 if all tests pass, 3 if one has another
    result than expected, 1 if one is faulty itself.
    """
    output = OutputOptions(json_result=form is SpecTestFormat.JSON)
    found = load_spec_tests(specs or [], target, pairs(var, "--var"), keyword, output)
    settings = pairs(conf, "--conf")
    report = SpecTestReport(form=form.value)
    if found.specs:
        _try_all(found, report, master, settings, keep=keep)
    report.close(found.faults)
    return gravest([*found.codes, *report.codes])


def _try_all(
    found: LoadedSpecTests,
    report: SpecTestReport,
    master: str | None,
    settings: dict[str, str],
    *,
    keep: bool,
) -> None:
    """Run the tests of all specs on one Spark driver."""
    from framework.spark.spec_tests.run_test import MASTER, session_of, start_settings

    confs = [each.conf for each in found.specs]
    with spark_session(master or MASTER, start_settings(confs, settings)) as spark:
        for each in found.specs:
            own = session_of(spark, each.conf, settings, confs)
            report.begin(str(each.path))
            for result in each.results(own, keep=keep):
                report.report(result)
            report.end()
