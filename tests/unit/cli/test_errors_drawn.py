"""Errors on stderr and as JSON: all findings, audits with their rows, faults of ours."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from framework.cli.render.errors import OutputOptions, fail, fail_unexpected, report_interrupted
from framework.errors import EngineError, Finding, SpecError, Where
from tests.support.scenes import Scene, a_document, a_scene
from tests.support.sources import ids
from tests.unit.cli.conftest import Command


def test_findings_of_the_planner_are_all_drawn_as_frames(command: Command, tmp_path: Path) -> None:
    """A spec that does not fit its source in two ways shows both, each at its line."""
    document = a_document(key=("nokey", "nope"))
    scene = a_scene(tmp_path / "scene", {"p=1/a.parquet": ids(1)}, document)
    outcome = command("plan", scene.spec)
    assert outcome.code == 1
    assert outcome.err.count("-->") >= 2
    assert "nokey" in outcome.err
    assert "nope" in outcome.err
    marks = [line for line in outcome.err.splitlines() if set(line.strip(" |")) == {"^"}]
    assert [line.count("^") for line in marks] == [len('"nokey"'), len('"nope"')]


def test_findings_of_the_planner_are_in_the_json(command: Command, tmp_path: Path) -> None:
    """With rule, line and column."""
    document = a_document(key=("nokey", "nope"))
    scene = a_scene(tmp_path / "scene", {"p=1/a.parquet": ids(1)}, document)
    error = command("plan", scene.spec, "--format", "json").document["error"]
    assert error["exit_code"] == 1
    assert {f["rule"] for f in error["findings"]} == {error["condition"]}
    assert len({f["message"] for f in error["findings"]}) == 2
    assert all(f["file"] == str(scene.spec) and f["line"] > 1 for f in error["findings"])


def test_refused_duplicates_show_key_files_and_rows(command: Command, duplicates: Scene) -> None:
    """One line a key, rows counted from 0; exit 3."""
    outcome = command("run", "--in-process", duplicates.spec)
    assert outcome.code == 3
    assert "[audit/duplicate-keys]" in outcome.err
    (line,) = [each for each in outcome.err.splitlines() if each.startswith("  2  ")]
    assert "p=1/a.parquet row 1" in line
    assert "p=2/a.parquet row 0" in line
    assert not duplicates.location.exists()


def test_refused_nulls_show_files_and_rows(command: Command, tmp_path: Path) -> None:
    """A row without a key has no key to show."""
    scene = a_scene(tmp_path / "scene", {"p=1/a.parquet": ids(1, None)})
    outcome = command("run", "--in-process", scene.spec)
    assert outcome.code == 3
    assert "[audit/null-keys]" in outcome.err
    assert "p=1/a.parquet row 1" in outcome.err
    assert "None" not in outcome.err


def test_report_of_the_audit_is_in_the_json(command: Command, duplicates: Scene) -> None:
    """The whole of it, beside the condition."""
    outcome = command("run", "--in-process", duplicates.spec, "--format", "json")
    assert outcome.code == 3
    assert outcome.document["error"]["report"]["groups"] == 1


def test_unexpected_error_keeps_its_traceback_in_a_file(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Exit 70, and the file is named in words and in JSON."""
    assert fail_unexpected(ZeroDivisionError("oops"), OutputOptions(json_result=True)) == 70
    captured = capsys.readouterr()
    error = json.loads(captured.out)["error"]
    report = Path(error["traceback"])
    assert "ZeroDivisionError" in report.read_text()
    assert str(report) in captured.err
    assert error["exit_code"] == 70
    report.unlink()


def test_notes_of_an_error_are_shown(capsys: pytest.CaptureFixture[str]) -> None:
    """Such as the path of Spark's log."""
    error = EngineError("spark/not-started", "it did not start")
    error.add_note("Spark's log: /somewhere/spark.log")
    assert fail(error, OutputOptions(json_log=True, json_result=True)) == 5
    captured = capsys.readouterr()
    assert json.loads(captured.out)["error"]["notes"] == ["Spark's log: /somewhere/spark.log"]
    assert json.loads(captured.err)["event"] == "error"
    assert fail(error, OutputOptions()) == 5
    assert "/somewhere/spark.log" in capsys.readouterr().err


def test_control_characters_of_a_message_cannot_steer_the_terminal(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Keys and file names are foreign text."""
    fail(EngineError("source/odd", "a\x1b]0;title\x07b", remedy="c\x9bd"), OutputOptions())
    text = capsys.readouterr().err
    assert "\x1b" not in text
    assert "\x9b" not in text
    assert "a\\x1b]0;title\\x07b" in text


def test_caret_is_below_wide_characters(capsys: pytest.CaptureFixture[str]) -> None:
    """A column counts characters, a terminal cells: 表 takes two."""
    finding = Finding(
        rule="spec/odd",
        key_path="",
        where=Where(file="a.yml", line=3, column=4),
        message="odd",
        source_line="表 : x",
        length=1,
    )
    fail(SpecError((finding,)), OutputOptions())
    lines = capsys.readouterr().err.splitlines()
    assert "3 | 表 : x" in lines
    assert lines[lines.index("3 | 表 : x") + 1] == "  |     ^"


def test_interruption_is_one_line_with_its_code(capsys: pytest.CaptureFixture[str]) -> None:
    """In words by default, else as JSON."""
    assert report_interrupted("terminated", 143, ["Nothing was published."], OutputOptions()) == 143
    assert len(capsys.readouterr().err.splitlines()) == 1
    report_interrupted("interrupted", 130, [], OutputOptions(json_log=True))
    assert json.loads(capsys.readouterr().err)["exit_code"] == 130
