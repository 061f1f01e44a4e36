"""The wheel, installed alone in an environment outside the checkout, in a user's folder."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import zipfile
from http.client import HTTPConnection
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml

pytestmark = [pytest.mark.wheel, pytest.mark.timeout(900)]

ROOT = Path(__file__).parents[2]
DATA_FILES = [
    path
    for path in (ROOT / "framework").rglob("*")
    if path.is_file() and path.suffix not in {".py", ".pyc"}
]
"""Templates, style sheets, tables in JSON: what modules read from their own folder."""

UV = Path(sys.executable).with_name("uv")
ADDRESS = re.compile(r"http://([0-9.]+):(\d+)")
DECOY = "raise ImportError('this is the framework of the user')\n"
READ = """
from pyspark.sql import SparkSession
from lakestrap import SpecError, read, run
spark = SparkSession.builder.master("local[1]").config("spark.ui.enabled", False).getOrCreate()
print(run(spark, "pipelines/raw.pipeline.yml").rows, SpecError.__module__)
print(read(spark, "raw_hudi").where("id > 1").count())
"""
TYPED = """
from pyspark.sql import DataFrame, SparkSession
from lakestrap import build_plan, read, run
def rows(spark: SparkSession) -> DataFrame:
    return read(spark, "t")
text: str = build_plan("a").target.name
wrong: int = read
"""


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel, built as an index would have it."""
    folder = tmp_path_factory.mktemp("dist")
    words = ("wheel", "--no-deps", "--no-build-isolation", "-q", "-w", str(folder), str(ROOT))
    subprocess.run([sys.executable, "-m", "pip", *words], check=True)
    return next(folder.glob("lakestrap-*.whl"))


@pytest.fixture(scope="module")
def python(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A Python that has the wheel and what it asks for, and nothing else."""
    folder = tmp_path_factory.mktemp("installed") / "env"
    subprocess.run([UV, "venv", "-q", "--seed", "--python", sys.executable, folder], check=True)
    program = folder / "bin" / "python"
    words = ("pip", "install", "-q", "--python", program, "-c", ROOT / "requirements/dev.txt")
    subprocess.run([UV, *words, wheel], check=True)
    return program


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A user's folder with data, and a package and a module whose names are those of ours."""
    (tmp_path / "framework").mkdir()
    (tmp_path / "framework" / "__init__.py").write_text(DECOY)
    (tmp_path / "pyarrow.py").write_text(DECOY)
    data = tmp_path / "raw" / "month=1"
    data.mkdir(parents=True)
    pq.write_table(pa.table({"id": [1, 2, 3]}), data / "a.parquet")
    return tmp_path


def environment(**more: str) -> dict[str, str]:
    """The variables of this process without what would help to find the checkout."""
    ours = {"PYTHONPATH", "PYTHONSAFEPATH", "PYSPARK_PYTHON"}
    return {**{k: v for k, v in os.environ.items() if k not in ours}, "NO_COLOR": "1", **more}


def done(command: list[str | Path], folder: Path, **more: str) -> str:
    """Run a command in the folder and return what it wrote on stdout."""
    found = subprocess.run(
        command, cwd=folder, env=environment(**more), capture_output=True, text=True, check=False
    )
    assert found.returncode == 0, found.stderr + found.stdout
    return found.stdout


def test_wheel_holds_one_package_with_its_types_and_metadata(wheel: Path) -> None:
    """Nothing at the top has a name that others use, and no data file of a module is missing."""
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        metadata = archive.read(next(n for n in names if n.endswith("/METADATA"))).decode()
    assert {name.split("/")[0] for name in names} == {"lakestrap", "lakestrap-0.1.0.dist-info"}
    assert {"lakestrap/py.typed", "lakestrap/framework/py.typed"} <= set(names)
    beside = {f"lakestrap/{path.relative_to(ROOT)}" for path in DATA_FILES}
    assert len(beside) > 5
    assert beside <= set(names)
    for line in ("License-Expression: Apache-2.0", "Author: ", "Project-URL: ", "Classifier: "):
        assert line in metadata


def test_commands_of_the_wheel_work_beside_a_framework_of_the_user(
    python: Path, folder: Path
) -> None:
    """From the first spec to a served table, whatever Python the environment names."""
    command = python.with_name("run-pipeline")
    done([command, "init", "--from", "raw", "--key", "id"], folder)
    spec = folder / "pipelines" / "raw.pipeline.yml"
    assert (folder / "schemas/pipeline.schema.json").is_file()
    done([command, "validate"], folder)
    done([command, "plan", spec, "--prove-keys"], folder)
    result = done([command, "run", spec, "--format", "json"], folder, PYSPARK_PYTHON="/bin/false")
    assert json.loads(result)["rows"] == 3
    assert served(command, folder, folder / "raw_hudi")


def test_steps_of_the_first_workflow_work(python: Path, folder: Path) -> None:
    """In a checkout on another machine: the wheel is in the repository, pip installs it."""
    done([python.with_name("run-pipeline"), "init", "--from", "raw", "--key", "id"], folder)
    workflow = yaml.safe_load((folder / ".github/workflows/pipelines.yml").read_text())
    (job,) = workflow["jobs"].values()
    steps = [step["run"] for step in job["steps"] if "run" in step]
    assert len(steps) == 2
    assert "./.github/wheels/lakestrap-" in steps[0]
    path = f"{python.parent}{os.pathsep}{os.environ['PATH']}"
    for step in steps:
        done(["bash", "-euo", "pipefail", "-c", step], folder, PATH=path)


def served(command: Path, folder: Path, table: Path) -> bool:
    """Whether a service over a table says that it is well."""
    words = [str(command), "serve", "--port", "0", str(table)]
    with subprocess.Popen(
        words,
        cwd=folder,
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    ) as process:
        assert process.stdout is not None
        found = next(filter(None, (ADDRESS.search(line) for line in process.stdout)))
        connection = HTTPConnection(found[1], int(found[2]), timeout=30)
        connection.request("GET", "/health")
        well = connection.getresponse().status == 200
        connection.close()
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=60)
    return well


def test_public_names_run_and_read_in_a_session_of_the_caller(python: Path, folder: Path) -> None:
    """A notebook's folder comes first in its path, in its workers' path too."""
    (folder / "pyarrow.py").unlink()
    done([python.with_name("run-pipeline"), "init", "--from", "raw", "--key", "id"], folder)
    lines = done([python, "-c", READ], folder, PYSPARK_PYTHON=str(python)).splitlines()
    assert lines == ["3 lakestrap.framework.errors", "2"]


def test_public_names_have_types(python: Path, tmp_path: Path) -> None:
    """A wrong use is found by mypy, and no right one."""
    (tmp_path / "job.py").write_text(TYPED)
    words = ("--python-executable", str(python), "--config-file", os.devnull, "job.py")
    found = subprocess.run(
        [sys.executable, "-m", "mypy", *words],
        cwd=tmp_path,
        env=environment(),
        capture_output=True,
        text=True,
        check=False,
    )
    errors = [line for line in found.stdout.splitlines() if "error:" in line]
    assert len(errors) == 1, found.stdout + found.stderr
    assert errors[0].startswith("job.py:7:")
    assert "assignment" in errors[0]
