"""Checks, profiles, column contracts and tests: from several files to one spec."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from framework.cli.app import main
from framework.errors import Finding, SpecError
from framework.spec.loader import load_spec
from framework.vocabulary import AuditDepth, CheckedRows, CheckKind, OnFail

Write = Callable[..., Path]

PROJECT = """\
version: 1
variables: {least: 10, lake: /lake}
profiles:
  money:
    - {name: amount_positive, expect: 'amount > ${var.least}'}
  keys:
    - name: no_orphans
      query: SELECT * FROM this WHERE id > {{ var.least }} AND city = '${env.CITY}'
"""
TABLE = """\
version: 1
table:
  name: nyc.flights
  location: lake/flights
  partition_by: {month: int}
  record_key: {columns: [id], unique_within: table}
  ordering: {columns: [ts]}
"""
LOADS = "source: {path: lake/landing}\nwrite: {operation: insert}\n"
CONTRACT = "  columns: {amount: {type: double}, day: {type: date}, tag: {type: string}}\n"


@pytest.fixture(autouse=True)
def _environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """A variable that a profile counts on."""
    monkeypatch.setenv("CITY", "Chicago")


def faults(path: Path) -> list[tuple[str, str, int | None, int | None]]:
    """Rule, file, line and column of the findings of a spec that must not load."""
    with pytest.raises(SpecError) as caught:
        load_spec(path)
    return [_short(finding) for finding in caught.value.findings]


def _short(found: Finding) -> tuple[str, str, int | None, int | None]:
    """Rule without its room, name of the file, line and column."""
    where = found.where
    return found.rule.removeprefix("spec/"), Path(str(where.file)).name, where.line, where.column


def test_check_has_its_values_and_defaults(write_spec: Write) -> None:
    """What is written is there, and what is not has the strictest meaning."""
    text = (
        "quality:\n  checks:\n"
        "    - {name: a, expect: x > 0}\n"
        "    - {name: b, expect: x > 0, where: y, allow_null: true, on_fail: drop,\n"
        "       max_failed: 1%}\n"
        "    - {name: c, expect_aggregate: count(*) > 1, over: table, on_fail: warn}\n"
    )
    spec = load_spec(write_spec(TABLE + LOADS + text))
    first, second, third = (check.fields for check in spec.checks)
    assert (first.kind, first.text) == (CheckKind.EXPECT, "x > 0")
    assert (first.on_fail, first.over, first.max_failed) == (OnFail.ABORT, CheckedRows.WRITTEN, 0)
    assert (first.where, first.allow_null) == (None, False)
    assert (second.where, second.allow_null, second.max_failed) == ("y", True, "1%")
    assert (third.kind, third.text) == (CheckKind.EXPECT_AGGREGATE, "count(*) > 1")
    assert (third.over, third.on_fail) == (CheckedRows.TABLE, OnFail.WARN)
    assert [check.key_path for check in spec.checks] == [f"quality.checks[{i}]" for i in range(3)]
    assert spec.quality is not None
    assert (spec.quality.samples, spec.quality.redact) == (5, ())
    assert spec.quality.audit is AuditDepth.SAMPLE


def test_profiles_come_before_the_specs_own_checks(write_spec: Write) -> None:
    """In the order in which they are named, with references and templates filled in."""
    text = "quality: {profiles: [keys, money], checks: [{name: own, expect: x > 0}]}\n"
    spec = load_spec(write_spec(TABLE + LOADS + text, PROJECT))
    assert [(check.fields.name, check.fields.text) for check in spec.checks] == [
        ("no_orphans", "SELECT * FROM this WHERE id > 10 AND city = 'Chicago'"),
        ("amount_positive", "amount > 10"),
        ("own", "x > 0"),
    ]
    where = spec.positions.where(spec.checks[1].key_path + ".expect")
    assert (Path(str(where.file)).name, where.line) == ("run-pipeline.yml", 5)


def test_profile_that_is_not_named_does_not_run(write_spec: Write) -> None:
    """It is checked for form alone."""
    text = "quality: {checks: [{name: amount_positive, expect: x > 0}]}\n"
    assert len(load_spec(write_spec(TABLE + LOADS + text, PROJECT)).checks) == 1


def test_faults_in_profiles_are_shown_in_the_project_file(write_spec: Write) -> None:
    """Those of form in every profile, those against the contract in the profiles that run."""
    project = (
        "version: 1\nprofiles:\n"
        "  money: [{name: a, expect: amuont > 0}, {name: b, expect: day > 'x'}]\n"
        "  other: [{name: c, expect: count(*) > 0}, {name: d, expct: x}]\n"
    )
    text = "quality: {profiles: [money, othr]}\n"
    assert faults(write_spec(TABLE + CONTRACT + LOADS + text, project)) == [
        ("bad-literal", "run-pipeline.yml", 3, 66),
        ("not-a-row-predicate", "run-pipeline.yml", 4, 29),
        ("one-check", "run-pipeline.yml", 4, 44),
        ("unknown-field", "run-pipeline.yml", 4, 54),
        ("unknown-profile", "x.pipeline.yml", 11, 29),
        ("unknown-column", "run-pipeline.yml", 3, 29),
    ]


def test_fault_of_a_profile_is_reported_once_for_all_specs(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """However many specs are validated together, it is one fault of one file."""
    (tmp_path / ".git").mkdir()
    project = "version: 1\nprofiles: {money: [{name: a, expect: 1 = 1}]}\n"
    (tmp_path / "run-pipeline.yml").write_text(project)
    for name in ("a", "b"):
        text = TABLE + LOADS + "quality: {profiles: [money]}\n"
        (tmp_path / f"{name}.pipeline.yml").write_text(text)
    assert main(["validate", str(tmp_path), "--format", "github"]) == 1
    assert capsys.readouterr().out.count("vacuous-check") == 1


def test_profiles_may_not_share_the_name_of_a_check(write_spec: Write) -> None:
    """A clash of profiles is reported where the second is named, otherwise at the name."""
    project = (
        "version: 1\nprofiles:\n"
        "  one: [{name: a, expect: x}, {name: A, expect: x}]\n"
        "  two: [{name: a, expect: x}]\n"
    )
    text = "quality: {profiles: [one, two, two], checks: [{name: a, expect: x}]}\n"
    assert faults(write_spec(TABLE + LOADS + text, project)) == [
        ("duplicate-check", "run-pipeline.yml", 3, 38),
        ("duplicate-check", "x.pipeline.yml", 10, 27),
        ("duplicate-check", "x.pipeline.yml", 10, 32),
        ("duplicate-check", "x.pipeline.yml", 10, 54),
    ]


@pytest.mark.parametrize(
    ("project", "rule", "line", "column"),
    [
        ("profiles: []\n", "wrong-type", 2, 11),
        ("profiles: {a-b: [{name: a, expect: x}]}\n", "bad-name", 2, 12),
        ("profiles: {money: }\n", "empty-value", 2, 12),
        ("profiles: {money: []}\n", "empty-value", 2, 19),
        ("profiles: {money: {name: a}}\n", "wrong-type", 2, 19),
        ("profiles: {money: [{name: a, expect: x, onfail: warn}]}\n", "unknown-field", 2, 41),
    ],
)
def test_fault_in_the_form_of_profiles_has_its_place(
    write_spec: Write, project: str, rule: str, line: int, column: int
) -> None:
    """Whether or not a spec names them."""
    found = faults(write_spec(TABLE + LOADS, f"version: 1\n{project}"))
    assert found == [(rule, "run-pipeline.yml", line, column)]


def test_profiles_in_a_spec_are_refused(write_spec: Write) -> None:
    """They belong to the project file, and its own are not mixed with them."""
    text = "profiles: {money: [{name: a, expect: x}]}\n"
    assert faults(write_spec(TABLE + LOADS + text, PROJECT)) == [
        ("unknown-field", "x.pipeline.yml", 10, 1)
    ]


def test_columns_may_be_in_a_separate_file(write_spec: Write, tmp_path: Path) -> None:
    """Its path starts at the spec's folder, may hold references, and lead elsewhere."""
    folder = tmp_path.parent / f"{tmp_path.name}-schemas"
    folder.mkdir()
    (folder / "a.columns.yml").write_text("amount: {type: DOUBLE, nullable: false}\n")
    line = "  columns: ../${var.schemas}/a.columns.yml\nsource: {path: a}\n"
    project = f"version: 1\nvariables: {{schemas: {folder.name}}}\n"
    spec = load_spec(write_spec(TABLE + line + "write: {operation: insert}\n", project))
    assert spec.table.columns is not None
    assert (spec.table.columns["amount"].type, spec.table.columns["amount"].nullable) == (
        "double",
        False,
    )
    assert spec.positions.where("table.columns.amount.type").file == str(folder / "a.columns.yml")


@pytest.mark.parametrize(
    ("content", "rule", "place"),
    [
        ("a: {type: strng}\n", "bad-type", (1, 11)),
        ("a: {typ: int}\n", "unknown-field", (1, 5)),
        ("a: {type: int\n", "yaml-syntax", (1, 4)),
        ("a: &x {type: int}\n", "yaml-anchor", (1, 4)),
        ("a: {type: int}\na: {type: int}\n", "duplicate-key", (2, 1)),
        ("a: {allowed: ['${var.no}']}\n", "undefined-variable", (1, 15)),
        ("a: {type: int, allowed: [x]}\n", "bad-literal", (1, 26)),
    ],
)
def test_fault_in_a_file_of_columns_is_shown_there(
    write_spec: Write, tmp_path: Path, content: str, rule: str, place: tuple[int, int]
) -> None:
    """Its lines are those of the file."""
    (tmp_path / "a.columns.yml").write_text(content)
    found = faults(write_spec(TABLE + "  columns: a.columns.yml\n" + LOADS))
    assert found == [(rule, "a.columns.yml", *place)]


@pytest.mark.parametrize("content", ["", "- a\n", "text\n"])
def test_file_of_columns_without_a_mapping_is_refused(
    write_spec: Write, tmp_path: Path, content: str
) -> None:
    """It is reported where the file is named."""
    (tmp_path / "a.columns.yml").write_text(content)
    found = faults(write_spec(TABLE + "  columns: a.columns.yml\n" + LOADS))
    assert found == [("columns-file", "x.pipeline.yml", 8, 12)]


def test_link_of_the_right_name_to_another_file_is_not_read(
    write_spec: Write, tmp_path: Path
) -> None:
    """A spec cannot expose a file of the machine through a link beside it."""
    (tmp_path / "secret.txt").write_text("root: x\n")
    (tmp_path / "a.columns.yml").symlink_to("secret.txt")
    found = faults(write_spec(TABLE + "  columns: a.columns.yml\n" + LOADS))
    assert found == [("columns-file", "x.pipeline.yml", 8, 12)]


def test_contract_knows_keys_partitions_and_hudis_own_columns(write_spec: Write) -> None:
    """Case makes no difference, and a qualified name is the column's."""
    predicate = (
        "AMOUNT > 0 AND id > 0 AND month > 0 AND ts > 0 "
        "AND _hoodie_file_name > '' AND this.tag > ''"
    )
    text = f'quality: {{checks: [{{name: a, expect: "{predicate}"}}], redact: [Tag, ID]}}\n'
    assert load_spec(write_spec(TABLE + CONTRACT + LOADS + text)).warnings == ()


def test_contract_of_some_columns_leaves_checks_on_others_alone(write_spec: Write) -> None:
    """What else the table has is in its data, which `plan` looks at."""
    text = (
        "quality:\n  redact: [passport]\n  checks:\n"
        "    - {name: a, expect: quantity > 0, where: this.colour = 'red'}\n"
        "    - {name: b, gx: expect_column_values_to_be_unique, arguments: {column: voucher}}\n"
    )
    assert load_spec(write_spec(TABLE + CONTRACT + LOADS + text)).warnings == ()


def test_faults_against_the_contract_come_with_the_word_at_fault(write_spec: Write) -> None:
    """In a text of several lines too, the column is that of the name."""
    text = (
        "quality:\n  redact: [email]\n  checks:\n    - name: a\n      expect: |\n"
        "        amount > 0\n          AND dya > DATE '2026-01-01'\n"
        "      where: amount >= 'abc' OR month IN ('x', '1') OR day = '2026-02-30' OR tag = 'x'\n"
    )
    assert faults(write_spec(TABLE + CONTRACT + LOADS + text)) == [
        ("bad-literal", "x.pipeline.yml", 18, 24),
        ("bad-literal", "x.pipeline.yml", 18, 43),
        ("bad-literal", "x.pipeline.yml", 18, 62),
        ("unknown-column", "x.pipeline.yml", 17, 15),
    ]


def test_text_spelled_differently_in_the_file_is_underlined_whole(write_spec: Write) -> None:
    """A reference or an escape moves every place behind it."""
    text = (
        "quality:\n  checks:\n"
        "    - {name: a, expect: '${var.least} > dya'}\n"
        '    - {name: b, expect: "\\x41 > dya"}\n'
        "    - {name: c, expect: 'dya = ''x'''}\n"
    )
    path = write_spec(TABLE + CONTRACT + LOADS + text, PROJECT)
    assert [_short(found) for found in load_spec(path).warnings] == [
        ("unknown-column", "x.pipeline.yml", 13, 25),
        ("unknown-column", "x.pipeline.yml", 14, 25),
        ("unknown-column", "x.pipeline.yml", 15, 25),
    ]


@pytest.mark.parametrize("operation", ["delete", "delete_partition"])
def test_check_of_written_rows_is_refused_where_none_are_written(
    write_spec: Write, operation: str
) -> None:
    """`over: table` still has something to look at, and so has a bootstrap."""
    more = ", partitions: ['month=1']" if operation == "delete_partition" else ""
    source = "" if more else "source: {path: lake/landing}\n"
    checks = (
        "quality:\n  profiles: [money]\n  checks:\n"
        "    - {name: a, expect: x > 0}\n    - {name: b, expect: x > 0, over: table}\n"
        "    - {name: c, expect: x > 0, over: written}\n"
    )
    text = f"{TABLE}{checks}{source}write: {{operation: {operation}{more}}}\n"
    assert faults(write_spec(text, PROJECT)) == [
        ("vacuous-check", "x.pipeline.yml", 9, 14),
        ("vacuous-check", "x.pipeline.yml", 11, 7),
        ("vacuous-check", "x.pipeline.yml", 13, 38),
    ]
    begins = "bootstrap: {path: lake/raw, layout: hive}\n"
    assert len(load_spec(write_spec(text + begins, PROJECT)).checks) == 4


def test_default_place_of_quarantined_rows_may_not_be_the_sources(write_spec: Write) -> None:
    """It counts only where a check or a column can quarantine rows."""
    loads = LOADS.replace("lake/landing", "lake/flights.quarantine")
    warns = "  columns: {a: {nullable: false, on_fail: warn}}\n"
    assert load_spec(write_spec(TABLE + warns + loads)).checks == ()
    quarantined = warns.replace("warn", "quarantine")
    assert faults(write_spec(TABLE + quarantined + loads)) == [
        ("path-overlap", "x.pipeline.yml", 4, 13)
    ]


def test_rows_of_tests_may_hold_nulls_and_nested_values(write_spec: Write) -> None:
    """They are any data that YAML has; elsewhere a field without a value is a slip."""
    text = (
        "tests:\n  - name: nulls\n    given: [{a: ~, b: [1, ~], c: {d: null}, e: x}]\n"
        "    table: []\n    expect: {rejected: [{a: ~}], refused_by: [columns.a.nullable]}\n"
    )
    contract = "  columns: {a: {nullable: false}}\n"
    (example,) = load_spec(write_spec(TABLE + contract + LOADS + text)).tests
    assert example.given == ({"a": None, "b": [1, None], "c": {"d": None}, "e": "x"},)
    assert (example.table, example.expect.quarantined) == ((), None)


def test_stored_spec_holds_checks_of_profiles_and_columns_of_files(
    write_spec: Write, tmp_path: Path
) -> None:
    """It loads without both, as the same checks; tests are not stored."""
    (tmp_path / "a.columns.yml").write_text("amount: {type: double, allowed: [1.5, 2]}\n")
    text = (
        "  columns: a.columns.yml\n"
        "quality: {profiles: [money, keys], quarantine: {max_ratio: 0.1}}\n"
        "tests: [{name: x, given: [], expect: {written: []}}]\n"
    )
    spec = load_spec(write_spec(TABLE + text + LOADS, PROJECT + "#"))
    stored = spec.stored()
    assert stored["quality"] == {
        "quarantine": {"max_ratio": 0.1},
        "samples": 5,
        "redact": [],
        "audit": "sample",
        "checks": [
            {"name": "amount_positive", "expect": "amount > 10"},
            {
                "name": "no_orphans",
                "query": "SELECT * FROM this WHERE id > 10 AND city = '${env.CITY}'",
            },
        ],
    }
    assert isinstance(stored["table"], dict)
    assert stored["table"]["columns"] == {"amount": {"type": "double", "allowed": [1.5, 2]}}
    assert "tests" not in stored


def test_hash_counts_checks_only_where_they_take_rows_out(write_spec: Write) -> None:
    """A check that refuses or warns leaves what is written as it is."""

    def hashed(text: str) -> str:
        return load_spec(write_spec(TABLE + text + LOADS)).content_hash

    plain = hashed("")
    check = "quality: {checks: [{name: a, expect: x > 0}]}\n"
    assert hashed(check) == plain
    assert hashed(check.replace("x > 0", "x > 0, on_fail: warn, max_failed: 9")) == plain
    assert hashed("tests: [{name: x, given: [], expect: {written: []}}]\n") == plain
    assert hashed("  columns: {a: {type: int, nullable: false}}\n") == plain
    drops = check.replace("x > 0", "x > 0, on_fail: drop")
    changed = [
        drops,
        drops.replace("x > 0", "x > 1"),
        drops.replace("drop", "drop, where: y"),
        drops.replace("drop", "quarantine"),
        drops.replace("drop", "quarantine").replace("]}", "], quarantine: {location: lake/bad}}"),
        "  columns: {a: {nullable: false, on_fail: drop}}\n",
        "  columns: {a: {allowed: [1], on_fail: drop}}\n",
    ]
    assert len({plain, *map(hashed, changed)}) == 1 + len(changed)
    assert hashed(drops.replace("name: a", "name: b")) == hashed(drops)


def test_variable_that_a_profile_or_a_query_uses_is_not_called_unused(write_spec: Write) -> None:
    """Whether by `${var.x}` or in a template."""
    project = PROJECT.replace("{least: 10, lake: /lake}", "{lake: /lake}")
    text = "quality: {profiles: [money]}\n"
    path = write_spec(TABLE + LOADS + text, project)
    assert load_spec(path, variables={"least": "3"}).warnings == ()


def test_duplicates_may_have_their_files_rewritten(write_spec: Write, spec_text: str) -> None:
    """`rewrite_files` is a value like the other."""
    spec = load_spec(write_spec(spec_text + "  on_duplicate: rewrite_files\n"))
    assert spec.bootstrap is not None
    assert spec.bootstrap.on_duplicate.value == "rewrite_files"
