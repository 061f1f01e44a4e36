"""`run-pipeline test`: carry out the tests of specs, over rows that stand in them."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

from framework.cli.exits import gravest
from framework.cli.lazily import attribute
from framework.cli.options import Conf, Master, Specs, Target, Variables, pairs
from framework.cli.render.errors import Voice
from framework.cli.render.trials import TrialsTold
from framework.cli.suites import load_suites

__all__ = ["command"]


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
    """Carry out the tests of specs: their pipeline, over the rows that are written there.

    Tables and sources of the specs are not touched. Exit 0 when all tests passed, 3 when one has
    another result than expected, 1 when one is at fault itself.
    """
    voice = Voice(json_result=form is TrialFormat.JSON)
    found = load_suites(specs or [], target, pairs(var, "--var"), keyword, voice)
    settings = pairs(conf, "--conf")
    told = TrialsTold(form=form.value)
    if found.suites:
        session = attribute("framework.cli.spark_tasks", "spark_session")
        quick = "framework.spark.examples.session"
        confs = [suite.conf for suite in found.suites]
        start = attribute(quick, "start_settings")(confs, settings)
        with session(master or attribute(quick, "MASTER"), start) as spark:
            for suite in found.suites:
                own = attribute(quick, "session_of")(spark, suite.conf, settings, confs)
                told.begin(str(suite.path))
                for trial in suite.trials(own, keep=keep):
                    told.tell(trial)
                told.end()
    told.close(found.faults)
    return gravest([*found.codes, *told.codes])
