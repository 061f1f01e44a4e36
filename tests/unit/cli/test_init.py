"""`init`: what it writes is valid, and fits the data that it was written for."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pyarrow as pa
import pytest
import yaml

from framework.spec.loader import load_spec
from framework.vocabulary import PartitionType, SourceLayout
from tests.support.sources import a_source, ids
from tests.unit.cli.conftest import Command

SPEC = "pipelines/{}.pipeline.yml"


def test_first_spec_without_data_is_valid(command: Command) -> None:
    """An example to edit."""
    assert command("init").code == 0
    assert command("validate").code == 0


@pytest.mark.parametrize(
    ("files", "layout", "partition"),
    [
        (["a.parquet"], SourceLayout.NONE, {}),
        (["day=2020-01-01/a"], SourceLayout.HIVE, {"day": PartitionType.DATE}),
        (["n=1/a", "n=-20/a"], SourceLayout.HIVE, {"n": PartitionType.INT}),
        (["n=01/a"], SourceLayout.HIVE, {"n": PartitionType.STRING}),
        (["n=3000000000/a"], SourceLayout.HIVE, {"n": PartitionType.LONG}),
        (
            ["y=1/r=a%2Fb/a", "y=2/r=__HIVE_DEFAULT_PARTITION__/a"],
            SourceLayout.HIVE,
            {"y": PartitionType.INT, "r": PartitionType.STRING},
        ),
        (
            ["2020/1/a", "2021/12/a"],
            SourceLayout.POSITIONAL,
            {"year": PartitionType.INT, "month": PartitionType.INT},
        ),
        (["eu/a", "us/a"], SourceLayout.POSITIONAL, {"level_1": PartitionType.STRING}),
    ],
)
def test_first_spec_fits_the_data_and_plans(
    command: Command,
    tmp_path: Path,
    files: list[str],
    layout: SourceLayout,
    partition: Mapping[str, PartitionType],
) -> None:
    """Layout, partition columns and their types are read from the folders."""
    a_source(tmp_path / "raw" / "rows", {f: ids(n) for n, f in enumerate(files)})
    assert command("init", "--from", "raw/rows", "--key", "id").code == 0
    spec = load_spec(tmp_path / SPEC.format("rows"))
    assert spec.bootstrap is not None
    assert spec.bootstrap.layout is layout
    assert {c.name: c.type for c in spec.table.partition_by} == partition
    assert command("plan", SPEC.format("rows"), "--prove-keys").code == 0
    assert command("run", "--in-process").code == 0


def test_odd_names_are_quoted(command: Command, tmp_path: Path) -> None:
    """What YAML or the spec language would read otherwise comes back as it is."""
    odd = {"no": [1], "a: b": [2], "#c": [3], "${x}": [4], "1e3": [5]}
    a_source(tmp_path / "it's {odd} é", {"on=1/a": pa.table(odd)})
    key = ",".join(odd)
    assert command("init", "--from", "it's {odd} é", "--key", key).code == 0
    (path,) = (tmp_path / "pipelines").iterdir()
    spec = load_spec(path)
    assert spec.table.record_key.columns == tuple(odd)
    assert [c.name for c in spec.table.partition_by] == ["on"]
    assert spec.bootstrap is not None
    assert spec.bootstrap.path == str(tmp_path / "it's {odd} é")


def test_source_elsewhere_is_named_in_full(command: Command, tmp_path: Path) -> None:
    """A repository of specs need not be beside its data."""
    source = a_source(tmp_path / "far" / "rows", {"a": ids(1)})
    assert command("init", "repo", "--from", source, "--key", "id").code == 0
    spec = load_spec(tmp_path / "repo" / SPEC.format("rows"))
    assert spec.bootstrap is not None
    assert spec.bootstrap.path == str(source)


def test_guessed_key_is_reported(command: Command, tmp_path: Path) -> None:
    """It is only a guess."""
    table = pa.table({"name": ["x"], "order_id": [1]})
    a_source(tmp_path / "rows", {"a": table})
    outcome = command("init", "--from", "rows", "--format", "json")
    assert outcome.document["guess"] == ["order_id"]
    assert load_spec(tmp_path / SPEC.format("rows")).table.record_key.columns == ("order_id",)


@pytest.mark.parametrize(
    ("words", "code", "condition"),
    [
        (["--from", "rows", "--key", "id,nope"], 1, "key/missing-column"),
        (["--from", "nowhere"], 1, "source/missing"),
        (["--from", "empty"], 1, "source/no-files"),
        (["--from", "text"], 5, "source/not-parquet"),
    ],
)
def test_data_that_give_no_spec_are_refused(
    command: Command, tmp_path: Path, words: list[str], code: int, condition: str
) -> None:
    """And no file is written."""
    a_source(tmp_path / "rows", {"a": ids(1)})
    (tmp_path / "empty").mkdir()
    (tmp_path / "text").mkdir()
    (tmp_path / "text" / "a.csv").write_text("id\n1\n")
    outcome = command("init", *words, "--format", "json")
    assert outcome.code == code
    assert outcome.document["error"]["condition"] == condition
    assert not (tmp_path / "pipelines").exists()


def test_files_that_exist_are_kept(command: Command, tmp_path: Path) -> None:
    """Whatever they hold."""
    (tmp_path / ".pre-commit-config.yaml").write_text("mine")
    outcome = command("init", "--format", "json")
    assert outcome.document["kept"] == [".pre-commit-config.yaml"]
    assert (tmp_path / ".pre-commit-config.yaml").read_text() == "mine"


def test_file_in_the_way_is_reported(command: Command, tmp_path: Path) -> None:
    """Where a folder should be."""
    (tmp_path / "pipelines").write_text("")
    outcome = command("init", "--format", "json")
    assert outcome.code == 5
    assert outcome.document["error"]["condition"] == "storage/failed"


def test_workflow_validates_pull_requests(command: Command, tmp_path: Path) -> None:
    """It is YAML of the shape that GitHub runs, without more rights than it needs."""
    command("init")
    text = (tmp_path / ".github" / "workflows" / "pipelines.yml").read_text()
    workflow = yaml.safe_load(text)
    assert workflow[True] == {"pull_request": {"paths": ["pipelines/**", "run-pipeline.yml"]}}
    assert workflow["permissions"] == {}
    (job,) = workflow["jobs"].values()
    assert job["runs-on"]
    assert any("run-pipeline validate" in step.get("run", "") for step in job["steps"])


def test_hook_validates_the_specs_that_change(command: Command, tmp_path: Path) -> None:
    """pre-commit itself finds the configuration valid, and the entry is a command of ours."""
    command("init")
    path = tmp_path / ".pre-commit-config.yaml"
    done = subprocess.run(
        [sys.executable, "-m", "pre_commit", "validate-config", str(path)],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    (hook,) = yaml.safe_load(path.read_text())["repos"][0]["hooks"]
    assert hook["entry"] == "run-pipeline validate"


def test_schema_line_of_the_spec_points_at_the_schema(command: Command, tmp_path: Path) -> None:
    """Editors follow it from the spec's folder."""
    command("init")
    spec = tmp_path / SPEC.format("example")
    first = spec.read_text().splitlines()[0]
    assert first.startswith("# yaml-language-server: $schema=")
    schema = spec.parent / first.partition("$schema=")[2]
    assert json.loads(schema.read_text())["$schema"].startswith("https://json-schema.org/")
