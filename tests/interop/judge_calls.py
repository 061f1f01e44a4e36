"""Calls of Apache Hudi's procedures."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from framework.hudi.storage.locations import open_storage
from framework.hudi.table.properties import read_properties
from tests.interop.judge import KEEP_VERSION_6, Judge
from tests.interop.printed import printed_options

__all__ = ["call", "call_printed", "declare"]


def call(
    judge: Judge, location: Path, procedure: str, **arguments: str | int
) -> list[list[object]]:
    """Return what a procedure of Apache Hudi's returns for the table."""
    return _called(judge, location, procedure, arguments, KEEP_VERSION_6)


def call_printed(
    judge: Judge, location: Path, procedure: str, **arguments: str | int
) -> list[list[object]]:
    """Return the same under the options that `status` prints.

    Without them release 0.15.0 writes lists that its own next compaction reads as null.
    """
    conf = {**KEEP_VERSION_6, **printed_options(location)}
    return _called(judge, location, procedure, arguments, conf)


def declare(location: Path) -> tuple[str, list[str]]:
    """Return the table's name, and the statements after which procedures know it by that name."""
    properties = read_properties(open_storage(str(location)))
    assert properties is not None
    name = ".".join(filter(None, (properties.database, properties.name)))
    return name, [
        *([f"create database if not exists {properties.database}"] if properties.database else []),
        f"drop table if exists {name}",
        f"create table {name} using hudi location '{location}'",
    ]


def _called(
    judge: Judge,
    location: Path,
    procedure: str,
    arguments: Mapping[str, str | int],
    conf: Mapping[str, str],
) -> list[list[object]]:
    name, statements = declare(location)
    words = [
        f"{key} => {value}" if isinstance(value, int) else f"{key} => '{value}'"
        for key, value in {"table": name, **arguments}.items()
    ]
    statements.append(f"call {procedure}({', '.join(words)})")
    rows: list[list[object]] = judge.ask("sql", statements=statements, conf=dict(conf))["rows"]
    return rows
