"""`plan`: forms, saved plans, proofs, and the exit code for changes."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from tests.support.scenes import Scene, a_document, a_scene, adopt, snapshot
from tests.support.sources import a_source, ids
from tests.support.torn import tear
from tests.unit.cli.conftest import Command


def test_plan_changes_nothing(command: Command, scene: Scene) -> None:
    """Neither source nor target, whatever it is asked to show."""
    assert scene.spec.exists()
    before = snapshot(scene.folder)
    outcome = command("plan", scene.spec, "--prove-keys")
    assert outcome.code == 0
    assert "1 table to bootstrap" in outcome.out
    assert "2" not in outcome.err.split("keys proven:")[0].split("rows")[-1]
    assert snapshot(scene.folder) == before


def test_plan_needs_no_java(
    command: Command, scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Footers are read on threads of this process."""
    monkeypatch.setenv("JAVA_HOME", "/nowhere")
    monkeypatch.setenv("PATH", "/nowhere")
    assert command("plan", scene.spec).code == 0


def test_plan_json_is_one_document(command: Command, scene: Scene) -> None:
    """Also where keys are proven: what is said of that goes to stderr."""
    outcome = command("plan", scene.spec, "--format", "json", "--prove-keys")
    assert outcome.code == 0
    assert outcome.document["case"] == "bootstrap"


def test_several_plans_are_a_json_line_each(
    command: Command, scene: Scene, duplicates: Scene
) -> None:
    """In the order of the specs."""
    outcome = command("plan", scene.spec, duplicates.spec, "--format", "json")
    assert [each["case"] for each in outcome.documents] == ["bootstrap"] * 2


def test_plan_markdown_is_a_table_for_a_pull_request(command: Command, scene: Scene) -> None:
    """It starts with a heading and has the name."""
    outcome = command("plan", scene.spec, "--format", "markdown")
    assert outcome.code == 0
    assert outcome.out.startswith("#")
    assert "odd.rows" in outcome.out


def test_plan_markdown_has_the_tables_that_failed_first(
    command: Command, scene: Scene, duplicates: Scene, tmp_path: Path
) -> None:
    """With every error; stderr is not in the comment on a pull request."""
    faulty = tmp_path / "faulty.pipeline.yml"
    faulty.write_text("version: 1\ntable: {name: a}\nbootsrap: {}\n")
    specs = (scene.spec, faulty, duplicates.spec)
    outcome = command("plan", *specs, "--prove-keys", "--format", "markdown")
    assert outcome.code == 3
    heads = [line for line in outcome.out.splitlines() if line.startswith("### ")]
    assert heads == [
        f"### `{faulty}`: failed",
        f"### `{duplicates.spec}`: failed",
        "### `odd.rows`",
    ]
    assert "`spec/unknown-field`" in outcome.out
    assert "`spec/missing-field`" in outcome.out
    assert "`audit/duplicate-keys`" in outcome.out


def test_plan_markdown_of_one_table_that_failed_has_its_errors(
    command: Command, duplicates: Scene
) -> None:
    """A single spec is no other case."""
    outcome = command("plan", duplicates.spec, "--prove-keys", "--format", "markdown")
    assert outcome.code == 3
    assert outcome.out.startswith(f"### `{duplicates.spec}`: failed")
    assert "`audit/duplicate-keys`" in outcome.out


def test_plan_markdown_says_whether_keys_were_proven(command: Command, scene: Scene) -> None:
    """A reader of the comment sees neither the command nor stderr."""
    proven = command("plan", scene.spec, "--prove-keys", "--format", "markdown")
    assert re.search(
        r"^Keys: proven, \d+ keys are unique and not null\.$", proven.out, re.MULTILINE
    )
    other = command("plan", scene.spec, "--format", "markdown")
    assert "\nKeys: not proven; " in other.out
    adopt(scene)
    again = command("plan", scene.spec, "--prove-keys", "--format", "markdown")
    assert "\nKeys: nothing to prove" in again.out
    assert "\nPages: " not in again.out


def test_plan_markdown_says_whether_pages_were_verified(command: Command, scene: Scene) -> None:
    """Footers alone do not show that a file can be read."""
    other = command("plan", scene.spec, "--format", "markdown")
    assert "\nPages: not verified; " in other.out
    verified = command("plan", scene.spec, "--verify", "full", "--format", "markdown")
    assert re.search(r"^Pages: verified, \d+ files can be read\.$", verified.out, re.MULTILINE)


def test_detailed_exit_code_shows_changes(command: Command, scene: Scene) -> None:
    """2 while there is something to do, 0 after it was done."""
    assert command("plan", scene.spec, "--detailed-exitcode").code == 2
    adopt(scene)
    assert command("plan", scene.spec, "--detailed-exitcode").code == 0


def test_refused_keys_exit_with_3_and_write_nothing(command: Command, duplicates: Scene) -> None:
    """The plan is shown, then the duplicates."""
    outcome = command("plan", duplicates.spec, "--prove-keys")
    assert outcome.code == 3
    assert "[audit/duplicate-keys]" in outcome.err
    assert not duplicates.location.exists()


def test_proof_of_an_adopted_table_is_no_error(command: Command, scene: Scene) -> None:
    """There is nothing to prove, so a folder of specs can be proven in CI again and again."""
    adopt(scene)
    assert command("plan", scene.spec, "--prove-keys").code == 0


def test_saved_plan_runs_from_its_folder(command: Command, scene: Scene, tmp_path: Path) -> None:
    """And a second time, when it was already executed."""
    saved = tmp_path / "plan.json"
    assert command("plan", scene.spec, "--out", saved).code == 0
    assert command("run", "--in-process", saved).code == 0
    assert command("status", scene.location).code == 0
    assert command("run", "--in-process", saved).code == 0


def test_stale_saved_plan_exits_with_4(command: Command, scene: Scene, tmp_path: Path) -> None:
    """Nothing is done that was not shown."""
    saved = tmp_path / "plan.json"
    assert command("plan", scene.spec, "--out", saved).code == 0
    a_source(scene.source, {"p=3/new.parquet": ids(9)})
    outcome = command("run", "--in-process", saved)
    assert outcome.code == 4
    assert "[plan/stale]" in outcome.err
    assert not scene.location.exists()


@pytest.mark.parametrize("text", ["", "[]", '{"format": "other"}', "\x00"])
def test_file_that_is_no_plan_exits_with_5(command: Command, tmp_path: Path, text: str) -> None:
    """It says so, without a traceback."""
    (tmp_path / "plan.json").write_text(text)
    outcome = command("run", "--in-process", "plan.json", "--format", "json")
    assert outcome.code == 5
    assert outcome.document["error"]["condition"] == "saved-plan/not-readable"


def test_missing_plan_file_exits_with_5(command: Command) -> None:
    """Not with a fault of ours."""
    assert command("run", "--in-process", "plan.json").code == 5


def test_plan_of_several_specs_is_not_saved(
    command: Command, scene: Scene, duplicates: Scene
) -> None:
    """One file holds one plan."""
    outcome = command("plan", scene.spec, duplicates.spec, "--out", "plan.json")
    assert outcome.code == 1
    assert "[usage/one-spec]" in outcome.err


def test_plan_that_cannot_be_saved_exits_with_5(command: Command, scene: Scene) -> None:
    """The folder is not there."""
    outcome = command("plan", scene.spec, "--out", "no/folder/plan.json")
    assert outcome.code == 5
    assert "[storage/failed]" in outcome.err


def test_plan_of_a_grown_source_reports_the_new_files(command: Command, scene: Scene) -> None:
    """They are counted, and are no change that a run would make."""
    adopt(scene)
    a_source(scene.source, {"p=3/new.parquet": ids(9)})
    outcome = command("plan", scene.spec, "--detailed-exitcode")
    assert outcome.code == 0
    assert "p=3/new.parquet" in outcome.out


def test_plan_without_specs_takes_all_below(command: Command, scene: Scene) -> None:
    """A folder or no argument means all specs."""
    assert scene.spec.exists()
    assert "odd.rows" in command("plan").out
    assert "odd.rows" in command("plan", scene.folder).out


def test_plan_where_there_is_no_spec_exits_with_1(command: Command) -> None:
    """And says how to begin."""
    outcome = command("plan")
    assert outcome.code == 1
    assert "[spec/no-specs]" in outcome.err


def test_variables_and_target_reach_the_spec(
    command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`--var` beats the target, the environment names one."""
    a_source(tmp_path / "prod" / "raw", {"a.parquet": ids(1)})
    (tmp_path / "run-pipeline.yml").write_text(
        "version: 1\nvariables: {lake: /nowhere}\ntargets:\n  prod: {variables: {lake: prod}}\n"
    )
    (tmp_path / "x.pipeline.yml").write_text(
        json.dumps(
            {
                "version": 1,
                "table": {
                    "name": "a.b",
                    "location": "${var.lake}/table",
                    "type": "copy_on_write",
                    "record_key": {"columns": ["id"], "unique_within": "table"},
                },
                "bootstrap": {
                    "path": "${var.lake}/raw",
                    "layout": "none",
                    "mode": "metadata_only",
                },
            }
        )
    )
    assert command("plan").code == 1
    assert command("plan", "-t", "prod").code == 0
    assert command("plan", "--var", f"lake={tmp_path}/prod").code == 0
    monkeypatch.setenv("RUN_PIPELINE_TARGET", "prod")
    assert command("plan").code == 0


def test_unreadable_source_exits_with_5(command: Command, scene: Scene) -> None:
    """A footer that is none, named with its file."""
    (scene.source / "p=1" / "broken.parquet").write_bytes(b"PAR1 not really PAR1")
    outcome = command("plan", scene.spec, "--format", "json")
    assert outcome.code == 5
    assert "broken.parquet" in outcome.document["error"]["where"]["file"]


def test_footers_alone_are_read(command: Command, scene: Scene) -> None:
    """A plan reports the rows of a file whose data pages are missing."""
    path = scene.source / "p=1" / "a.parquet"
    rows = pq.read_metadata(path).num_rows
    data = bytearray(path.read_bytes())
    data[8:24] = bytes(16)
    facts = path.stat()
    path.write_bytes(data)
    os.utime(path, ns=(facts.st_atime_ns, facts.st_mtime_ns))
    assert rows == 2
    assert command("plan", scene.spec).code == 0


def test_plan_verify_full_reads_all_pages(command: Command, scene: Scene) -> None:
    """And says how many files it read; it changes nothing."""
    assert scene.spec.exists()
    before = snapshot(scene.folder)
    outcome = command("plan", scene.spec, "--verify=full")
    assert outcome.code == 0
    assert "pages verified: 2 files can be read" in outcome.err
    assert snapshot(scene.folder) == before
    assert "pages verified" not in command("plan", scene.spec, "--verify", "footer").err


def test_plan_verify_full_of_bad_pages_names_the_file(command: Command, scene: Scene) -> None:
    """The footer is sound, so the plan is shown; then the file, the column and the row group."""
    path = scene.source / "p=2" / "a.parquet"
    tear(path, 0, 0, "data header")
    assert command("plan", scene.spec).code == 0
    outcome = command("plan", scene.spec, "--verify=full", "--format", "markdown")
    assert outcome.code == 5
    assert "`source/corrupt-data`" in outcome.out
    assert str(path) in outcome.out
    assert "column 'id' of row group 0" in outcome.out


def test_plan_verify_full_leaves_out_what_is_skipped(command: Command, tmp_path: Path) -> None:
    """Files that are not part of the table are not read; those of each other mode are."""
    files = {f"p={n}/a.parquet": ids(n, 10 + n) for n in (1, 2, 3)}
    rules = [{"partition": "p=1", "mode": "skip"}, {"partition": "p=2", "mode": "full_record"}]
    scene = a_scene(tmp_path / "s", files, a_document(rules=rules))
    tear(scene.source / "p=1" / "a.parquet", 0, 0, "data body")
    outcome = command("plan", scene.spec, "--verify=full")
    assert outcome.code == 0
    assert "pages verified: 2 files" in outcome.err
    tear(scene.source / "p=2" / "a.parquet", 0, 0, "data body")
    assert command("plan", scene.spec, "--verify=full").code == 5


def test_plan_verify_full_of_an_adopted_table_reads_nothing(command: Command, scene: Scene) -> None:
    """The plan takes no file then."""
    adopt(scene)
    outcome = command("plan", scene.spec, "--verify=full")
    assert outcome.code == 0
    assert "no pages to verify" in outcome.err
