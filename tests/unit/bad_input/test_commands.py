"""What scripts see of bad input: exit codes, one JSON object on stdout, words on stderr."""

from __future__ import annotations

import json
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from framework.cli.app import main
from framework.hudi.commit.lease import Owner, acquire
from framework.hudi.storage.locations import open_storage
from framework.hudi.timeline.clock import SystemClock
from tests.support.scenes import Scene, a_document, a_scene, adopt, snapshot
from tests.support.sources import ids
from tests.support.stitching import pieces_of, read_table

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
FILES = {"p=1/a.parquet": ids(1, 2), "p=2/b.parquet": ids(3)}


@pytest.fixture(autouse=True)
def _undisturbed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Keep working directory and signal handlers as they are for other tests."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    handlers = {each: signal.getsignal(each) for each in SIGNALS}
    yield
    for each, handler in handlers.items():
        signal.signal(each, handler)


def _fine(_: Scene) -> None:
    pass


def _adopted(scene: Scene) -> None:
    adopt(scene)


def _foreign(scene: Scene) -> None:
    scene.location.mkdir()
    (scene.location / "x.csv").write_text("")


def _leading_zero(scene: Scene) -> None:
    (scene.source / "p=1").rename(scene.source / "p=01")


def _duplicate(scene: Scene) -> None:
    data = (scene.source / "p=2" / "b.parquet").read_bytes()
    (scene.source / "p=1" / "c.parquet").write_bytes(data)


def _leased(scene: Scene) -> None:
    acquire(open_storage(str(scene.location)), Owner.here("f" * 32), SystemClock())


def _not_parquet(scene: Scene) -> None:
    (scene.source / "p=1" / "c.parquet").write_text("id\n1\n")


def _version_9(scene: Scene) -> None:
    adopt(scene)
    path = scene.location / ".hoodie" / "hoodie.properties"
    path.write_text(path.read_text().replace("table.version=6", "table.version=9"))


CASES: list[tuple[Callable[[Scene], None], int, str]] = [
    (_foreign, 1, "target/foreign-content"),
    (_leading_zero, 1, "partition/value-changes"),
    (_duplicate, 3, "audit/duplicate-keys"),
    (_leased, 4, "lease/held"),
    (_not_parquet, 5, "source/not-parquet"),
    (_version_9, 5, "table/version"),
]


@pytest.mark.parametrize(("change", "code", "condition"), CASES)
def test_run_of_bad_input_exits_as_it_should_and_says_why(
    tmp_path: Path,
    capfd: pytest.CaptureFixture[str],
    change: Callable[[Scene], None],
    code: int,
    condition: str,
) -> None:
    """For people on stderr, with nothing on stdout; the target stays as it was."""
    scene = _prepared(tmp_path, change)
    before = snapshot(scene.location)
    assert main(["run", "--in-process", str(scene.spec)]) == code
    assert snapshot(scene.location) == before
    captured = capfd.readouterr()
    assert condition in captured.err
    assert "help:" in captured.err
    assert captured.out == ""


@pytest.mark.parametrize(("change", "code", "condition"), CASES)
def test_run_of_bad_input_prints_one_json_object(
    tmp_path: Path,
    capfd: pytest.CaptureFixture[str],
    change: Callable[[Scene], None],
    code: int,
    condition: str,
) -> None:
    """Condition, exit code, place and remedy, as JSON on stdout."""
    scene = _prepared(tmp_path, change)
    assert main(["run", "--in-process", "--format", "json", str(scene.spec)]) == code
    error: dict[str, Any] = json.loads(capfd.readouterr().out)["error"]
    assert error["condition"] == condition
    assert error["exit_code"] == code
    assert error["message"]
    assert error["remedy"]
    assert error["where"]


@pytest.mark.parametrize(("change", "code", "condition"), [CASES[1], CASES[4], CASES[5]])
def test_plan_of_bad_input_exits_as_run_does(
    tmp_path: Path,
    capfd: pytest.CaptureFixture[str],
    change: Callable[[Scene], None],
    code: int,
    condition: str,
) -> None:
    """Pull-request CI sees what the run would say."""
    scene = _prepared(tmp_path, change)
    assert main(["plan", str(scene.spec)]) == code
    assert condition in capfd.readouterr().err


def test_plan_that_proves_keys_exits_3_and_leaves_nothing(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """The gate's answer, before anything is written; file and row are shown."""
    scene = _prepared(tmp_path, _duplicate)
    assert main(["plan", "--prove-keys", str(scene.spec)]) == 3
    captured = capfd.readouterr().err
    assert "audit/duplicate-keys" in captured
    assert "p=1/c.parquet" in captured
    assert snapshot(scene.location) == {}


def test_good_run_exits_0_twice(tmp_path: Path) -> None:
    """And `plan --detailed-exitcode` distinguishes the two runs."""
    scene = _prepared(tmp_path, _fine)
    spec = str(scene.spec)
    assert main(["plan", "--detailed-exitcode", spec]) == 2
    assert main([spec, "--in-process"]) == 0
    assert main(["run", "--in-process", spec]) == 0
    assert main(["plan", "--detailed-exitcode", spec]) == 0
    assert len(read_table(scene, pieces_of(scene))) == 3


def test_saved_plan_that_was_edited_exits_5(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """The edited plan was never approved."""
    scene = _prepared(tmp_path, _fine)
    saved = tmp_path / "plan.json"
    assert main(["plan", "--out", str(saved), str(scene.spec)]) == 0
    saved.write_text(saved.read_text().replace('"rows": 3', '"rows": 4'))
    assert main(["run", "--in-process", str(saved)]) == 5
    assert "saved-plan/digest-differs" in capfd.readouterr().err
    assert snapshot(scene.location) == {}


def test_saved_plan_whose_source_changed_exits_4(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """It was approved for another source."""
    scene = _prepared(tmp_path, _fine)
    saved = tmp_path / "plan.json"
    assert main(["plan", "--out", str(saved), str(scene.spec)]) == 0
    (scene.source / "p=2" / "b.parquet").unlink()
    assert main(["run", "--in-process", str(saved)]) == 4
    assert "plan/stale" in capfd.readouterr().err
    assert snapshot(scene.location) == {}


def test_resume_without_a_run_that_was_cut_off_exits_1(tmp_path: Path) -> None:
    """There is nothing to resume."""
    scene = _prepared(tmp_path, _fine)
    assert main(["resume", "--in-process", str(scene.spec)]) == 1
    assert snapshot(scene.location) == {}


def test_several_specs_exit_with_the_gravest_code_and_each_has_its_turn(tmp_path: Path) -> None:
    """A bad spec does not keep a good one from its run."""
    bad = _prepared(tmp_path / "a-bad", _duplicate)
    good = _prepared(tmp_path / "b-good", _fine)
    worse = _prepared(tmp_path / "c-worse", _not_parquet)
    specs = [str(each.spec) for each in (bad, good, worse)]
    assert main(["run", "--in-process", *specs]) == 5
    assert len(read_table(good, pieces_of(good))) == 3
    assert snapshot(bad.location) == snapshot(worse.location) == {}


@pytest.mark.parametrize(
    ("change", "condition"), [(_version_9, "table/other-version"), (_adopted, "source/drifted")]
)
def test_status_of_a_table_in_danger_exits_1(
    tmp_path: Path,
    capfd: pytest.CaptureFixture[str],
    change: Callable[[Scene], None],
    condition: str,
) -> None:
    """`status` reports an upgrade, and a source that moved."""
    scene = _prepared(tmp_path, change)
    if change is _adopted:
        assert main(["status", str(scene.spec)]) == 0
        (scene.source / "p=1" / "a.parquet").unlink()
    assert main(["status", str(scene.spec)]) == 1
    assert condition in capfd.readouterr().out


def _prepared(folder: Path, change: Callable[[Scene], None]) -> Scene:
    """Return a scene after a change."""
    scene = a_scene(folder, FILES, a_document())
    change(scene)
    return scene
