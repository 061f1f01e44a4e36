"""Options that several commands share, each declared once, and the values of their texts."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from framework.cli.usage import usage_error
from framework.errors import Finding, SpecError, Where
from framework.spec.sections.quantities import parse_size

__all__ = [
    "Conf",
    "Format",
    "InProcess",
    "JsonFormat",
    "Lineage",
    "LogFormat",
    "LogOption",
    "Master",
    "Place",
    "Reports",
    "Specs",
    "Target",
    "Variables",
    "pairs",
    "size_of",
]


class JsonFormat(StrEnum):
    """Text for people, or one JSON document."""

    TEXT = "text"
    JSON = "json"


class LogFormat(StrEnum):
    """The format of progress on stderr."""

    TEXT = "text"
    JSON = "json"


Specs = Annotated[
    list[Path] | None,
    typer.Argument(
        metavar="SPEC|FOLDER",
        help="Specs, or folders of *.pipeline.yml; default: all below this folder.",
    ),
]
Place = Annotated[
    str | None,
    typer.Argument(
        metavar="SPEC|LOCATION",
        help="A spec, or the folder of a table; default: all specs below this folder.",
    ),
]
Target = Annotated[
    str | None,
    typer.Option(
        "-t",
        "--target",
        metavar="NAME",
        envvar="RUN_PIPELINE_TARGET",
        help="Target of the project file.",
    ),
]
Variables = Annotated[
    list[str] | None,
    typer.Option(
        "--var",
        metavar="NAME=VALUE",
        help="Set a variable; overrides the target's. Repeatable.",
    ),
]
Format = Annotated[JsonFormat, typer.Option("--format", help="Format of the result on stdout.")]
LogOption = Annotated[
    LogFormat, typer.Option("--log-format", help="Format of progress and errors on stderr.")
]
Master = Annotated[
    str | None,
    typer.Option(
        "--master", metavar="URL", help="Spark master, e.g. local[4] or yarn; overrides the spec's."
    ),
]
Conf = Annotated[
    list[str] | None,
    typer.Option(
        "--conf", metavar="KEY=VALUE", help="Spark setting; overrides the spec's. Repeatable."
    ),
]
Reports = Annotated[
    list[str] | None,
    typer.Option(
        "--report",
        metavar="FORM[=FILE]",
        help="Write the gate's report: html, json, junit, markdown or gx. Repeatable.",
    ),
]
Lineage = Annotated[
    str | None,
    typer.Option(
        "--lineage",
        metavar="FILE|URL",
        envvar="RUN_PIPELINE_LINEAGE",
        help="Report the run to OpenLineage: to a file, one event per line, or over HTTP.",
    ),
]
InProcess = Annotated[
    bool, typer.Option("--in-process", help="Run on threads of this process, without Spark.")
]


def pairs(words: list[str] | None, option: str) -> dict[str, str]:
    """Return `KEY=VALUE` words as a mapping; the last value of a name wins.

    Raises:
        SpecError: `usage/not-a-pair`, a finding for each word without `=`.
    """
    split = [word.partition("=") for word in words or []]
    bad = [name for name, equals, _ in split if not equals or not name]
    if bad:
        raise SpecError(
            tuple(
                Finding(
                    rule="usage/not-a-pair",
                    key_path=option,
                    where=Where(),
                    message=f"{option} {name!r} is not NAME=VALUE",
                    suggestion=f"{option} {name or 'NAME'}=VALUE",
                )
                for name in bad
            )
        )
    return {name: value for name, _, value in split}


def size_of(text: str, option: str) -> int:
    """Return the bytes that an option names.

    Raises:
        SpecError: `usage/bad-value`; it is no size, or 0.
    """
    try:
        found = parse_size(int(text) if text.isascii() and text.isdigit() else text)
    except ValueError as error:
        raise usage_error(
            "bad-value", f"{option} {text!r} is not a size", "such as 256MB"
        ) from error
    if not found:
        raise usage_error("bad-value", f"{option} must not be 0", "such as 256MB")
    return found
