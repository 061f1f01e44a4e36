"""The guide to the commands names every command and option, and no other."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import typer

from framework.cli.commands import COMMANDS, GROUPS
from framework.cli.exits import EXIT_CODES

GUIDE = (Path(__file__).parents[3] / "docs" / "guide" / "commands.md").read_text("utf-8")
OPTION = re.compile(r"`(--?[A-Za-z][a-z-]*)")


def section(name: str) -> str:
    """Return the guide's section of a command."""
    found = re.search(rf"^## {name}\n(.*?)(?=^## |\Z)", GUIDE, re.DOTALL | re.MULTILINE)
    assert found, f"docs/guide/commands.md has no section {name}"
    return found[1]


def parameters(name: str) -> list[Any]:
    """Return the parameters of a command, as the command line has them."""
    app = typer.Typer(add_completion=False)
    app.command()(COMMANDS[name].load())
    return list(typer.main.get_command(app).params)


@pytest.mark.parametrize("name", COMMANDS)
def test_command_is_documented_with_all_its_options(name: str) -> None:
    """Each in the table of its command."""
    rows = [line for line in section(name).splitlines() if line.startswith("| `-")]
    documented = {option for row in rows for option in OPTION.findall(row.split("|")[1])}
    options = {o for p in parameters(name) if p.param_type_name == "option" for o in p.opts}
    assert documented == options


@pytest.mark.parametrize("name", COMMANDS)
def test_every_option_has_help(name: str) -> None:
    """The command, its options and its arguments explain themselves."""
    command = COMMANDS[name].load()
    assert command.__doc__
    assert all(p.help for p in parameters(name))


def test_guide_describes_no_command_that_is_not_there() -> None:
    """Every section named by one or two words in small letters is a command, or a group."""
    sections = set(re.findall(r"^## ([a-z-]+(?: [a-z-]+)?)$", GUIDE, re.MULTILINE))
    assert sections == {*COMMANDS, *GROUPS}


def test_guide_has_the_table_of_exit_codes() -> None:
    """Word for word."""
    table = re.findall(r"^\| (\d+) \| (.*) \|$", GUIDE, re.MULTILINE)
    assert {int(code): meaning for code, meaning in table} == EXIT_CODES
