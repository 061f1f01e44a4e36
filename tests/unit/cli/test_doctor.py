"""`doctor`: what is missing on a machine, and what to do about it."""

from __future__ import annotations

import sys
import tomllib
from pathlib import Path

import pytest

from framework.cli.doctor import PYSPARK_RANGE, java, package, workers
from framework.cli.store_checks import stores
from framework.hudi.storage.store_settings import STORAGE_VARIABLE
from tests.unit.cli.conftest import Command

ROOT = Path(__file__).parents[3]


def a_program(path: Path, text: str) -> Path:
    """Write a program for the shell that says this."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return path


def test_doctor_exits_as_its_checks_say(command: Command) -> None:
    """0 when all is well, else 5; text and JSON agree."""
    outcome = command("doctor", "--format", "json")
    checks = {check["name"]: check for check in outcome.document}
    assert outcome.code == (0 if all(c["ok"] for c in checks.values()) else 5)
    assert set(checks) == {
        *("python", "java", "pyspark", "pyarrow", "workers", "memory", "disk", "links"),
    }
    assert all(bool(c["remedy"]) is not c["ok"] for c in checks.values())
    text = command("doctor").out
    assert all(name in text for name in checks)


@pytest.mark.parametrize(
    ("said", "good"),
    [
        ('openjdk version "17.0.15" 2025-04-15', True),
        ('openjdk version "21" 2023-09-19', True),
        ('openjdk version "11.0.2" 2019-01-15', False),
        ('java version "1.8.0_392"', False),
        ("no version at all", False),
    ],
)
def test_java_must_be_new_enough(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, said: str, *, good: bool
) -> None:
    """Whatever vendor says it."""
    a_program(tmp_path / "bin" / "java", f"echo '{said}' >&2")
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    assert java().ok is good


def test_java_home_without_java_is_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is the commonest fault, and Spark's own message hides it."""
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    found = java()
    assert not found.ok
    assert str(tmp_path) in found.found
    assert found.remedy


def test_missing_java_is_reported_with_how_to_install_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On Debian, Fedora and macOS."""
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    found = java()
    assert not found.ok
    assert all(word in found.remedy for word in ("apt-get", "dnf", "brew"))


def test_pyspark_range_is_that_of_the_package() -> None:
    """The same as `pyproject.toml` asks for."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    low, high = (".".join(map(str, bound)) for bound in PYSPARK_RANGE)
    assert f"pyspark>={low},<{high}" in project["dependencies"]


def test_package_outside_its_range_is_bad() -> None:
    """Below and above; the first bound is inside."""
    assert package("pyarrow", ((1, 0), (9999, 0))).ok
    assert not package("pyarrow", ((9998, 0), (9999, 0))).ok
    assert not package("pyarrow", ((0, 1), (1, 0))).ok
    assert not package("no-such-package-of-anybody").ok


def test_workers_of_this_python_find_this_package(monkeypatch: pytest.MonkeyPatch) -> None:
    """By default they are this Python."""
    monkeypatch.delenv("PYSPARK_PYTHON", raising=False)
    found = workers()
    assert found.ok, found
    assert sys.executable in found.found


@pytest.mark.parametrize(
    "text",
    [
        "echo \"ModuleNotFoundError: No module named 'framework'\" >&2; exit 1",
        'echo \'{"python": [2, 7], "pyspark": "0.1"}\'',
        "exit 0",
    ],
)
def test_workers_of_another_python_are_bad(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    """Where they would not find this package, or not the same Spark."""
    program = a_program(tmp_path / "python", text)
    monkeypatch.setenv("PYSPARK_PYTHON", str(program))
    found = workers()
    assert not found.ok
    assert found.remedy


def test_workers_that_cannot_be_started_are_bad(monkeypatch: pytest.MonkeyPatch) -> None:
    """A path that is none."""
    monkeypatch.setenv("PYSPARK_PYTHON", "/nowhere/python")
    assert not workers().ok


def test_store_of_a_spec_that_does_not_answer_is_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the location, the condition and what to do."""
    monkeypatch.setenv(STORAGE_VARIABLE, "")
    spec = tmp_path / "t.pipeline.yml"
    spec.write_text(
        "version: 1\n"
        "table: {name: t, location: t, record_key: {columns: [id], unique_within: table}}\n"
        "bootstrap: {path: 's3://bucket/raw', layout: none}\n"
        "storage:\n"
        "  s3:\n"
        "    {endpoint: 'http://127.0.0.1:9', allow_http: true, anonymous: true, max_retries: 0}\n"
    )
    (found,) = stores(spec)
    assert not found.ok
    assert found.found.startswith("s3a://bucket/raw")
    assert "[storage/unreachable]" in found.found
    assert found.remedy


def test_store_of_a_table_whose_profile_is_unknown_is_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The client itself cannot be made."""
    monkeypatch.setenv(STORAGE_VARIABLE, "")
    spec = tmp_path / "t.pipeline.yml"
    spec.write_text(
        "version: 1\n"
        "table: {name: t, location: 's3://bucket/t',\n"
        "  record_key: {columns: [id], unique_within: table}}\n"
        f"bootstrap: {{path: {tmp_path}, layout: none}}\n"
        "storage: {s3: {profile: of-nobody}}\n"
    )
    (found,) = stores(spec)
    assert not found.ok
    assert "[storage/credentials]" in found.found
    assert found.remedy
