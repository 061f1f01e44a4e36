"""Transforms: from the author's text, here or in a file, to finished SQL."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from framework.errors import Finding, SpecError
from framework.spec.loader import load_spec
from framework.spec.sections.transform_spec import TransformSpec

Write = Callable[..., Path]
PROJECT = """\
version: 1
variables:
  columns: a, b
  year: 2026
  braces: '{{ var.year }}$${x'
  home: '${env.LAKESTRAP_HOME}/x'
  token: '${secret.token}'
"""
BEGIN = """\
version: 1
table:
  name: a.b
  location: lake/t
  record_key: auto
source: {path: lake/landing}
write: {operation: insert}
transforms:
"""


@pytest.fixture(autouse=True)
def _environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """An environment variable and a secret."""
    monkeypatch.setenv("LAKESTRAP_HOME", "/home/{{ada}}")
    monkeypatch.setenv("RUN_PIPELINE_SECRET_TOKEN", "canary")


def inline(sql: str, name: str = "a") -> str:
    """Return a transform with inline SQL."""
    block = "".join(f"      {line}\n" for line in sql.split("\n"))
    return f"  - name: {name}\n    sql: |\n{block}"


def transform(path: Path, **given: str) -> TransformSpec:
    """The only transform of a spec that loads."""
    (only,) = load_spec(path, variables=given).transforms
    return only


def fault(path: Path, **given: str) -> Finding:
    """The only fault of a spec that does not."""
    with pytest.raises(SpecError) as caught:
        load_spec(path, variables=given)
    (found,) = (f for f in caught.value.findings if f.severity == "error")
    return found


def test_transforms_are_named_and_finished_in_order(write_spec: Write) -> None:
    """Each has a name and SQL without `;`, and the order is that of the file."""
    spec = load_spec(write_spec(BEGIN + inline("SELECT 1;\n", "b") + inline("SELECT * FROM b")))
    assert [(t.name, t.sql) for t in spec.transforms] == [
        ("b", "SELECT 1"),
        ("a", "SELECT * FROM b"),
    ]
    assert spec.warnings == ()


def test_spec_without_transforms_has_none(write_spec: Write) -> None:
    """An empty list is the same as none."""
    for text in (
        BEGIN.replace("transforms:\n", ""),
        BEGIN.replace("transforms:", "transforms: []"),
    ):
        assert load_spec(write_spec(text)).transforms == ()


@pytest.mark.parametrize(
    ("sql", "finished"),
    [
        ("SELECT {{ var.year + 1 }}", "SELECT 2027"),
        ("SELECT ${var.year}, '$${x}'", "SELECT 2026, '${x}'"),
        ("SELECT '${env.LAKESTRAP_HOME}'", "SELECT '/home/{{ada}}'"),
        ("SELECT '{{ var.home }}'", "SELECT '/home/{{ada}}/x'"),
        ("SELECT '${var.braces}'", "SELECT '{{ var.year }}${x'"),
        ("SELECT '{{ var.braces }}'", "SELECT '{{ var.year }}${x'"),
        ("SELECT {% raw %}'{{ ${var.year} }}'{% endraw %}", "SELECT '{{ 2026 }}'"),
        ("{# ${var.year} #}SELECT 1", "SELECT 1"),
    ],
)
def test_value_is_put_in_once_and_never_looked_at_again(
    write_spec: Write, sql: str, finished: str
) -> None:
    """References and Jinja work side by side, and neither reads what the other gave."""
    assert transform(write_spec(BEGIN + inline(sql), PROJECT)).sql == finished


def test_value_that_looks_like_a_mark_stays_text(write_spec: Write) -> None:
    """Input may contain the characters that mark references during rendering."""
    path = write_spec(BEGIN + inline("SELECT '${var.a}', '{{ var.a }}', '{{ var.b }}'"))
    sql = transform(path, a="\ue0000\ue001", b="\ue00099\ue001").sql
    assert sql == "SELECT '\ue0000\ue001', '\ue0000\ue001', '\ue00099\ue001'"


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT '" + "${var.long}" * 1_100 + "'",
        "SELECT '{% for i in range(1100) %}${var.long}{% endfor %}'",
    ],
)
def test_text_that_references_make_too_long_is_refused(write_spec: Write, sql: str) -> None:
    """As many as there are, or as often as a loop brings them."""
    found = fault(write_spec(BEGIN + inline(sql)), long="x" * 1_000)
    assert found.rule in ("spec/text-too-long", "spec/template-limit")


def test_spec_with_very_many_faulty_transforms_is_answered(write_spec: Write) -> None:
    """Transforms beyond the limit are not processed, and neither are their references."""
    text = BEGIN + "".join(
        f"  - {{name: t{i}, sql: 'SELECT ${{var.no{i}}}'}}\n" for i in range(5_000)
    )
    with pytest.raises(SpecError) as caught:
        load_spec(write_spec(text))
    assert {f.rule for f in caught.value.findings} == {"spec/undefined-variable"}


@pytest.mark.parametrize(
    ("given", "sql"),
    [("2027", "SELECT 2028, 2027"), ("1e3", None), ("010", None), ("true", "SELECT 2, true")],
)
def test_value_of_the_command_line_is_typed_as_it_looks(
    write_spec: Write, given: str, sql: str | None
) -> None:
    """What would be written back differently stays text, and text cannot be counted up."""
    path = write_spec(BEGIN + inline("SELECT {{ var.n + 1 }}, {{ var.n }}"))
    if sql is None:
        assert fault(path, n=given).rule == "spec/bad-template"
        path = write_spec(BEGIN + inline("SELECT '{{ var.n }}'"))
        sql = f"SELECT '{given}'"
    assert transform(path, n=given).sql == sql


def test_variable_that_only_jinja_uses_is_no_unused_one(write_spec: Write) -> None:
    """`--var` warns of what nothing uses."""
    path = write_spec(BEGIN + inline("SELECT {{ var.n }}"))
    spec = load_spec(path, variables={"n": "1", "m": "2"})
    assert [(w.rule, w.message.split()[-1]) for w in spec.warnings] == [
        ("spec/unused-variable", "m")
    ]


def test_stored_transform_gives_the_same_sql_without_file_and_variables(
    write_spec: Write, tmp_path: Path
) -> None:
    """Finished, with references to the environment as they were written."""
    (tmp_path / "a.sql").write_text(
        "SELECT '{{ var.columns }}', '{{ '{{' }} {# no #}$${a}', '${env.LAKESTRAP_HOME}',\n"
        "  '${var.braces}', '${var.home}', '{{ '$' }}${var.home}' -- {{ '{%' }}\n;\n"
    )
    spec = load_spec(write_spec(BEGIN + "  - {name: a, sql_file: a.sql}\n", PROJECT))
    stored = spec.stored()
    assert "ada" not in json.dumps(stored)
    assert stored["transforms"] == [{"name": "a", "sql": spec.transforms[0].stored}]
    again = load_spec(write_spec(json.dumps(stored), "version: 1\n"))
    assert again.transforms[0].sql == spec.transforms[0].sql
    assert again.transforms[0].stored == spec.transforms[0].stored
    assert again.content_hash == spec.content_hash


def test_template_that_reads_the_environment_is_stored_as_written(write_spec: Write) -> None:
    """Rendered text from such a value can no longer be distinguished."""
    sql = "SELECT '{{ var.home | upper }}', ${var.year}"
    spec = load_spec(write_spec(BEGIN + inline(sql), PROJECT))
    assert spec.transforms[0].sql == "SELECT '/HOME/{{ADA}}/X', 2026"
    assert spec.transforms[0].stored.strip() == sql
    assert "ADA" not in json.dumps(spec.stored())
    assert "ada" not in repr(spec.stored())


def test_hash_depends_on_the_finished_sql_alone(write_spec: Write, tmp_path: Path) -> None:
    """A changed file changes it; the same text from elsewhere does not."""
    (tmp_path / "sql").mkdir()
    file = tmp_path / "sql" / "a.sql"
    hashes = []
    for content in ("SELECT 1", "SELECT 2", "SELECT {{ 1 }};\n"):
        file.write_text(content)
        path = write_spec(BEGIN + "  - {name: a, sql_file: sql/a.sql}\n")
        hashes.append(load_spec(path).content_hash)
    hashes.append(load_spec(write_spec(BEGIN + inline("SELECT 1"))).content_hash)
    hashes.append(load_spec(write_spec(BEGIN + inline("SELECT 1", "b"))).content_hash)
    assert hashes[0] == hashes[2] == hashes[3]
    assert len(set(hashes)) == 3


def test_file_must_be_within_the_folder_of_the_project(tmp_path: Path) -> None:
    """That of the project file where there is one, else the spec's own; links are followed."""
    specs, beside = tmp_path / "project" / "specs", tmp_path / "project" / "sql"
    for folder in (specs, beside, tmp_path / "project" / ".git"):
        folder.mkdir(parents=True)
    (beside / "a.sql").write_text("SELECT 1")
    (tmp_path / "outside.sql").write_text("SELECT 'canary'")
    (specs / "link.sql").symlink_to(tmp_path / "outside.sql")
    path = specs / "x.pipeline.yml"
    path.write_text(BEGIN + "  - {name: a, sql_file: ../sql/a.sql}\n")
    assert fault(path).rule == "spec/file-outside"
    (tmp_path / "project" / "run-pipeline.yml").write_text("version: 1\n")
    assert transform(path).sql == "SELECT 1"
    for outside in ("link.sql", "../../outside.sql", "../sql/../../outside.sql"):
        path.write_text(BEGIN + f"  - {{name: a, sql_file: {outside}}}\n")
        found = fault(path)
        assert (found.rule, found.where.line) == ("spec/file-outside", 9)
        assert "canary" not in str(found)


@pytest.mark.parametrize(
    ("content", "rule", "line"),
    [
        (b"SELECT '\xe9'", "not-utf8", "line 1"),
        ("SELECT 1".encode("utf-16"), "not-utf8", "line 1"),
        (b"\xef\xbb\xbfSELECT 1", "byte-order-mark", "line 1"),
        (b"SELECT 1\n\x00", "control-character", "line 2"),
        (b" " * 1_000_001, "file-too-big", "a.sql"),
        (b" " * 100_001, "template-limit", "line 1"),
        (b"", "bad-sql", "line 1"),
        (b"\n\n DROP TABLE a", "bad-sql", "line 3"),
        (b"SELECT 1\n{{ var.no }}", "undefined-variable", "line 2"),
        (b"SELECT ${var.no}", "undefined-variable", "`no`"),
        (b"SELECT ${no}", "bad-reference", "${no}"),
        (b"SELECT '${secret.token}'", "secret-not-allowed", "SQL"),
        (b"SELECT '{{ var.token }}'", "secret-not-allowed", "line 1"),
    ],
)
def test_fault_in_a_file_is_reported_at_its_name(
    write_spec: Write, tmp_path: Path, content: bytes, rule: str, line: str
) -> None:
    """The finding is in the spec, and its message names the place in the file."""
    (tmp_path / "a.sql").write_bytes(content)
    found = fault(write_spec(BEGIN + "  - {name: a, sql_file: a.sql}\n", PROJECT))
    assert (found.rule, found.where.line, found.where.column) == (f"spec/{rule}", 9, 25)
    assert found.key_path == "transforms[0].sql_file"
    assert line in found.message
    assert "canary" not in found.message


def test_folder_and_missing_file_are_reported(write_spec: Write, tmp_path: Path) -> None:
    """With the name that is nearly the same."""
    (tmp_path / "sql").mkdir()
    (tmp_path / "sql" / "orders.sql").write_text("SELECT 1")
    for name, rule, suggestion in (
        ("sql", "unreadable-file", None),
        ("sql/order.sql", "file-not-found", "sql/orders.sql"),
        ("none/a.sql", "file-not-found", None),
        ("a" * 300, "unreadable-file", None),
    ):
        found = fault(write_spec(BEGIN + f"  - {{name: a, sql_file: {name}}}\n"))
        assert (found.rule, found.suggestion) == (f"spec/{rule}", suggestion)


def test_fault_in_sql_of_the_spec_is_reported_with_its_line(write_spec: Write) -> None:
    """The place is the field's, the line that of the SQL."""
    found = fault(write_spec(BEGIN + inline("SELECT 1,\n  {{ var.no }}")))
    assert (found.rule, found.where.line, found.where.column) == ("spec/undefined-variable", 10, 5)
    assert "line 2 of the template" in found.message
