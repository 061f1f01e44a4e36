"""Executors are asked before tasks run there."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import venv
from pathlib import Path

import pyarrow as pa
import pytest

from tests.support.scenes import a_document, a_scene

pytestmark = pytest.mark.spark


def test_executors_without_packages_or_python_are_named_before_any_task_runs(
    tmp_path: Path,
) -> None:
    """Nothing is written then; with the right Python the same session runs the spec."""
    venv.create(tmp_path / "bare", symlinks=True)
    files = {f"p={p}/a.parquet": pa.table({"id": [p, 10 * p], "v": ["a", "b"]}) for p in (1, 2)}
    scene = a_scene(tmp_path, files, a_document())
    words = ["-m", "tests.support.cluster_session", str(scene.spec), f"{tmp_path}/bare/bin/python"]
    done = subprocess.run(
        [sys.executable, *words],
        env={**os.environ, "SPARK_LOCAL_IP": "127.0.0.1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout.splitlines()[-1])
    (packages, first, _), (python, second, _) = found["faults"]
    assert packages == "cluster/packages"
    assert "pyarrow (ModuleNotFoundError" in first
    assert python == "cluster/no-python"
    assert "/no/such/python does not run" in second
    assert found["rows"] == 4
