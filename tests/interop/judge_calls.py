"""Calls of Apache Hudi's procedures."""

from __future__ import annotations

from pathlib import Path

from framework.hudi.storage.locations import open_storage
from framework.hudi.table.properties import read_properties
from tests.interop.judge import KEEP_VERSION_6, Judge

__all__ = ["call"]


def call(
    judge: Judge, location: Path, procedure: str, **arguments: str | int
) -> list[list[object]]:
    """Return what a procedure of Apache Hudi's returns for the table."""
    properties = read_properties(open_storage(str(location)))
    assert properties is not None
    name = ".".join(filter(None, (properties.database, properties.name)))
    words = [
        f"{key} => {value}" if isinstance(value, int) else f"{key} => '{value}'"
        for key, value in {"table": name, **arguments}.items()
    ]
    statements = [
        *([f"create database if not exists {properties.database}"] if properties.database else []),
        f"drop table if exists {name}",
        f"create table {name} using hudi location '{location}'",
        f"call {procedure}({', '.join(words)})",
    ]
    rows: list[list[object]] = judge.ask("sql", statements=statements, conf=KEEP_VERSION_6)["rows"]
    return rows
