"""What `status --hudi-options` and `--ddl` print, as a Hudi job takes it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from framework.engine.inspect.hudi_writer_options import OptionsForm, hudi_options, table_ddl
from framework.hudi.storage.locations import open_storage
from framework.hudi.table.properties import read_properties
from tests.interop.judge import KEEP_VERSION_6, Judge

__all__ = ["call_procedure", "printed_options", "run_sql"]


def printed_options(location: Path) -> Mapping[str, str]:
    """Return the options as a properties file says them."""
    lines = hudi_options(str(location), OptionsForm.PROPERTIES).splitlines()
    pairs = (line.partition("=") for line in lines if line and not line.startswith("#"))
    return {key: value for key, _, value in pairs}


def run_sql(judge: Judge, location: Path, changes: list[str]) -> None:
    """Declare the table, change it under the printed settings, and forget it again."""
    declared = table_ddl(str(location)).strip().rstrip(";")
    table = declared.split()[2]
    database = table.split(".")[0]
    statements = [
        f"CREATE DATABASE IF NOT EXISTS {database}",
        f"DROP TABLE IF EXISTS {table}",
        declared,
        *(change.format(table=table) for change in changes),
        f"DROP TABLE {table}",
    ]
    judge.ask("sql", statements=statements, conf=dict(printed_options(location)))


def call_procedure(
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
