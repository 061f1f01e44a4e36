"""Specs to start from."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

SPEC = """\
version: 1
table:
  name: nyc.flights
  location: lake/flights
  type: copy_on_write
  partition_by: {month: int}
  record_key:
    columns: [year, month, day]
    unique_within: table
bootstrap:
  path: lake/raw/flights
  layout: hive
  mode: metadata_only
"""

WriteSpec = Callable[..., Path]


@pytest.fixture
def write_spec(tmp_path: Path) -> WriteSpec:
    """Writes a spec, and a project file where one is given, and returns the spec's path."""
    (tmp_path / ".git").mkdir()

    def write(text: str, project: str | None = None) -> Path:
        path = tmp_path / "x.pipeline.yml"
        path.write_text(text, encoding="utf-8", newline="")
        if project is not None:
            (tmp_path / "run-pipeline.yml").write_text(project, encoding="utf-8")
        return path

    return write


@pytest.fixture
def spec_text() -> str:
    """A spec without faults."""
    return SPEC
