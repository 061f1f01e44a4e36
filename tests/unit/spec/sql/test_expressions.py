"""The names in a Spark SQL expression, found by a light scan."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from framework.spec.sql.expressions import scan
from framework.spec.sql.predicates import reads_as
from framework.spec.sql.statement import StatementError
from tests.unit.spec.expression_cases import AGGREGATE, ROWWISE

WORDS = (
    "a b.c ( ) [ ] , . -> :: => = IN NOT NULL CASE WHEN END INTERVAL 1 'x' AS OVER TRIM EXTRACT "
    "FROM CAST < > >> IS DISTINCT BOTH TO DAY SELECT + - * `q` COLLATE"
)


@pytest.mark.parametrize(("expression", "columns"), [*ROWWISE, *AGGREGATE])
def test_columns_of_a_valid_expression_are_all_and_only_those_that_it_names(
    expression: str, columns: list[str]
) -> None:
    """No keyword, function, field, type, unit or parameter is taken for one."""
    assert [".".join(found.names) for found in scan(expression).columns] == columns


@pytest.mark.parametrize("expression", [case for case, _ in ROWWISE])
def test_valid_predicate_over_a_row_gives_no_sign_of_a_fault(expression: str) -> None:
    """It is neither constant nor over many rows, and no text in it is misread."""
    found = scan(expression)
    assert (found.aggregates, found.subqueries, found.windows) == ((), (), ())
    assert not found.is_constant
    assert all(reads_as(cast.text, cast.type.lower()) for cast in found.casts)


@pytest.mark.parametrize("expression", [case for case, _ in AGGREGATE])
def test_valid_predicate_over_all_rows_is_known_as_one(expression: str) -> None:
    """It has an aggregate, in any context."""
    assert scan(expression).may_aggregate


def test_column_has_its_place_in_the_text() -> None:
    """Offset and length are those of the whole reference, quotes included."""
    expression = "x > 1 AND\n `a b`.c IS NULL"
    first, second = scan(expression).columns
    assert expression[first.offset : first.offset + first.length] == "x"
    assert expression[second.offset : second.offset + second.length] == "`a b`.c"


@pytest.mark.parametrize(
    ("expression", "marked"),
    [
        ("a = null", ["= null"]),
        ("a <> NULL OR b", ["<> NULL"]),
        ("NULL != a", ["!= a"]),
        ("a > 1 AND (NULL<a OR b>=null)", ["<a", ">=null"]),
        ("exists(a, x -> x = NULL)", ["= NULL"]),
        ("CASE WHEN a = NULL THEN b END", ["= NULL"]),
        ("a NOT IN (1, NULL)", ["NULL)"]),
        ("a IN (NULL, null)", ["NULL, null"]),
        ("a <=> NULL", []),
        ("a IN (1, NULL)", []),
        ("a IS NULL", []),
        ("a IS NOT NULL AND b = 1", []),
        ("a = NULL IS NULL", []),
        ("f(x => NULL)", []),
        ("coalesce(a, NULL) = 1", []),
        ("CASE WHEN a THEN NULL END = b", []),
        ("a = nulls", []),
        ("a = 'NULL' OR `NULL` = b", []),
    ],
)
def test_comparison_with_null_is_found_at_its_position(expression: str, marked: list[str]) -> None:
    """Only those that are never true; `<=>` knows NULL."""
    found = scan(expression).null_comparisons
    assert len(found) == len(marked)
    for offset, text in zip(found, marked, strict=True):
        assert expression[offset:].startswith(text)


@pytest.mark.parametrize(
    ("expression", "found"),
    [
        ("CAST('abc' AS INT) = a", [("abc", "INT")]),
        ("CAST('1' AS decimal(10, 2)) = a", [("1", "decimal(10, 2)")]),
        ("'abc'::int = a AND '1'::array<int> IS NULL", [("abc", "int"), ("1", "array<int>")]),
        ("int('abc') = a", [("abc", "INT")]),
        ("a > DATE 'x' AND b < timestamp'y'", [("x", "DATE"), ("y", "TIMESTAMP")]),
        ("CAST(r'\\d' AS INT) = a", [("\\d", "INT")]),
        ("CAST('it\\'s' AS INT) = a", []),
        ("CAST('1' '2' AS INT) = a", []),
        ("try_cast('abc' AS INT) = a", []),
        ("CAST('a' || 'b' AS INT) = a", []),
        ("CAST(a AS INT) = 1", []),
        ("date('2026-01-01', 'yyyy') = a", []),
        ("X'zz' = a", []),
    ],
)
def test_text_that_is_cast_is_found_with_its_type(
    expression: str, found: list[tuple[str, str]]
) -> None:
    """Only one that is plain to read, and that nothing catches."""
    assert [(cast.text, cast.type) for cast in scan(expression).casts] == found


@pytest.mark.parametrize(
    ("expression", "found"),
    [
        ("a >= 'x'", [("a", "x")]),
        ("'x' = `a b` AND c", [("a b", "x")]),
        ("a BETWEEN 'x' AND 'y' AND b = 'z'", [("a", "x"), ("a", "y"), ("b", "z")]),
        ("a NOT BETWEEN 'x' AND b", [("a", "x")]),
        ("a IN ('x', 1, 'y')", [("a", "x"), ("a", "y")]),
        ("NOT a NOT IN ('x')", [("a", "x")]),
        ("a.b = 'x'", [("a.b", "x")]),
        ("a <=> 'x'", [("a", "x")]),
        ("a + b = 'x'", []),
        ("a = 'x' || b", []),
        ("-a = 'x'", []),
        ("f(a) = 'x' OR a[0] = 'y' OR a::string = 'z'", []),
        ("a IN ('x' || b, 'y')", []),
        ("a || 'x' = b", []),
        ("a = 'x' 'y'", []),
        ("a LIKE 'x'", []),
    ],
)
def test_text_compared_with_a_bare_column_is_found(
    expression: str, found: list[tuple[str, str]]
) -> None:
    """What is computed has another type than the column."""
    texts = scan(expression).text_comparisons
    assert [(".".join(each.names), each.text) for each in texts] == found


@pytest.mark.parametrize(
    "expression",
    ["1 = 1", "true", "'a' LIKE 'b'", "length('x') > 1", "current_date() > DATE '2026-01-01'"],
)
def test_expression_without_a_column_is_constant(expression: str) -> None:
    """It is the same for each row."""
    assert scan(expression).is_constant


@pytest.mark.parametrize(
    "expression",
    ["my_function() > 0", "rand() < 0.5", "input_file_name() <> ''", "user = 'x'", "a.f() > 1"],
)
def test_expression_that_may_differ_by_row_is_not_constant(expression: str) -> None:
    """Functions that are not known, and words that may be columns, are given the benefit."""
    assert not scan(expression).is_constant


@pytest.mark.parametrize(
    ("expression", "what"),
    [
        ("a > (SELECT max(a) FROM t)", "subqueries"),
        ("EXISTS (SELECT 1 FROM t WHERE t.x = a)", "subqueries"),
        ("a IN (SELECT b FROM t)", "subqueries"),
        ("a IN (WITH t AS (SELECT 1) SELECT * FROM t)", "subqueries"),
        ("row_number() OVER (PARTITION BY a ORDER BY b) = 1", "windows"),
        ("sum(a) OVER w > 1", "windows"),
        ("max(a) > 1", "aggregates"),
        ("a > 1 AND COUNT(*) > 1", "aggregates"),
    ],
)
def test_what_looks_at_other_rows_is_found(expression: str, what: str) -> None:
    """Queries, windows and aggregates, each as what it is."""
    found = scan(expression)
    seen = {n for n in ("subqueries", "windows", "aggregates") if getattr(found, n)}
    assert seen == {what}


@pytest.mark.parametrize(
    ("expression", "line", "offset"),
    [
        *[("", 1, 0), ("  \n ", 1, 0), ("-- a", 1, 0)],
        *[("a > 'x", 1, 4), ("a >\n (b", 2, 5), ("a > b)", 1, 5), ("a[0", 1, 1), ("a]", 1, 1)],
        *[("(a]", 1, 0), ("a[(0])", 1, 4), ("a > 0;", 1, 5), ("a /* b", 1, 2), ("`a", 1, 0)],
    ],
)
def test_text_that_is_no_expression_is_refused_at_its_place(
    expression: str, line: int, offset: int
) -> None:
    """Nothing at all, what is left open, what closes nothing, and the end of a statement."""
    with pytest.raises(StatementError) as caught:
        scan(expression)
    assert (caught.value.line, caught.value.offset) == (line, offset)


@pytest.mark.property
@given(
    st.lists(
        st.sampled_from(WORDS.split(" ")),
        max_size=12,
    )
)
def test_scan_of_any_words_ends(words: list[str]) -> None:
    """Whatever is written, it is scanned or refused, in time."""
    try:
        found = scan(" ".join(words))
    except StatementError:
        return
    assert len(found.columns) <= len(words)
