"""The section `storage`: where it may stand, what it refuses, and that it is never stored."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from framework.engine.prepare import store_settings
from framework.errors import SpecError
from framework.hudi.storage.store_settings import StoreSettings
from framework.spec.loader import load_spec
from framework.spec.sections.pipeline_spec import PipelineSpec

KEYS = {"access_key_id": "${env.LAKE_KEY}", "secret_access_key": "${secret.lake}"}
HTTP = {"endpoint": "http://127.0.0.1:9000", "allow_http": True}


def a_spec(
    folder: Path,
    *,
    own: Mapping[str, Any] | None = None,
    project: Mapping[str, Any] | None = None,
    path: str = "s3://raw/flights",
    target: str | None = None,
) -> PipelineSpec:
    """Load a spec with these sections `storage`."""
    document = {
        "version": 1,
        "table": {
            "name": "t",
            "location": "lake/t",
            "record_key": {"columns": ["id"], "unique_within": "table"},
        },
        "bootstrap": {"path": path, "layout": "none"},
        **({"storage": {"s3": own}} if own else {}),
    }
    shared = {
        "version": 1,
        "variables": {"endpoint": "https://s3.example.com"},
        "targets": {"dev": {"variables": {"endpoint": "https://dev.example.com"}}},
        **({"storage": {"s3": project}} if project else {}),
    }
    (folder / "t.pipeline.yml").write_text(json.dumps(document))
    (folder / "run-pipeline.yml").write_text(json.dumps(shared))
    return load_spec(folder / "t.pipeline.yml", target=target)


@pytest.fixture(autouse=True)
def _credentials(monkeypatch: pytest.MonkeyPatch) -> None:
    """Set what the references name."""
    monkeypatch.setenv("LAKE_KEY", "the-key")
    monkeypatch.setenv("RUN_PIPELINE_SECRET_LAKE", "the-secret")


def test_section_of_the_project_is_used_with_the_variables_of_the_target(tmp_path: Path) -> None:
    """Each target may have its own store."""
    project = {"endpoint": "${var.endpoint}", "path_style": True, **KEYS}
    spec = a_spec(tmp_path, project=project, target="dev")
    assert store_settings(spec) == {
        "s3": StoreSettings(
            endpoint="https://dev.example.com",
            path_style=True,
            access_key_id="the-key",
            secret_access_key="the-secret",  # noqa: S106 - of this test
        )
    }


def test_section_of_the_spec_replaces_the_projects(tmp_path: Path) -> None:
    """The whole section does."""
    spec = a_spec(tmp_path, own={"anonymous": True}, project={"region": "eu-central-1"})
    assert store_settings(spec) == {"s3": StoreSettings(anonymous=True)}


def test_section_is_neither_stored_nor_hashed(tmp_path: Path) -> None:
    """Another endpoint does not make another table."""
    plain = a_spec(tmp_path)
    spec = a_spec(tmp_path, project={**HTTP, **KEYS})
    assert "storage" not in spec.stored()
    assert spec.content_hash == plain.content_hash
    assert "the-secret" not in repr(spec)


def test_secret_is_read_only_if_a_location_is_in_a_store(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A project's local tables need no credentials."""
    monkeypatch.delenv("RUN_PIPELINE_SECRET_LAKE")
    assert store_settings(a_spec(tmp_path, project=KEYS, path="raw")) == {}


@pytest.mark.parametrize(
    ("own", "rule"),
    [
        ({"access_key_id": "AKIA", "secret_access_key": "${secret.lake}"}, "literal-secret"),
        ({"access_key_id": "${env.LAKE_KEY}"}, "incomplete-credentials"),
        ({"anonymous": True, **KEYS}, "ambiguous-credentials"),
        ({"endpoint": "http://127.0.0.1:9000"}, "plain-http"),
        ({"endpoint": "s3.example.com"}, "bad-endpoint"),
        ({"endpoint": "https://key:secret@s3.example.com"}, "bad-endpoint"),
        ({"region": "${secret.lake}"}, "secret-not-allowed"),
        ({"endpont": "https://s3.example.com"}, "unknown-field"),
        ({"max_retries": -1}, "out-of-range"),
    ],
)
@pytest.mark.parametrize("place", ["own", "project"])
def test_faulty_section_is_refused_where_it_stands(
    tmp_path: Path, own: Mapping[str, Any], rule: str, place: str
) -> None:
    """In the spec or in the project file."""
    with pytest.raises(SpecError) as caught:
        a_spec(tmp_path, own=own) if place == "own" else a_spec(tmp_path, project=own)
    (found,) = [each for each in caught.value.findings if each.severity == "error"]
    assert found.rule == f"spec/{rule}"
    name = "t.pipeline.yml" if place == "own" else "run-pipeline.yml"
    assert str(found.where.file).endswith(name)


def test_yaml_of_the_guide_to_stores_loads(tmp_path: Path) -> None:
    """It is a project file."""
    text = Path("docs/guide/stores.md").read_text("utf-8")
    (block,) = re.findall(r"^```yaml\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    a_spec(tmp_path)
    (tmp_path / "run-pipeline.yml").write_text(block)
    spec = load_spec(tmp_path / "t.pipeline.yml", target="dev")
    assert store_settings(spec)["s3"].endpoint == "http://127.0.0.1:9000"
