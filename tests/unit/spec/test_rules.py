"""Every rule of the spec language, as the fault that breaks it.

The cases are in `fault_cases`, `catalog_cases`, `load_cases`, `maintenance_cases` and
`quality_cases`.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from framework.errors import Finding, SpecError
from framework.spec.loader import load_spec
from tests.unit.spec.catalog_cases import CATALOG_CASES, CATALOG_WARNINGS
from tests.unit.spec.fault_cases import CASES, MARK, PROJECT, WARNINGS, WHOLE, Case
from tests.unit.spec.load_cases import LOAD_CASES, LOAD_WARNINGS
from tests.unit.spec.maintenance_cases import MAINTENANCE_CASES
from tests.unit.spec.quality_cases import QUALITY_CASES, QUALITY_WARNINGS

Write = Callable[..., Path]
FAULTS = [*CASES, *CATALOG_CASES, *LOAD_CASES, *MAINTENANCE_CASES, *QUALITY_CASES]
DOUBTS = [*WARNINGS, *CATALOG_WARNINGS, *LOAD_WARNINGS, *QUALITY_WARNINGS]


def names(cases: list[Case]) -> list[str]:
    """A readable id for each case: its rule, numbered."""
    return [f"{case.rule}-{index}" for index, case in enumerate(cases)]


def edited(case: Case, sound: str) -> tuple[str, int, int]:
    """The text of the case, with the line and column of its mark (0 where it has none)."""
    if case.old != WHOLE:
        assert sound.count(case.old) == 1, case.old
    marked = case.new if case.old == WHOLE else sound.replace(case.old, case.new)
    if MARK not in marked:
        return marked, 0, 0
    before = marked.partition(MARK)[0].split("\n")
    return marked.replace(MARK, ""), len(before), len(before[-1]) + 1


def faults(path: Path) -> tuple[Finding, ...]:
    """The findings of a spec that must not load."""
    with pytest.raises(SpecError) as caught:
        load_spec(path)
    return caught.value.findings


@pytest.fixture(autouse=True)
def _environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """One environment variable and one secret that the cases count on."""
    monkeypatch.setenv("LAKESTRAP_LAKE", "lake")
    monkeypatch.setenv("RUN_PIPELINE_SECRET_TOKEN", "canary")


@pytest.mark.parametrize("case", FAULTS, ids=names(FAULTS))
def test_fault_in_a_spec_gives_one_finding_at_its_place(
    case: Case, write_spec: Write, spec_text: str
) -> None:
    """One fault is one finding, with the rule, place and suggestion that the case names."""
    text, line, column = edited(case, spec_text)
    found = faults(write_spec(text, PROJECT))
    assert [f.rule for f in found] == [f"spec/{case.rule}"]
    assert found[0].suggestion == case.suggestion
    if line:
        assert (found[0].where.line, found[0].where.column) == (line, column)


@pytest.mark.parametrize("case", FAULTS, ids=names(FAULTS))
def test_finding_shows_the_line_and_underlines_within_it(
    case: Case, write_spec: Write, spec_text: str
) -> None:
    """The source line is the file's own, and the underline begins in it and is not empty."""
    text, _, _ = edited(case, spec_text)
    (finding,) = faults(write_spec(text, PROJECT))
    if finding.source_line is None:
        assert case.rule == "control-character"
        return
    assert finding.where.line is not None
    assert finding.where.column is not None
    assert finding.source_line == text.split("\n")[finding.where.line - 1]
    assert 1 <= finding.where.column <= len(finding.source_line) + 1
    assert 1 <= finding.length <= max(1, len(finding.source_line) - finding.where.column + 1)


@pytest.mark.parametrize("case", DOUBTS, ids=names(DOUBTS))
def test_doubtful_spec_loads_with_one_warning(
    case: Case, write_spec: Write, spec_text: str
) -> None:
    """What is doubtful but sound loads, with one warning at its place."""
    text, line, column = edited(case, spec_text)
    (warning,) = load_spec(write_spec(text, PROJECT)).warnings
    assert (warning.rule, warning.severity) == (f"spec/{case.rule}", "warning")
    assert (warning.where.line, warning.where.column) == (line, column)
    assert warning.suggestion == case.suggestion


def test_spec_without_bootstrap_loads_with_a_warning(write_spec: Write, spec_text: str) -> None:
    """A spec that only describes a table is of use to `status`, but a run does nothing."""
    spec = load_spec(write_spec(spec_text.partition("bootstrap:")[0]))
    assert spec.bootstrap is None
    assert [(w.rule, w.where.line) for w in spec.warnings] == [("spec/nothing-to-run", 2)]


def test_spec_that_deletes_partitions_loads_without_a_warning(
    write_spec: Write, spec_text: str
) -> None:
    """It has something to do, though it neither bootstraps nor loads."""
    begin = spec_text.partition("bootstrap:")[0]
    text = f"{begin}write: {{operation: delete_partition, partitions: ['month=1*', month=8]}}\n"
    spec = load_spec(write_spec(text))
    assert spec.warnings == ()
    assert spec.write is not None
    assert spec.write.partitions == ("month=1*", "month=8")


def test_faults_of_later_runs_come_at_once(write_spec: Write, spec_text: str) -> None:
    """Those within a field, between fields and within SQL do not hide one another."""
    text = (
        "source: {path: a, format: CSV, options: {path: b}}\n"
        "transforms:\n"
        "  - {name: source, sql: 'SELECT {{ var.no }}'}\n"
        "  - {name: b, sql: DROP TABLE a}\n"
        "  - {name: B, sql_file: no.sql}\n"
        "write: {operation: upsert, target_file_size: 1, small_file_limit: x}\n"
    )
    found = faults(write_spec(spec_text + text))
    assert [(f.rule, f.where.line) for f in found] == [
        ("spec/unknown-value", 14),
        ("spec/reserved-option", 14),
        ("spec/transform-name", 16),
        ("spec/undefined-variable", 16),
        ("spec/bad-sql", 17),
        ("spec/duplicate-transform", 18),
        ("spec/file-not-found", 18),
        ("spec/ordering-required", 19),
        ("spec/out-of-range", 19),
        ("spec/bad-size", 19),
    ]


def test_list_in_the_place_of_a_word_hides_no_other_fault(
    write_spec: Write, spec_text: str
) -> None:
    """Checks across fields pass over what is at fault itself, whatever its type."""
    text = (
        spec_text.replace("{month: int}", "{month: [1]}")
        + "  rules: [{where: {month: 8, day: 1}, mode: skip}]\n"
        + "source: {path: a, format: [csv], load: [all]}\n"
        + "write: {operation: [insert], small_file_limit: [1], partitions: [a]}\n"
        + "transforms: [{name: [a], sql: [SELECT 1]}]\n"
    )
    found = faults(write_spec(text))
    assert [(f.rule, f.where.line) for f in found] == [
        ("spec/unknown-value", 6),
        ("spec/unknown-partition-column", 14),
        ("spec/wrong-type", 15),
        ("spec/unknown-value", 15),
        ("spec/unknown-value", 16),
        ("spec/wrong-type", 16),
        ("spec/wrong-type", 17),
        ("spec/wrong-type", 17),
    ]


def test_many_faults_come_at_once_sorted_by_line(write_spec: Write, spec_text: str) -> None:
    """Faults of YAML, references, fields and relations are reported at once, from top to bottom."""
    text = spec_text
    for old, new in (
        ("version: 1", "version: 2"),
        ("nyc.flights", "&x my table"),
        ("copy_on_write", "merge_on_read"),
        ("{month: int}", "{month: int, day: ${var.type}}"),
        ("table\nbootstrap", "tables\ncatalog: {}\nbootstrap"),
        ("lake/raw/flights", "gs://x"),
        ("hive", "none"),
        ("  mode: metadata_only\n", "  mode: metadata_only\n  mode: skip\n  parallelism: eight\n"),
    ):
        text = text.replace(old, new)
    found = faults(write_spec(text, PROJECT))
    assert [(f.rule, f.where.line) for f in found] == [
        ("spec/unsupported-version", 1),
        ("spec/table-name", 3),
        ("spec/yaml-anchor", 3),
        ("spec/ordering-required", 5),
        ("spec/unquoted-reference", 6),
        ("spec/unknown-value", 9),
        ("spec/missing-field", 10),
        ("spec/scheme-not-built", 12),
        ("spec/layout-mismatch", 13),
        ("spec/duplicate-key", 15),
        ("spec/wrong-type", 16),
    ]


def test_duplicate_key_names_both_lines(write_spec: Write, spec_text: str) -> None:
    """The finding is at the second key and names the line of the first."""
    (finding,) = faults(write_spec(spec_text + "  mode: skip\n"))
    assert finding.where.line == 14
    assert "line 13" in finding.message


def rule_ids_in_code() -> set[str]:
    """The rule ids that the room's source can give."""
    found: set[str] = set()
    for path in Path("framework/spec").rglob("*.py"):
        text = path.read_text("utf-8")
        found.update(re.findall(r'"spec/([a-z0-9-]+)"', text))
        found.update(re.findall(r'(?:fault|_note|_note_within)\(\s*"([a-z0-9-]+)"', text))
        found.update(f"yaml-{kind}" for kind in re.findall(r'_refuse\(\s*"([a-z-]+)"', text))
        found.update(re.findall(r'return "([a-z]+-[a-z-]+)", ', text))
        found.update(re.findall(r'\brule="([a-z-]+)"', text))
    return found


def test_every_rule_of_the_code_is_in_the_guide_and_vice_versa() -> None:
    """The guide's table of rules is complete and names none that does not exist."""
    guide = Path("docs/guide/specs.md").read_text("utf-8")
    listed = set(re.findall(r"^\| `spec/([a-z0-9-]+)` \|", guide, re.MULTILINE))
    assert listed == rule_ids_in_code()
