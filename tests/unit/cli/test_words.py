"""The words before parsing: where `run` may be left out."""

from __future__ import annotations

from pathlib import Path

import pytest

from framework.cli.app import option_value, with_default_command

COMMANDS = ("run", "plan")


@pytest.mark.parametrize(
    "words",
    [
        ["a.pipeline.yml"],
        ["folder/"],
        ["-t", "prod", "a.pipeline.yml"],
        ["--in-process", "plan.json"],
        ["a.pipeline.yml", "--format", "json"],
    ],
)
def test_spec_without_a_command_is_run(words: list[str]) -> None:
    """`run-pipeline SPEC` means `run-pipeline run SPEC`, options before it or not."""
    assert with_default_command(words, COMMANDS) == ["run", *words]


@pytest.mark.parametrize(
    "words",
    [[], ["plan", "a.yml"], ["pln"], ["--help"], ["-h"], ["--version"], ["--format", "json"]],
)
def test_other_words_stay_as_they_are(words: list[str]) -> None:
    """A command, a mistyped one, or options without a spec are not touched."""
    assert with_default_command(words, COMMANDS) == words


@pytest.mark.parametrize("front", [["-C", "x"], ["-Cx"]])
def test_folder_option_stays_in_front(front: list[str]) -> None:
    """`-C` belongs to the command line as a whole."""
    assert with_default_command([*front, "a.yml"], COMMANDS) == [*front, "run", "a.yml"]


def test_existing_folder_is_run_where_the_folder_option_points(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A bare word is a place when it is there, seen from `-C`."""
    (tmp_path / "below" / "specs").mkdir(parents=True)
    monkeypatch.chdir(tmp_path)
    assert with_default_command(["specs"], COMMANDS) == ["specs"]
    assert with_default_command(["-C", "below", "specs"], COMMANDS) == [
        "-C",
        "below",
        "run",
        "specs",
    ]


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["plan", "--format", "json"], "json"),
        (["plan", "--format=text", "--format=json"], "json"),
        (["plan", "--format"], None),
        (["plan"], None),
    ],
)
def test_option_value_is_that_of_the_last_occurrence(
    words: list[str], expected: str | None
) -> None:
    """As the parser takes it."""
    assert option_value(words, "--format") == expected
