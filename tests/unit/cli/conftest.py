"""The command line within this process, and small scenes for it."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from framework.cli.app import main
from tests.support.scenes import Scene, a_scene
from tests.support.sources import ids


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """How a command ended, and what it wrote."""

    code: int
    out: str
    err: str

    @property
    def document(self) -> Any:
        """The JSON document on stdout."""
        return json.loads(self.out)

    @property
    def documents(self) -> list[Any]:
        """The JSON lines on stdout."""
        return [json.loads(line) for line in self.out.splitlines()]

    @property
    def log(self) -> list[dict[str, Any]]:
        """The JSON lines on stderr."""
        return [json.loads(line) for line in self.err.splitlines()]


Command = Callable[..., Outcome]


@pytest.fixture
def command(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> Command:
    """Runs `run-pipeline` with words in an empty folder of the test's own."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("RUN_PIPELINE_TARGET", raising=False)

    def call(*words: str | Path) -> Outcome:
        capsys.readouterr()
        code = main([str(word) for word in words])
        captured = capsys.readouterr()
        return Outcome(code=code, out=captured.out, err=captured.err)

    return call


@pytest.fixture
def scene(tmp_path: Path) -> Scene:
    """Two partitions with two rows each, keys unique."""
    return a_scene(tmp_path / "scene", {"p=1/a.parquet": ids(1, 2), "p=2/a.parquet": ids(3, 4)})


@pytest.fixture
def duplicates(tmp_path: Path) -> Scene:
    """The key 2 occurs in two partitions."""
    return a_scene(tmp_path / "twice", {"p=1/a.parquet": ids(1, 2), "p=2/a.parquet": ids(2, 3)})
