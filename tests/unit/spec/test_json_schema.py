"""The JSON Schemas that editors use."""

from __future__ import annotations

import importlib
import json
import re
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from framework.spec.document.findings import FindingList
from framework.spec.document.positions import Node
from framework.spec.document.references import Resolver, Scope, Variable
from framework.spec.document.source import SourceText
from framework.spec.document.walker import parse
from framework.spec.json_schema import main, project_schema, rendered_schemas, spec_schema
from tests.unit.spec.fault_cases import WHOLE
from tests.unit.spec.test_rules import FAULTS, edited, names

SEEN_BY_SCHEMA = {
    *("unknown-field", "missing-field", "unsupported-version", "wrong-type", "empty-value"),
    *("out-of-range", "too-many"),
}
SEEN = [case for case in FAULTS if case.rule in SEEN_BY_SCHEMA]
BLIND = (
    *("' '", "max_keys: 10,", "expected_keys: 4000001}", ".nan", "1.0"),
    *("format: csv", "1023KB", "2000GB", "121MB"),
    *("keep_for: 0d", "keep_max: 20", "keep_min: 40", "keep_commits: 25"),
)


def data_of(text: str) -> Any:
    """The YAML as data, references left as written."""
    findings = FindingList()
    root: Node | None = parse(SourceText.of("x.yml", text), findings)
    assert root is not None
    scope = Scope(variables={"x": Variable(value="x", stored="x")})
    return Resolver(scope=scope, findings=findings).resolve(root).stored


@cache
def validator(schema: Callable[[], dict[str, Any]]) -> Any:
    """An independent validator of a schema, which it finds sound; made once."""
    kind = importlib.import_module("jsonschema").Draft202012Validator
    made = schema()
    kind.check_schema(made)
    return kind(made)


def accepts(schema: Callable[[], dict[str, Any]], data: Any) -> bool:
    """Whether the validator of a schema accepts the data."""
    return bool(validator(schema).is_valid(data))


@pytest.mark.parametrize("name", ["pipeline.schema.json", "project.schema.json"])
def test_schema_file_is_what_the_models_say(name: str) -> None:
    """`make schemas` was run after the last change."""
    assert Path("schemas", name).read_text("utf-8") == rendered_schemas()[name]


def test_main_writes_both_files(tmp_path: Path) -> None:
    """The command that `make schemas` runs."""
    main(tmp_path / "schemas")
    written = {p.name: p.read_text("utf-8") for p in (tmp_path / "schemas").iterdir()}
    assert written == rendered_schemas()


def test_schema_accepts_a_sound_spec(spec_text: str) -> None:
    """What loads is valid, with references in place of numbers and words as well."""
    assert accepts(spec_schema, data_of(spec_text))
    text = spec_text.replace("copy_on_write", "${var.type}").replace(
        "{month: int}", "{month: '${var.t}'}"
    )
    rest = "  parallelism: ${var.n}\n  rules: [{where: {month: 8}, mode: skip}]\n"
    assert accepts(spec_schema, data_of(f"{text}{rest}spark: {{conf: {{spark.a: 0.5}}}}\n"))
    assert accepts(spec_schema, data_of(spec_text.replace("  type:", "  precombine: ts\n  type:")))


@pytest.mark.parametrize(
    ("text", "valid"),
    [
        ("", False),
        ("source: {path: a}\nwrite: {operation: insert}\n", True),
        (
            "source: {path: a}\nwrite: {operation: insert}\nbootstrap: {path: a, layout: none}\n",
            False,
        ),
        ("  record_key: auto\n", True),
        ("  record_key: auto\nsource: {path: a}\n", False),
        ("  record_key: auto\ntransforms: []\n", False),
        ("  record_key: auto\n  ordering: commit_time\n", True),
        ("  record_key: auto\n  ordering: {columns: [ts]}\n", True),
        ("  record_key: auto\n  ordering: ts\n", False),
        ("  record_key: auto\nwrite: {operation: insert, target_file_size: 64MB}\n", True),
        ("  record_key: auto\nwrite: {operation: insert, target_file_size: '${env.HOME}'}\n", True),
        ("  record_key: auto\nwrite: {operation: insert, target_file_size: 64 MiB}\n", False),
    ],
)
def test_schema_knows_which_sections_need_which(text: str, *, valid: bool) -> None:
    """A key may be left out where rows are numbered unasked, and a source needs `write`."""
    begin = "version: 1\ntable:\n  name: a.b\n  location: lake/t\n"
    assert accepts(spec_schema, data_of(begin + text)) is valid


@pytest.mark.parametrize("case", SEEN, ids=names(SEEN))
def test_schema_refuses_what_it_can_see(case: Any, spec_text: str) -> None:
    """Unknown, missing and mistyped fields are faults in the editor too."""
    text, _, _ = edited(case, spec_text)
    if case.old == WHOLE or any(part in text for part in BLIND):
        return
    assert not accepts(spec_schema, data_of(text))


@pytest.mark.parametrize(
    ("text", "valid"),
    [
        ("version: 1\n", True),
        (
            "version: 1\ndefaults: {table: {type: copy_on_write}, spark: {conf: {spark.a: 1}}}\n",
            True,
        ),
        ("version: 1\ntargets: {dev: {variables: {a: 1}}}\ndefault_target: dev\n", True),
        ("version: 1\ndefaults: {table: {type_: copy_on_write}}\n", False),
        ("version: 1\ndefaults: {table: {record_key: {columns: [a]}}}\n", False),
        ("version: 1\nvariables: {a: [1]}\n", False),
    ],
)
def test_project_schema_accepts_valid_and_rejects_faulty_files(text: str, *, valid: bool) -> None:
    """Defaults may leave fields of a section out, but what they say must be whole."""
    assert accepts(project_schema, data_of(text)) is valid


def test_every_field_is_described() -> None:
    """Editors show a sentence for each field, and the guide names each."""
    folder = Path("docs/guide")
    guide = "".join(
        (folder / name).read_text("utf-8") for name in ("specs.md", "quality.md", "testing.md")
    )
    for schema in (spec_schema(), project_schema()):
        models = [schema, *(d for n, d in schema["$defs"].items() if "properties" in d)]
        for model in models:
            for name, field in model["properties"].items():
                assert "description" in field or "$ref" in field, name
                assert f"`{name}`" in guide or re.search(rf"`[a-z.]*\b{name}`", guide), name


def test_schema_is_json() -> None:
    """No value of Python's own leaks into the files."""
    for text in rendered_schemas().values():
        assert json.loads(text)["$schema"].startswith("https://json-schema.org/")
