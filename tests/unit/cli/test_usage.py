"""Command lines that cannot be carried out: exit 1, and the nearest right spelling."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from framework.cli.app import COMMANDS
from framework.cli.exits import EXIT_CODES

if TYPE_CHECKING:
    from pathlib import Path

    from tests.unit.cli.conftest import Command


@pytest.mark.parametrize(
    ("words", "rule", "hint"),
    [
        (["pln"], "usage/unknown-command", "plan"),
        (["plan", "--otu", "x"], "usage/unknown-option", "--out"),
        (["plan", "--format", "jsn"], "usage/bad-value", "json"),
        (["resume"], "usage/missing-argument", "resume --help"),
        (["status", "a", "b"], "usage/not-understood", "status --help"),
        (["-C", "nowhere", "plan"], "usage/folder", None),
        (["run", "--var", "x", "a.pipeline.yml"], "usage/not-a-pair", "--var x=VALUE"),
        (["run", "--conf", "=1", "a.pipeline.yml"], "usage/not-a-pair", "--conf NAME=VALUE"),
        (["run", "plan.json", "-t", "prod"], "usage/saved-plan", None),
    ],
)
def test_wrong_usage_exits_with_1_and_a_hint(
    command: Command, words: list[str], rule: str, hint: str | None
) -> None:
    """The library's own 2 would mean "there are changes"."""
    told = command(*words)
    assert told.code == 1
    assert told.out == ""
    assert f"[{rule}]" in told.err
    assert hint is None or hint in told.err


def test_wrong_usage_is_json_too_where_that_was_asked(command: Command) -> None:
    """A tool that reads stdout finds the reason there."""
    told = command("status", "a", "b", "--format", "json")
    assert told.code == 1
    assert told.document["error"]["condition"] == "usage/not-understood"


def test_command_line_without_words_shows_its_help(command: Command) -> None:
    """It is a usage error, so it exits with 1 and writes to stderr."""
    told = command()
    assert (told.code, told.out) == (1, "")
    assert all(name in told.err for name in COMMANDS)


@pytest.mark.parametrize("words", [["--help"], ["-h"], *([name, "--help"] for name in COMMANDS)])
def test_help_shows_every_exit_code(command: Command, words: list[str]) -> None:
    """Compactly: no line of the table is broken, none is followed by an empty one."""
    told = command(*words)
    assert told.code == 0
    lines = [line.strip() for line in told.out.splitlines()]
    start = lines.index("Exit codes:") + 1
    table = lines[start : start + len(EXIT_CODES)]
    assert table == [f"{code}  {meaning}" for code, meaning in EXIT_CODES.items()]


def test_version_is_shown(command: Command) -> None:
    """One line on stdout."""
    told = command("--version")
    assert told.code == 0
    assert told.out.startswith("run-pipeline ")


def test_missing_file_names_its_neighbour(command: Command, tmp_path: Path) -> None:
    """A name that is nearly right is told."""
    (tmp_path / "flights.pipeline.yml").write_text("version: 1\n")
    told = command("flihgts.pipeline.yml")
    assert told.code == 1
    assert "[spec/file-not-found]" in told.err
    assert "flights.pipeline.yml" in told.err
