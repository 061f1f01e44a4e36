"""The project file: variables, targets and defaults."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from framework.errors import Finding, SpecError
from framework.spec.loader import load_spec
from framework.spec.sections.project import find_project_file
from framework.vocabulary import TableType

Write = Callable[..., Path]

PROJECT = """\
version: 1
variables: {lake: /base, cores: 2}
targets:
  dev: {variables: {lake: /dev}}
  prod: {variables: {lake: /prod, cores: 64}}
"""


def located(spec_text: str) -> str:
    """The sound spec with its location by variable."""
    return spec_text.replace("lake/flights\n", "${var.lake}/flights\n", 1)


def faults(path: Path, **options: object) -> tuple[Finding, ...]:
    """The findings of a spec that must not load."""
    with pytest.raises(SpecError) as caught:
        load_spec(path, **options)  # type: ignore[arg-type] # options are given by name
    return caught.value.findings


@pytest.mark.parametrize(
    ("target", "given", "location"),
    [
        (None, {}, "/base/flights"),
        ("dev", {}, "/dev/flights"),
        ("prod", {}, "/prod/flights"),
        ("prod", {"lake": "/given"}, "/given/flights"),
        (None, {"lake": "/given"}, "/given/flights"),
    ],
)
def test_option_beats_target_beats_variable(
    write_spec: Write, spec_text: str, target: str | None, given: dict[str, str], location: str
) -> None:
    """The nearest value wins."""
    path = write_spec(located(spec_text), PROJECT)
    assert load_spec(path, target=target, variables=given).table.location == location


def test_default_target_is_used_where_none_is_chosen(write_spec: Write, spec_text: str) -> None:
    """`default_target` chooses, `target` beats it."""
    path = write_spec(located(spec_text), f"{PROJECT}default_target: dev\n")
    assert load_spec(path).table.location == "/dev/flights"
    assert load_spec(path, target="prod").table.location == "/prod/flights"


def test_unknown_target_is_a_fault_with_the_nearest_name(write_spec: Write, spec_text: str) -> None:
    """A mistyped target never runs for another place."""
    (finding,) = faults(write_spec(located(spec_text), PROJECT), target="prd")
    assert (finding.rule, finding.suggestion) == ("spec/unknown-target", "prod")
    (finding,) = faults(write_spec(located(spec_text), PROJECT + "default_target: d\n"))
    assert finding.rule == "spec/unknown-target"


def test_target_without_a_project_file_is_a_fault(write_spec: Write, spec_text: str) -> None:
    """There is nothing that it could choose from."""
    (finding,) = faults(write_spec(spec_text), target="prod")
    assert finding.rule == "spec/unknown-target"


def test_option_takes_the_type_of_what_it_replaces(write_spec: Write, spec_text: str) -> None:
    """Text stays text for a text variable, and is a number where a number is wanted."""
    text = (
        located(spec_text).replace("nyc.flights", "${var.name}") + "  parallelism: ${var.cores}\n"
    )
    path = write_spec(text, PROJECT.replace("{lake: /base", "{name: x, lake: /base"))
    spec = load_spec(path, variables={"cores": "16", "name": "2013"})
    assert spec.bootstrap is not None
    assert (spec.bootstrap.parallelism, spec.table.name) == (16, "2013")
    (finding,) = faults(path, variables={"cores": "many"})
    assert (finding.rule, finding.key_path) == ("spec/wrong-type", "bootstrap.parallelism")


def test_option_is_stored_in_the_type_of_its_field(write_spec: Write, spec_text: str) -> None:
    """A number by --var and the same number in the file make the same spec."""
    given = load_spec(write_spec(f"{spec_text}  parallelism: ${{var.n}}\n"), variables={"n": "16"})
    written = load_spec(write_spec(f"{spec_text}  parallelism: 16\n"))
    assert given.stored() == written.stored()
    assert given.content_hash == written.content_hash


def test_option_that_nothing_uses_is_a_warning(write_spec: Write, spec_text: str) -> None:
    """A mistyped --var is reported, with the nearest declared name."""
    (warning,) = load_spec(write_spec(spec_text, PROJECT), variables={"lak": "/x"}).warnings
    assert (warning.rule, warning.suggestion) == ("spec/unused-variable", "lake")
    assert load_spec(write_spec(spec_text, PROJECT), variables={"lake": "/x"}).warnings == ()


def test_option_with_an_impossible_name_is_a_fault(write_spec: Write, spec_text: str) -> None:
    """No reference could spell it."""
    found = faults(write_spec(spec_text), variables={"my-lake": "/x"})
    assert [(f.rule, f.suggestion) for f in found if f.severity == "error"] == [
        ("spec/bad-name", "my_lake")
    ]


def test_defaults_fill_what_the_spec_leaves_out(write_spec: Write, spec_text: str) -> None:
    """A written field wins whole; `spark.conf` is merged; no section but spark is added."""
    defaults = """\
defaults:
  table: {type: merge_on_read, name: other, ordering: {columns: [ts]}}
  bootstrap: {parallelism: 4}
  spark: {master: 'local[1]', conf: {spark.a: 1, spark.b: 2}}
"""
    text = spec_text.replace("  type: copy_on_write\n", "") + "spark: {conf: {spark.b: 3}}\n"
    spec = load_spec(write_spec(text, PROJECT + defaults))
    assert (spec.table.type, spec.table.name) == (TableType.MERGE_ON_READ, "nyc.flights")
    assert spec.bootstrap is not None
    assert spec.bootstrap.parallelism == 4
    assert spec.spark is not None
    assert spec.spark.master == "local[1]"
    assert spec.spark.conf == {"spark.b": "3", "spark.a": "1"}
    silent = load_spec(write_spec(spec_text.partition("bootstrap:")[0], PROJECT + defaults))
    assert silent.bootstrap is None
    assert silent.spark is not None


def test_fault_in_a_default_points_into_the_project_file(write_spec: Write, spec_text: str) -> None:
    """A default is judged within the spec, and shown where it is written."""
    path = write_spec(spec_text, f"{PROJECT}defaults:\n  bootstrap: {{parallelism: none}}\n")
    (finding,) = faults(path)
    assert finding.rule == "spec/wrong-type"
    assert finding.where.file == str(path.parent / "run-pipeline.yml")
    assert (finding.where.line, finding.where.column) == (7, 28)


@pytest.mark.parametrize(
    ("project", "rule", "line", "column", "suggestion"),
    [
        ("variables: {a: 1}\n", "missing-field", 1, 1, "version: 1"),
        ("version: 2\n", "unsupported-version", 1, 10, "1"),
        ("version: 1\nvariabels: {}\n", "unknown-field", 2, 1, "variables"),
        ("version: 1\nvariables: {a-b: 1}\n", "bad-name", 2, 13, "a_b"),
        ("version: 1\nvariables: {1: 1}\n", "key-not-text", 2, 13, "'1'"),
        ("version: 1\nvariables: {a: [1]}\n", "wrong-type", 2, 16, None),
        ("version: 1\nvariables: {a: ~}\n", "empty-value", 2, 13, None),
        ("version: 1\nvariables: {a: '${var.b}', b: 1}\n", "nested-variable", 2, 16, None),
        (
            "version: 1\nvariables: {a: '${env.LAKESTRAP_NONE}'}\n",
            "undefined-environment-variable",
            2,
            16,
            None,
        ),
        ("version: 1\ntargets: {a: {vars: {}}}\n", "unknown-field", 2, 15, "variables"),
        ("version: 1\ntargets: [a]\n", "wrong-type", 2, 10, None),
        ("version: 1\ndefaults: {tables: {}}\n", "unknown-field", 2, 12, "table"),
        ("version: 1\ndefaults: 1\n", "wrong-type", 2, 11, None),
        ("version: 1\ndefaults:\n", "empty-value", 2, 1, None),
        ("version: 1\ndefaults: {table: 1}\n", "wrong-type", 2, 19, None),
        ("version: 1\ndefaults: {table: }\n", "empty-value", 2, 12, None),
        ("version: 1\ndefault_target: 1\n", "wrong-type", 2, 17, "'1'"),
        ("- 1\n", "wrong-type", 1, 1, None),
        ("a: [\n", "yaml-syntax", 1, 5, None),
        ("\ufeffversion: 1\n", "byte-order-mark", 1, 1, "save as UTF-8 without BOM"),
    ],
)
def test_fault_in_the_project_file_gives_one_finding_at_its_place(  # noqa: PLR0917 - a table
    write_spec: Write,
    spec_text: str,
    project: str,
    rule: str,
    line: int,
    column: int,
    suggestion: str | None,
) -> None:
    """The project file is as strict as a spec."""
    path = write_spec(spec_text, project)
    (finding,) = faults(path)
    assert finding.where.file == str(path.parent / "run-pipeline.yml")
    assert (finding.rule, finding.suggestion) == (f"spec/{rule}", suggestion)
    assert (finding.where.line, finding.where.column) == (line, column)


def test_faults_of_both_files_come_together(write_spec: Write, spec_text: str) -> None:
    """One run reports the faults of both, sorted by file."""
    path = write_spec(spec_text.replace("hive", "hvie"), "version: 1\nvariabels: {}\n")
    assert [f.rule for f in faults(path)] == ["spec/unknown-field", "spec/unknown-value"]


def test_project_file_is_named_as_the_spec_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A spec given by a relative path has its project file shown by one."""
    (tmp_path / "run-pipeline.yml").touch()
    (tmp_path / "a").mkdir()
    monkeypatch.chdir(tmp_path)
    assert find_project_file(Path("a/x.pipeline.yml")) == Path("run-pipeline.yml")
    monkeypatch.chdir(tmp_path / "a")
    assert find_project_file(Path("x.pipeline.yml")) == tmp_path / "run-pipeline.yml"


def test_project_file_is_found_upwards_to_the_repository(tmp_path: Path) -> None:
    """The nearest one counts; beyond the folder that holds `.git` nothing is looked at."""
    (tmp_path / "run-pipeline.yml").touch()
    inner = tmp_path / "repo" / "a" / "b"
    inner.mkdir(parents=True)
    assert find_project_file(inner / "x.pipeline.yml") == tmp_path / "run-pipeline.yml"
    (tmp_path / "repo" / ".git").mkdir()
    assert find_project_file(inner / "x.pipeline.yml") is None
    (tmp_path / "repo" / "run-pipeline.yml").touch()
    assert find_project_file(inner / "x.pipeline.yml") == tmp_path / "repo" / "run-pipeline.yml"
