"""A read-only statement, recognized by a light scan."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from framework.spec.sql.statement import StatementError, finished_statement


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT 1",
        "select * from source where ok",
        "WITH a AS (SELECT 1) SELECT * FROM a",
        "with a (x) as (select 1), b as (select 2) select * from a, b",
        "WITH RECURSIVE a (x) MAX RECURSION LEVEL 9 AS (SELECT 1) SELECT * FROM a",
        "WITH a (x) (SELECT 1) (SELECT * FROM a) UNION SELECT 2",
        "-- why; really\nSELECT 1",
        "/* a ; /* b */ ; */ SELECT 1",
        "-- goes on \\\n DROP\nSELECT 1",
        "SELECT ';', \"a;b\", `c;d`, 'it''s', 'a\\';b', r'\\', `e``;`",
        "SELECT /*+ BROADCAST(a) */ insert FROM a -- the last; word",
        "SELECT '(' , ')' /* ) */",
        "SELECT 1 -- one",
    ],
)
def test_reading_statement_is_taken_as_it_is(sql: str) -> None:
    """Quotes and comments hide what is in them; case does not matter."""
    assert finished_statement(sql) == sql


@pytest.mark.parametrize(
    ("sql", "finished"),
    [
        ("  SELECT 1\n", "SELECT 1"),
        ("SELECT 1;", "SELECT 1"),
        ("SELECT 1 ; ; -- done\n", "SELECT 1"),
        ("SELECT ';' ; /* ; */", "SELECT ';'"),
    ],
)
def test_end_of_a_statement_is_cut_off(sql: str, finished: str) -> None:
    """The `;` is removed, with the comments after it, so that the text can be put in brackets."""
    assert finished_statement(sql) == finished


@pytest.mark.parametrize(
    ("sql", "line"),
    [
        *[("", 1), (" \n ", 1), ("-- SELECT 1", 1), ("/* SELECT 1 */", 1), (";", 1)],
        *[("DROP TABLE a", 1), ("\n\nINSERT INTO a SELECT 1", 3), ("(SELECT 1)", 1)],
        *[("SELECTED", 1), ("'SELECT' 1", 1), ("FROM a SELECT 1", 1), ("VALUES (1)", 1)],
        *[("SELECT 1;\nSELECT 2", 2), ("SELECT 1; DROP TABLE a;", 1), ("SELECT 1;'x'", 1)],
        ("WITH a AS (SELECT 1)\nINSERT INTO b SELECT * FROM a", 2),
        ("WITH a (x) AS (SELECT 1), c AS (SELECT 2) FROM a INSERT INTO b SELECT 1", 1),
        ("WITH a AS (SELECT 1) /* SELECT */ insert INTO b SELECT 1", 1),
        ("WITH a AS (SELECT 1) MERGE INTO b USING a ON true", 1),
        *[("SELECT 'a", 1), ('SELECT "a', 1), ("SELECT `a", 1), ("SELECT 1\n/* a", 2)],
        *[("SELECT /* a /* b */ 1", 1), ("SELECT 'a\\'", 1), ("SELECT r'\\'' 1", 1)],
        *[("SELECT (1", 1), ("SELECT\n1)", 2), ("SELECT (1; 2)", 1)],
    ],
)
def test_anything_else_is_refused_with_its_line(sql: str, line: int) -> None:
    """No statement, another one, a second one, one that writes, and what is left open."""
    with pytest.raises(StatementError) as caught:
        finished_statement(sql)
    assert caught.value.line == line


@pytest.mark.property
@given(st.text(alphabet="SELECTWITH();'\"`\\/*-\n ra", max_size=60))
def test_scan_of_any_text_ends_and_is_stable(tail: str) -> None:
    """Whatever follows, it is finished or refused; what is finished stays as it is."""
    try:
        once = finished_statement(f"SELECT {tail}")
    except StatementError:
        return
    assert finished_statement(once) == once
