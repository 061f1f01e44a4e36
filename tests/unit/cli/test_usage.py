"""Invalid command lines: exit 1, and the nearest valid spelling."""

from __future__ import annotations

from pathlib import Path

import pytest

from framework.cli.app import words_below
from framework.cli.commands import COMMANDS, GROUPS
from framework.cli.exits import EXIT_CODES
from tests.unit.cli.conftest import Command


@pytest.mark.parametrize(
    ("words", "rule", "hint"),
    [
        (["pln"], "usage/unknown-command", "plan"),
        (["plan", "--otu", "x"], "usage/unknown-option", "--out"),
        (["plan", "--format", "jsn"], "usage/bad-value", "json"),
        (["resume"], "usage/missing-argument", "resume --help"),
        (["quarantine", "shw"], "usage/unknown-command", "run-pipeline quarantine show"),
        (["quarantine", "everything"], "usage/unknown-command", "ls, show, release, drop"),
        (["quarantin"], "usage/unknown-command", "run-pipeline quarantine"),
        (["quarantine", "show"], "usage/missing-argument", "quarantine show --help"),
        (["quarantine", "show", "t", "--limti", "1"], "usage/unknown-option", "--limit"),
        (["quarantine", "drop", "t"], "usage/one-or-all", "--all"),
        (["quarantine", "drop", "t", "--all", "--instant", "1"], "usage/one-or-all", "--all"),
        (["quarantine", "release", "t"], "usage/needs-spec", "spec"),
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
    outcome = command(*words)
    assert outcome.code == 1
    assert outcome.out == ""
    assert f"[{rule}]" in outcome.err
    assert hint is None or hint in outcome.err


def test_wrong_usage_is_json_too_where_that_was_asked(command: Command) -> None:
    """A tool that reads stdout finds the reason there."""
    outcome = command("status", "a", "b", "--format", "json")
    assert outcome.code == 1
    assert outcome.document["error"]["condition"] == "usage/not-understood"


def test_command_line_without_words_shows_its_help(command: Command) -> None:
    """It is a usage error, so it exits with 1 and writes to stderr."""
    outcome = command()
    assert (outcome.code, outcome.out) == (1, "")
    assert all(name in outcome.err for name in words_below(""))


@pytest.mark.parametrize(
    "words", [["--help"], ["-h"], *([*name.split(), "--help"] for name in (*COMMANDS, *GROUPS))]
)
def test_help_shows_every_exit_code(command: Command, words: list[str]) -> None:
    """Compactly: no line of the table is broken, none is followed by an empty one."""
    outcome = command(*words)
    assert outcome.code == 0
    lines = [line.strip() for line in outcome.out.splitlines()]
    start = lines.index("Exit codes:") + 1
    table = lines[start : start + len(EXIT_CODES)]
    assert table == [f"{code}  {meaning}" for code, meaning in EXIT_CODES.items()]


@pytest.mark.parametrize("group", GROUPS)
def test_group_without_a_command_shows_its_help(command: Command, group: str) -> None:
    """As the command line does without words: exit 1, on stderr, every command with its words."""
    outcome = command(group)
    assert (outcome.code, outcome.out) == (1, "")
    assert all(summary in outcome.err for summary in words_below(f"{group} ").values())


def test_file_named_as_a_command_of_a_group_is_no_default_run(
    command: Command, tmp_path: Path
) -> None:
    """The first word decides, whatever the folder contains."""
    (tmp_path / "quarantine").mkdir()
    outcome = command("quarantine", "ls", tmp_path)
    assert (outcome.code, outcome.out) == (0, "nothing quarantined\n")


def test_version_is_shown(command: Command) -> None:
    """One line on stdout."""
    outcome = command("--version")
    assert outcome.code == 0
    assert outcome.out.startswith("run-pipeline ")


def test_missing_file_names_its_neighbour(command: Command, tmp_path: Path) -> None:
    """A similar name is suggested."""
    (tmp_path / "flights.pipeline.yml").write_text("version: 1\n")
    outcome = command("flihgts.pipeline.yml")
    assert outcome.code == 1
    assert "[spec/file-not-found]" in outcome.err
    assert "flights.pipeline.yml" in outcome.err
