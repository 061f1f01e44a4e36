"""What `status --hudi-options` and `--ddl` print, as a Hudi job takes it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from framework.engine.inspect.hudi_writer_options import OptionsForm, hudi_options, table_ddl
from tests.interop.judge import Judge

__all__ = ["printed_options", "run_sql"]


def printed_options(location: Path | str) -> Mapping[str, str]:
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
