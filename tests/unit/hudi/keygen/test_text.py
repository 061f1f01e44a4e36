"""Key text: the fast kernels equal a plain reference, row by row."""

from __future__ import annotations

from datetime import date, timedelta
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from framework.errors import PlanError
from framework.hudi.keygen.text import day_text, null_rows, record_keys, texts_of
from tests.support.golden_keys import rule_of

EPOCH = date(1970, 1, 1)
TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=6)
COLUMNS: dict[str, tuple[pa.DataType, st.SearchStrategy[Any]]] = {
    "text": (pa.string(), TEXT),
    "repeating": (pa.string(), st.sampled_from(["", "a", "b,c", "é"])),
    "large": (pa.large_string(), TEXT),
    "byte": (pa.int8(), st.integers(-128, 127)),
    "few": (pa.int32(), st.integers(-2, 3)),
    "int": (pa.int32(), st.integers(-(2**31), 2**31 - 1)),
    "top": (pa.int64(), st.integers(2**63 - 3, 2**63 - 1)),
    "bottom": (pa.int64(), st.integers(-(2**63), -(2**63) + 2)),
    "long": (pa.int64(), st.integers(-(2**63), 2**63 - 1)),
    "flag": (pa.bool_(), st.booleans()),
    "day": (pa.date32(), st.dates()),
    "near": (pa.date32(), st.dates(date(2024, 2, 25), date(2024, 3, 2))),
    "money": (
        pa.decimal128(12, 2),
        st.decimals(-999, 999, places=2, allow_nan=False, allow_infinity=False),
    ),
    "tiny": (
        pa.decimal128(20, 9),
        st.decimals(-1, 1, places=9, allow_nan=False, allow_infinity=False),
    ),
}


def _java(value: Any) -> str | None:
    """Return Java's text of one value, said as plainly as possible."""
    match value:
        case None:
            return None
        case bool():
            return "true" if value else "false"
        case Decimal():
            return str(value)  # the General Decimal Arithmetic rule, as BigDecimal's
        case date():
            return value.isoformat()
        case _:
            return str(value)


def _reference(names: list[str], rows: list[dict[str, Any]]) -> list[str | None]:
    """Return the keys row by row."""
    keys: list[str | None] = []
    for row in rows:
        texts = [_java(row[name]) for name in names]
        if len(names) == 1:
            keys.append(texts[0] or None)
            continue
        placed = ["__null__" if t is None else t or "__empty__" for t in texts]
        keys.append(",".join(f"{n}:{t}" for n, t in zip(names, placed, strict=True)))
    return keys


@st.composite
def tables(draw: st.DrawFn) -> pa.Table:
    """Draw a table of some key columns; repeated rows let the coded form take hold."""
    names = draw(st.lists(st.sampled_from(sorted(COLUMNS)), min_size=1, max_size=4, unique=True))
    rows = draw(st.integers(0, 12))
    times = draw(st.sampled_from([1, 1, 20]))
    nulls = draw(st.booleans())
    arrays = {}
    for name in names:
        kind, values = COLUMNS[name]
        drawn = draw(
            st.lists(values | st.none() if nulls else values, min_size=rows, max_size=rows)
        )
        array = pa.array(drawn * times, kind)
        if pa.types.is_string(kind) and draw(st.booleans()):
            array = array.dictionary_encode()
        arrays[name] = array
    return pa.table(arrays)


@pytest.mark.property
@given(tables(), st.integers(0, 5))
def test_keys_of_any_table_equal_the_plain_reference(table: pa.Table, start: int) -> None:
    """Whatever the types, nulls, repetitions, slices and chunks: the text is the reference's."""
    names = table.schema.names
    rule = rule_of(*names)
    expected = _reference(names, table.to_pylist())
    assert record_keys(rule, table, {}).to_pylist() == expected
    sliced = table.slice(start)
    assert record_keys(rule, sliced, {}).to_pylist() == expected[start:]
    chunked = pa.concat_tables([table, sliced], promote_options="default").unify_dictionaries()
    assert record_keys(rule, chunked, {}).to_pylist() == expected + expected[start:]
    for batch in sliced.to_batches():
        keys = record_keys(rule, batch, {})
        assert (keys.type, keys.to_pylist()) == (pa.string(), expected[start:])


@pytest.mark.property
@given(tables())
def test_null_rows_of_any_table_are_those_with_a_null_or_empty_key(table: pa.Table) -> None:
    """Positions of rows with a null part, or of nothing but empty ones."""
    expected = [
        i
        for i, row in enumerate(table.to_pylist())
        if None in row.values() or all(value == "" for value in row.values())
    ]
    assert null_rows(rule_of(*table.schema.names), table, {}).tolist() == expected


@pytest.mark.parametrize(
    ("value", "text"),
    [("x", "x"), ("", "__empty__"), (None, "__null__"), (7, "7"), (True, "true")],
)
def test_part_that_is_only_in_the_path_comes_from_the_folder(value: Any, text: str) -> None:
    """A constant part is formatted like a column of that value, in any position."""
    table = pa.table({"id": [1, 2]})
    for names in (["p", "id"], ["id", "p"]):
        expected = [",".join(f"{n}:{text if n == 'p' else i}" for n in names) for i in (1, 2)]
        assert record_keys(rule_of(*names), table, {"p": value}).to_pylist() == expected
    alone = record_keys(rule_of("p"), table, {"p": value}).to_pylist()
    assert alone == [None if text.startswith("__") else text] * 2
    assert (
        record_keys(rule_of("p", "q"), table, {"p": value, "q": 1}).to_pylist()
        == [f"p:{text},q:1"] * 2
    )


def test_part_in_file_and_path_comes_from_the_file() -> None:
    """The rows know better than their folder."""
    assert record_keys(rule_of("p"), pa.table({"p": ["a"]}), {"p": "b"}).to_pylist() == ["a"]


def test_null_rows_of_a_path_only_null_are_all_rows() -> None:
    """Hive's default partition has no key, if its column is part of it."""
    table = pa.table({"id": [1, 2]})
    assert null_rows(rule_of("id", "p"), table, {"p": None}).tolist() == [0, 1]
    assert null_rows(rule_of("p"), table, {"p": ""}).tolist() == [0, 1]
    assert null_rows(rule_of("id", "p"), table, {"p": ""}).tolist() == []


def test_missing_column_raises_plan_error() -> None:
    """A column in neither place is named, with those that are there."""
    with pytest.raises(PlanError) as caught:
        record_keys(rule_of("id", "x"), pa.table({"id": [1]}), {})
    assert caught.value.condition == "key/column-missing"


def test_empty_table_has_no_keys() -> None:
    """No rows, no keys, one type."""
    keys = record_keys(rule_of("a", "b"), pa.table({"a": [], "b": []}), {})
    assert (keys.type, keys.to_pylist()) == (pa.string(), [])


def test_keys_of_many_rows_equal_those_row_by_row() -> None:
    """Beyond one chunk, with products of labels and with wide numbers."""
    rows = 300_000
    random = np.random.default_rng(7)
    table = pa.table(
        {
            "year": np.full(rows, 2013, np.int32),
            "day": pa.array(random.integers(0, 30, rows).astype(np.int32)).cast(pa.date32()),
            "order": np.sort(random.integers(-5, 2**40, rows)),
            "carrier": pa.array(random.integers(0, 16, rows)).cast(pa.string()),
            "line": random.integers(1, 8, rows).astype(np.int8),
        }
    )
    keys = record_keys(rule_of(*table.schema.names), table, {})
    picked = [*random.integers(0, rows, 500).tolist(), 0, 131071, 131072, rows - 1]
    rows_picked = table.take(picked).to_pylist()
    assert keys.take(pa.array(picked)).to_pylist() == _reference(table.schema.names, rows_picked)


@pytest.mark.property
@given(st.integers(-719162, 2932896))
def test_day_text_between_the_years_1_and_9999_is_isoformat(day: int) -> None:
    """Four digits of year need no sign."""
    assert day_text(day) == (EPOCH + timedelta(days=day)).isoformat()


@pytest.mark.parametrize(
    ("day", "text"),
    [
        (2932897, "+10000-01-01"),
        (-719529, "-0001-12-31"),
        (-719528, "0000-01-01"),
        (2**31 - 1, "+5881580-07-11"),
        (-(2**31), "-5877641-06-23"),
    ],
)
def test_day_text_beyond_four_digits_has_a_sign(day: int, text: str) -> None:
    """As `LocalDate.toString` prints the first and last days there are."""
    assert day_text(day) == text
    days = pa.array([day, None, 0], pa.int32()).view(pa.date32())
    assert texts_of(days).to_pylist() == [text, None, "1970-01-01"]
