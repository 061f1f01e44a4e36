"""SQL of specs calls what is on the list and reads declared views, as `validate` sees it."""

# ruff: noqa: S608 - attacks and queries are put together from parts here

from __future__ import annotations

import pytest

from framework.errors import SpecError
from framework.spec.loader import load_spec
from framework.spec.sql.allowed_sql import expression_faults, query_faults
from framework.spec.sql.functions import AGGREGATES, function_fault, refused_functions
from framework.spec.sql.statement import StatementError, finished_statement
from tests.support.spec_sql import (
    ATTACKS,
    CALLS,
    COMMANDS,
    PREDICATE_ATTACKS,
    PREDICATES,
    QUERIES,
    QUERIES_OF_SPARK_4,
    READS,
)
from tests.unit.spec.conftest import WriteSpec

RULES = {"function-not-allowed", "view-not-declared", "bad-sql"}
LOADING = """\
version: 1
table:
  name: nyc.flights
  location: lake/flights
  record_key: auto
source: {path: lake/landing}
write: {operation: insert}
"""


@pytest.mark.parametrize("sql", ATTACKS)
def test_attack_in_a_query_has_a_fault_with_its_place(sql: str) -> None:
    """Whatever the case, the quotes, the comments and the clause."""
    try:
        faults = query_faults(finished_statement(sql), ("source",))
    except StatementError:
        assert sql in COMMANDS
        return
    assert faults
    for fault in faults:
        assert fault.rule in RULES
        assert 0 <= fault.offset < len(sql)
        assert fault.message


@pytest.mark.parametrize("call", CALLS)
def test_call_that_is_not_allowed_is_named_where_it_is_written(call: str) -> None:
    """The place is that of the function's own name."""
    sql = f"SELECT\n  {call} AS s FROM source"
    places = {f.offset for f in query_faults(sql, ("source",)) if f.rule == "function-not-allowed"}
    name = call.replace("`", "").lower()
    known = next((each for each in sorted(refused_functions()) if f"{each}(" in name), None)
    assert places, sql
    if known and "." not in name.partition("(")[0]:
        assert {sql.lower().replace("`", "").find(known, at - 1) for at in places} != {-1}


@pytest.mark.parametrize("sql", READS)
def test_relation_that_is_no_view_is_refused_where_it_is_written(sql: str) -> None:
    """The fault begins at the first part of its name; what cannot be read has a place as well."""
    faults = query_faults(sql, ("source",))
    assert faults
    shown = [sql[fault.offset : fault.offset + fault.length] for fault in faults]
    if "`/etc/passwd`" in sql and "IDENTIFIER" not in sql:
        assert any("/etc/passwd" in each for each in shown)


@pytest.mark.parametrize("sql", QUERIES + QUERIES_OF_SPARK_4)
def test_query_that_only_computes_has_no_fault(sql: str) -> None:
    """Everything that the session takes as well, as its own test shows."""
    assert query_faults(finished_statement(sql), ("source",)) == []


@pytest.mark.parametrize("sql", PREDICATE_ATTACKS)
def test_attack_in_a_predicate_has_a_fault(sql: str) -> None:
    """A query inside a predicate reads the rows that are checked, and no others."""
    faults = expression_faults(sql, ("this",))
    assert faults
    assert all(0 <= fault.offset < len(sql) for fault in faults)


@pytest.mark.parametrize("sql", PREDICATES)
def test_predicate_that_only_computes_has_no_fault(sql: str) -> None:
    """So with expressions."""
    assert expression_faults(sql, ("this",)) == []


def test_misspelled_names_come_with_the_nearest() -> None:
    """Of functions and of views."""
    (function,) = query_faults("SELECT strng(v) FROM source", ("source",))
    assert function.suggestion == "string"
    (view,) = query_faults("SELECT 1 FROM sources", ("source", "valid"))
    assert view.suggestion == "source"


def test_known_aggregates_are_allowed() -> None:
    """What `expect_aggregate` needs is on the list."""
    assert [name for name in sorted(AGGREGATES) if function_fault(name)] == []


def test_deep_query_is_refused_and_not_crashed_on() -> None:
    """The parser's depth is bounded."""
    sql = f"SELECT {'(' * 20_000}1{')' * 20_000} FROM source"
    assert {fault.rule for fault in query_faults(sql, ("source",))} == {"bad-sql"}


def findings_of(write_spec: WriteSpec, text: str) -> list[tuple[str, int | None, int | None]]:
    """Return rule, line and column of each finding."""
    with pytest.raises(SpecError) as caught:
        load_spec(write_spec(text))
    return [(each.rule, each.where.line, each.where.column) for each in caught.value.findings]


def test_transform_that_calls_java_is_refused_at_its_line_and_column(
    write_spec: WriteSpec,
) -> None:
    """In a block of SQL, and beside what Jinja makes."""
    text = f"""{LOADING}transforms:
  - name: rows
    sql: |
      {{% for c in ['a', 'b'] %}}{{% endfor %}}
      SELECT id, reflect('java.lang.System', 'getenv', 'HOME') AS s
      FROM text.`/etc/passwd`
"""
    assert findings_of(write_spec, text) == [
        ("spec/function-not-allowed", 12, 18),
        ("spec/view-not-declared", 13, 12),
    ]


def test_transform_reads_the_views_before_it_and_no_later_one(write_spec: WriteSpec) -> None:
    """Nor itself."""
    text = f"""{LOADING}transforms:
  - {{name: a, sql: SELECT * FROM source}}
  - {{name: b, sql: SELECT * FROM a JOIN source USING (id)}}
  - {{name: c, sql: SELECT * FROM d}}
  - {{name: d, sql: SELECT * FROM d}}
"""
    assert findings_of(write_spec, text) == [
        ("spec/view-not-declared", 11, 34),
        ("spec/view-not-declared", 12, 34),
    ]


def test_file_of_sql_is_checked_with_line_and_column_in_the_message(
    write_spec: WriteSpec,
) -> None:
    """The finding is where the file is named."""
    path = write_spec(f"{LOADING}transforms:\n  - {{name: a, sql_file: a.sql}}\n")
    path.with_name("a.sql").write_text("SELECT id,\n  java_method('a', 'b')\nFROM source\n")
    with pytest.raises(SpecError) as caught:
        load_spec(path)
    (found,) = caught.value.findings
    assert found.rule == "spec/function-not-allowed"
    assert found.message.startswith("line 2, column 3 of the file: ")


@pytest.mark.parametrize(
    ("check", "column"),
    [
        ("{name: a, expect: \"reflect('a', 'b') = v\"}", 26),
        ("{name: a, expect: v > 1, where: \"reflect('a', 'b') = v\"}", 40),
        ("{name: a, expect_aggregate: \"max(reflect('a', 'b')) = 'c'\"}", 40),
        ("{name: a, query: \"SELECT reflect('a', v) FROM this\"}", 32),
    ],
)
def test_checks_that_call_java_are_refused(check: str, column: int, write_spec: WriteSpec) -> None:
    """Every field of a check that is SQL."""
    text = f"{LOADING}quality:\n  checks:\n    - {check}\n"
    assert findings_of(write_spec, text) == [("spec/function-not-allowed", 10, column)]


def test_condition_of_an_expectation_that_calls_java_is_refused(write_spec: WriteSpec) -> None:
    """`row_condition` is SQL as well."""
    text = f"""{LOADING}quality:
  checks:
    - name: a
      gx: expect_column_values_to_not_be_null
      arguments: {{column: v, row_condition: "reflect('a', 'b') = v"}}
"""
    assert findings_of(write_spec, text) == [("spec/function-not-allowed", 12, 46)]
