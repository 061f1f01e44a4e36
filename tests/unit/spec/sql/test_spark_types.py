"""Types of columns, and texts that are values of them."""

from __future__ import annotations

import pytest

from framework.spec.sql.predicates import compared_type, reads_as
from framework.spec.sql.spark_types import TypeTextError, normal_type


@pytest.mark.parametrize(
    ("text", "normal"),
    [
        ("BIGINT", "bigint"),
        (" Long ", "bigint"),
        ("integer", "int"),
        ("byte", "tinyint"),
        ("real", "float"),
        ("timestamp_ltz", "timestamp"),
        ("decimal", "decimal(10,0)"),
        ("NUMERIC( 5 )", "decimal(5,0)"),
        ("dec(38,38)", "decimal(38,38)"),
        ("array < array<int> >", "array<array<int>>"),
        ("map<string, decimal(10, 2)>", "map<string,decimal(10,2)>"),
        ("struct<>", "struct<>"),
        ("STRUCT<A: int, b string, `c d`: array<struct<`x``y`: date>>>", None),
    ],
)
def test_type_has_one_normal_text(text: str, normal: str | None) -> None:
    """Case, space and second names go; what is normal stays as it is."""
    wanted = normal or "struct<a:int,b:string,`c d`:array<struct<`x``y`:date>>>"
    assert normal_type(text) == wanted
    assert normal_type(wanted) == wanted


@pytest.mark.parametrize(
    ("text", "suggestion"),
    [
        ("strng", "string"),
        ("varchar(10)", "string"),
        ("int64", "bigint"),
        ("datetime", "timestamp"),
        ("", None),
        ("array", None),
        ("array<int", None),
        ("array<int>>", None),
        ("map<string>", None),
        ("struct<a>", None),
        ("struct<a:int b:int>", None),
        ("struct<,>", None),
        ("decimal(0,0)", None),
        ("decimal(39,0)", None),
        ("decimal(5,6)", None),
        ("decimal(a)", None),
        ("int int", None),
        ("int;", None),
        ("array<" * 40 + "int" + ">" * 40, None),
        ("x" * 10_001, None),
    ],
)
def test_text_that_is_no_type_is_refused(text: str, suggestion: str | None) -> None:
    """With the intended type, if it can be guessed."""
    with pytest.raises(TypeTextError) as caught:
        normal_type(text)
    assert caught.value.suggestion == suggestion


@pytest.mark.parametrize(
    ("kind", "fit", "unfit"),
    [
        ("tinyint", ["127", " -128 ", "+1"], ["128", "1.0", "", "x", "9" * 40]),
        ("bigint", ["9223372036854775807"], ["9223372036854775808"]),
        ("double", ["1", ".5", "1e3", "NaN", "-inf", "1d", "0x1p3"], ["", "x", "1,5", "d"]),
        ("decimal(4,2)", ["99.999", "1e1", "0"], ["100", "x", "nan"]),
        ("boolean", ["true", "N", "1"], ["2", "on", ""]),
        ("date", ["2026", "2026-1-1", "2024-02-29", "today"], ["2026-02-29", "x", "1/2/2026"]),
        ("timestamp", ["2026-01-01 10:00", "10:00", "now"], ["garbage", "2026-13-01"]),
        ("string", ["", "x"], []),
        ("array<int>", ["x"], []),
    ],
)
def test_text_fits_a_type_as_spark_casts_it(kind: str, fit: list[str], unfit: list[str]) -> None:
    """A test with Spark shows that none is refused which Spark takes."""
    assert all(reads_as(text, kind) for text in fit)
    assert not any(reads_as(text, kind) for text in unfit)


def test_text_beside_a_number_becomes_the_widest_of_its_kind() -> None:
    """So that nothing is refused which any version of Spark compares."""
    kinds = ["smallint", "float", "decimal(3,1)", "date", "string"]
    assert [compared_type(kind) for kind in kinds] == [
        "bigint",
        "double",
        "double",
        "date",
        "string",
    ]
