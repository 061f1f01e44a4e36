"""`run-pipeline test`: carry out the tests of specs, over rows that stand in them."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

from framework.cli.exits import gravest
from framework.cli.options import Conf, Master, Specs, Target, Variables, pairs
from framework.cli.render.errors import OutputOptions
from framework.cli.render.trials import TrialsTold
from framework.cli.spark_session import spark_session
from framework.cli.suites import Suites, load_suites

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
    voice = OutputOptions(json_result=form is TrialFormat.JSON)
    found = load_suites(specs or [], target, pairs(var, "--var"), keyword, voice)
    settings = pairs(conf, "--conf")
    told = TrialsTold(form=form.value)
    if found.suites:
        _try_all(found, told, master, settings, keep=keep)
    told.close(found.faults)
    return gravest([*found.codes, *told.codes])


def _try_all(
    found: Suites, told: TrialsTold, master: str | None, settings: dict[str, str], *, keep: bool
) -> None:
    """Try the tests of all specs on one session."""
    from framework.spark.examples.session import MASTER, session_of, start_settings

    confs = [suite.conf for suite in found.suites]
    with spark_session(master or MASTER, start_settings(confs, settings)) as spark:
        for suite in found.suites:
            own = session_of(spark, suite.conf, settings, confs)
            told.begin(str(suite.path))
            for trial in suite.trials(own, keep=keep):
                told.tell(trial)
            told.end()
