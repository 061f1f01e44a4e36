"""`run` and `resume`: results, several specs, recovery, progress, signals."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from framework.engine.run.lifecycle import Interruption, interruption
from tests.support.commands import WITH_SIGNALS, run_pipeline
from tests.support.meddling import WRITING, Meddling
from tests.support.scenes import Scene, a_scene, adopt, snapshot
from tests.support.sources import ids
from tests.unit.cli.conftest import Command

pytestmark = pytest.mark.long

REPOSITORY = Path(__file__).parents[3]


def test_run_publishes_and_prints_the_instant(command: Command, scene: Scene) -> None:
    """On stdout; progress is on stderr."""
    outcome = command("run", "--in-process", scene.spec)
    assert outcome.code == 0
    assert "00000000000001" in outcome.out
    assert "4 rows" in outcome.out
    assert "commit" in outcome.err
    assert "commit" not in outcome.out


def test_run_without_the_word_is_run(command: Command, scene: Scene) -> None:
    """`run-pipeline SPEC` means `run-pipeline run SPEC`."""
    assert command(scene.spec, "--in-process").code == 0
    assert command("status", scene.spec).code == 0


def test_run_again_does_nothing(command: Command, scene: Scene) -> None:
    """Up to date is no error, and not a byte is written."""
    assert command("run", "--in-process", scene.spec).code == 0
    before = snapshot(scene.location)
    outcome = command("run", "--in-process", scene.spec, "--format", "json")
    assert outcome.code == 0
    assert outcome.document["case"] == "up_to_date"
    assert outcome.document["instant"] is None
    assert snapshot(scene.location) == before


def test_run_json_holds_the_proof(command: Command, scene: Scene) -> None:
    """One line, with the spec that it is about."""
    outcome = command("run", "--in-process", scene.spec, "--format", "json")
    (result,) = outcome.documents
    assert result["spec"] == str(scene.spec)
    assert (result["files"], result["rows"], result["instant"]) == (2, 4, "00000000000001")
    assert result["proof"]["unique"] is True


def test_run_report_and_history_agree_on_how_long_it_took(
    command: Command, scene: Scene, tmp_path: Path
) -> None:
    """One number, with the reading of the source in it: in the commit, and wherever it is shown."""
    report, junit = tmp_path / "report.json", tmp_path / "report.xml"
    outcome = command(
        *("run", "--in-process", scene.spec, "--log-format", "json"),
        *("--report", f"json={report}", "--report", f"junit={junit}"),
    )
    (published,) = [e for e in outcome.log if e["event"] == "published"]
    seconds = published["seconds"]
    document = json.loads(report.read_text())
    stages = [e["seconds"] for e in outcome.log if e["event"] == "stage_finished"]
    assert document["seconds"] == seconds
    assert len(document["timings"]) == len(stages)
    assert seconds >= sum(stages[:-1]) - 0.1
    assert f'time="{seconds:.3f}"' in junit.read_text()
    assert f"in {seconds:.1f} s" in outcome.out
    shown = command("history", scene.spec)
    assert f"{seconds:.1f} s" in shown.out
    (instant,) = command("history", scene.spec, "--format", "json").document["instants"]
    assert instant["audit"]["seconds"] == seconds


def test_log_for_machines_is_json_lines(command: Command, scene: Scene) -> None:
    """Stages begin and end in pairs, each line with time and spec."""
    outcome = command("run", "--in-process", scene.spec, "--log-format", "json")
    assert outcome.code == 0
    begun = [e["stage"] for e in outcome.log if e["event"] == "stage_started"]
    ended = [e["stage"] for e in outcome.log if e["event"] == "stage_finished"]
    assert begun == ended == ["source", "begin", "skeletons", "audit", "index", "commit"]
    assert {e["spec"] for e in outcome.log} == {str(scene.spec)}
    assert all(e["time"].endswith("+00:00") for e in outcome.log)
    rows = [
        e["rows"] for e in outcome.log if e["event"] == "progress" and e["stage"] == "skeletons"
    ]
    assert sum(rows) == 4


def test_error_in_a_log_for_machines_is_json_too(command: Command, duplicates: Scene) -> None:
    """Not a line of stderr is prose."""
    outcome = command("run", "--in-process", duplicates.spec, "--log-format", "json")
    assert outcome.code == 3
    assert outcome.log[-1]["event"] == "error"
    assert outcome.log[-1]["condition"] == "audit/duplicate-keys"


def test_several_specs_run_on_and_end_with_the_gravest(
    command: Command, scene: Scene, duplicates: Scene, tmp_path: Path
) -> None:
    """A refusal of one does not keep another from its turn."""
    gone = a_scene(tmp_path / "gone", {"p=1/a.parquet": ids(1)})
    assert gone.spec.exists()
    (gone.source / "p=1" / "a.parquet").write_bytes(b"no longer Parquet")
    outcome = command("run", "--in-process", duplicates.spec, gone.spec, scene.spec)
    assert outcome.code == 5
    assert scene.location.exists()
    assert not duplicates.location.exists()
    assert "exit 3" in outcome.err
    assert "exit 5" in outcome.err


def test_resume_without_a_run_exits_with_1(command: Command, scene: Scene) -> None:
    """There is nothing to resume."""
    outcome = command("resume", "--in-process", scene.spec, "--format", "json")
    assert outcome.code == 1
    assert outcome.document["error"]["condition"] == "resume/nothing-to-resume"


def interrupt() -> None:
    """What Ctrl-C does."""
    raise KeyboardInterrupt


def interrupted(scene: Scene) -> None:
    """Run until the files are written, then stop as Ctrl-C does."""
    with pytest.raises(KeyboardInterrupt):
        adopt(scene, tasks=Meddling(after=WRITING, act=interrupt))


def test_resume_continues_with_written_files(command: Command, scene: Scene) -> None:
    """The files of the interrupted run are used."""
    interrupted(scene)
    outcome = command("resume", "--in-process", scene.spec)
    assert outcome.code == 0
    assert "resumes with 2 files" in outcome.err
    assert command("status", scene.spec).code == 0


def test_fresh_run_starts_again(command: Command, scene: Scene) -> None:
    """The interrupted run is undone first."""
    interrupted(scene)
    outcome = command("run", "--in-process", "--fresh", scene.spec, "--log-format", "json")
    assert outcome.code == 0
    progress = [e for e in outcome.log if e["event"] == "progress" and e["stage"] == "skeletons"]
    assert sum(e["files"] for e in progress) == 2


def test_interruption_says_how_far_a_run_came(scene: Scene) -> None:
    """Untouched, resumable, published; unknown if the state cannot be read."""
    location = str(scene.location)
    assert interruption(location, ()) is Interruption.UNTOUCHED
    interrupted(scene)
    assert interruption(location, ()) is Interruption.RESUMABLE
    adopt(scene)
    assert interruption(location, ()) is Interruption.PUBLISHED
    assert interruption(location, ("00000000000001",)) is Interruption.UNTOUCHED
    assert interruption("gs://not/built", ()) is Interruption.UNKNOWN


@pytest.mark.parametrize("state", Interruption)
def test_each_interruption_says_what_to_do_next(state: Interruption) -> None:
    """With the command to type."""
    assert "`run-pipeline " in state.sentence("a.pipeline.yml")
    assert "a.pipeline.yml" in state.sentence("a.pipeline.yml")


@pytest.fixture
def slow(tmp_path: Path) -> Scene:
    """Rows enough to keep a run busy for a moment."""
    order = np.random.default_rng(1).permutation(1_500_000)
    files = {f"p={n}/a.parquet": pa.table({"id": order + n * order.size}) for n in range(2)}
    return a_scene(tmp_path / "slow", files)


@pytest.mark.parametrize(
    ("number", "code", "word"),
    [
        (signal.SIGINT, 130, "interrupted"),
        pytest.param(signal.SIGTERM, 143, "terminated", marks=pytest.mark.long),
        pytest.param(signal.SIGHUP, 129, "hung up", marks=pytest.mark.long),
    ],
)
def test_signal_ends_a_run_in_one_orderly_line(
    slow: Scene, number: signal.Signals, code: int, word: str
) -> None:
    """The lease is released, nothing is published, and the next run resumes."""
    words = ["-m", "framework", "run", "--in-process", str(slow.spec)]
    with subprocess.Popen(
        [*WITH_SIGNALS, sys.executable, *words],
        cwd=REPOSITORY,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "NO_COLOR": "1"},
    ) as process:
        assert process.stderr is not None
        for line in process.stderr:
            if "skeletons" in line:
                break
        process.send_signal(number)
        rest = process.stderr.read().splitlines()
        assert process.wait(30) == code
    assert len(rest) == 1
    assert rest[0].startswith(f"{word}: ")
    assert str(slow.spec) in rest[0]
    assert interruption(str(slow.location), ()) is Interruption.RESUMABLE
    assert "at work" not in run_pipeline("status", slow.spec).out


def test_reader_that_goes_away_is_no_fault(scene: Scene) -> None:
    """`run-pipeline plan | head -1` ends quietly."""
    command = [sys.executable, "-m", "framework", "plan", str(scene.spec)]
    with subprocess.Popen(
        command, cwd=REPOSITORY, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        errors = process.stderr.read()
        assert process.wait(30) == 141
    assert "unexpected" not in errors
    assert "Traceback" not in errors
