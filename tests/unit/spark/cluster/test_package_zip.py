"""The zip of this package: the same bytes each time, and enough to run a task."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from framework.spark.cluster.package_zip import package_zip, write_package

ROOT = Path(__file__).parents[4]
_TASK_MODULES = (
    "framework.spark.tasks",
    "framework.engine.bootstrap.write",
    "framework.engine.load.write",
    "framework.engine.load.tag",
    "framework.engine.inspect.reach",
    "framework.hudi.table.calendar",
)


def test_same_files_make_the_same_bytes_under_the_same_name(tmp_path: Path) -> None:
    """Times, owners and the order of the disk do not show; compiled modules are left out."""
    package = tmp_path / "one" / "pack"
    (package / "inner" / "__pycache__").mkdir(parents=True)
    (package / "__init__.py").write_text("")
    (package / "inner" / "data.json").write_text("[]")
    first = write_package(package, tmp_path / "one")
    (package / "inner" / "__pycache__" / "x.pyc").write_bytes(b"1")
    (package / "__init__.py").touch()
    second = write_package(package, tmp_path)
    assert first.name == second.name
    assert first.read_bytes() == second.read_bytes()
    (package / "inner" / "data.json").write_text("[1]")
    assert write_package(package, tmp_path).name != first.name


def test_modules_of_tasks_work_from_the_zip(tmp_path: Path) -> None:
    """Data files are read from it too."""
    archive = package_zip()
    assert archive is not None
    program = f"""
import sys; sys.path.insert(0, {str(archive)!r})
from importlib import import_module
modules = [import_module(each) for each in {_TASK_MODULES!r}]
assert all({archive.name!r} in each.__file__ for each in modules), modules
modules[-1].legacy_zone("Europe/Paris")
"""
    command = [sys.executable, "-P", "-c", program]
    done = subprocess.run(
        command, env={"PATH": ""}, cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
