"""`schema` prints what the repository's `schemas` folder holds."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.unit.cli.conftest import Command

SCHEMAS = Path(__file__).parents[3] / "schemas"


@pytest.mark.parametrize("name", ["pipeline", "project", "plan", "report", "fsck"])
def test_schema_is_the_committed_one(command: Command, name: str) -> None:
    """Editors and this command use the same schema."""
    outcome = command("schema", name)
    assert outcome.code == 0
    assert outcome.document == json.loads((SCHEMAS / f"{name}.schema.json").read_text())


def test_schema_of_specs_is_the_default(command: Command) -> None:
    """`--format json` changes nothing."""
    assert command("schema").out == command("schema", "pipeline", "--format", "json").out


def test_unknown_document_exits_with_1(command: Command) -> None:
    """With the nearest one."""
    outcome = command("schema", "pln")
    assert outcome.code == 1
    assert "plan" in outcome.err
