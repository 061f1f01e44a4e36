"""The order of keys: proofs of uniqueness that read nothing twice."""

from __future__ import annotations

from datetime import date
from decimal import Decimal
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from framework.hudi.keygen.ordering import OrderedKeys, order_bytes
from framework.hudi.keygen.text import record_keys
from tests.support.golden_keys import rule_of

TEXT = st.text(st.sampled_from("a\0\1b,:é😀"), max_size=4)
PARTS: tuple[tuple[pa.DataType, st.SearchStrategy[Any]], ...] = (
    (pa.string(), TEXT),
    (pa.int8(), st.integers(-128, 127)),
    (pa.int64(), st.integers(-(2**63), 2**63 - 1)),
    (pa.bool_(), st.booleans()),
    (pa.date32(), st.dates()),
    (
        pa.decimal128(9, 2),
        st.decimals(-999, 999, places=2, allow_nan=False, allow_infinity=False),
    ),
    (
        pa.decimal128(38, 3),
        st.decimals(-(10**30), 10**30, places=3, allow_nan=False, allow_infinity=False),
    ),
)


def _typed(key: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return a key whose text compares by its bytes, as the order is defined."""
    return tuple(part.encode() if isinstance(part, str) else part for part in key)


@st.composite
def keys(draw: st.DrawFn) -> tuple[list[pa.DataType], list[tuple[Any, ...]]]:
    """Draw types of one to three parts and some keys of them."""
    chosen = draw(st.lists(st.sampled_from(PARTS), min_size=1, max_size=3))
    rows = draw(st.lists(st.tuples(*(values for _, values in chosen)), max_size=6))
    if draw(st.booleans()):
        rows = sorted(set(rows), key=_typed)
    return [kind for kind, _ in chosen], rows


def _table(types: list[pa.DataType], rows: list[tuple[Any, ...]]) -> pa.Table:
    """Return the keys as columns c0, c1 and so on."""
    return pa.table(
        {f"c{n}": pa.array([row[n] for row in rows], kind) for n, kind in enumerate(types)}
    )


def _order(table: pa.Table) -> OrderedKeys:
    return OrderedKeys.of(rule_of(*table.schema.names), table, {})


@pytest.mark.property
@given(keys())
def test_order_bytes_compare_as_typed_keys_do(
    drawn: tuple[list[pa.DataType], list[tuple[Any, ...]]],
) -> None:
    """Sorting by bytes is sorting by value, part by part."""
    rows = drawn[1]
    assert sorted(rows, key=order_bytes) == sorted(rows, key=_typed)
    for one in rows:
        for other in rows:
            assert (order_bytes(one) < order_bytes(other)) == (_typed(one) < _typed(other))


@pytest.mark.property
@given(keys(), st.booleans())
def test_order_of_any_table_is_that_of_its_rows(
    drawn: tuple[list[pa.DataType], list[tuple[Any, ...]]],
    coded: bool,  # noqa: FBT001 - drawn
) -> None:
    """`increasing` is what comparing each pair of neighbours says, and the ends are the ends."""
    types, rows = drawn
    table = _table(types, rows)
    if coded:
        columns = [c.dictionary_encode() if c.type == pa.string() else c for c in table.columns]
        table = pa.table(columns, names=table.schema.names)
    found = _order(table)
    increasing = all(_typed(one) < _typed(other) for one, other in pairwise(rows))
    assert found.increasing is increasing
    if increasing and rows:
        assert (found.first, found.last) == (order_bytes(rows[0]), order_bytes(rows[-1]))
    else:
        assert (found.first, found.last) == (b"", b"")


@pytest.mark.property
@given(
    st.lists(
        st.tuples(
            st.sampled_from(["", "x", "x,c1:", ",c1:y", "x,c1:y", ",", "x,c1", "__empty__"]),
            st.sampled_from(["", "y", "y,c2:", "c1:y", ",c1:y", ":", "y,c2:z", "__empty__"]),
            st.sampled_from(["", "z", "y,c2:z", ",c2:z", "c2:z", "__empty__"]),
        ),
        min_size=2,
        max_size=8,
        unique=True,
    )
)
def test_injective_keys_that_differ_have_texts_that_differ(rows: list[tuple[str, ...]]) -> None:
    """Where one text could be two keys, `injective` is False."""
    table = _table([pa.string()] * 3, rows)
    texts = record_keys(rule_of(*table.schema.names), table, {}).to_pylist()
    assert len(set(texts)) == len(rows) or not _order(table).injective


def test_injective_is_false_where_two_keys_have_one_text() -> None:
    """("a", "b,c1:d") and ("a,c1:b", "d") both read `c0:a,c1:b,c1:d`."""
    table = _table([pa.string()] * 2, [("a", "b,c1:d"), ("a,c1:b", "d")])
    assert _order(table).injective is False
    assert len(set(record_keys(rule_of("c0", "c1"), table, {}).to_pylist())) == 1


def test_injective_holds_for_text_with_separators_that_label_nothing() -> None:
    """Commas and times of day are common in text and harmless; so is a label in the last part."""
    rows = [("a,b", "12:30"), ("c:d", "x,c1:y")]
    assert _order(_table([pa.string()] * 2, rows)).injective is True


@pytest.mark.parametrize("value", ["x,id:1", "__empty__"])
def test_injective_is_false_where_the_folder_holds_a_label_or_placeholder(value: str) -> None:
    """A constant part counts as a column of it does."""
    found = OrderedKeys.of(rule_of("p", "id"), pa.table({"id": [1]}), {"p": value})
    assert found.injective is False


def test_injective_is_true_for_one_column() -> None:
    """A bare value is its own text."""
    assert _order(pa.table({"a": ["x,y:1"]})).injective is True


def test_increasing_is_false_where_a_part_is_null() -> None:
    """Null has no place in an order of keys."""
    assert _order(pa.table({"a": [1, None]})).increasing is False
    assert OrderedKeys.of(rule_of("a", "p"), pa.table({"a": [1]}), {"p": None}).increasing is False


def test_increasing_of_constant_parts_alone_needs_at_most_one_row() -> None:
    """Rows that differ in nothing are duplicates."""
    for rows, expected in ((0, True), (1, True), (2, False)):
        table = pa.table({"other": list(range(rows))})
        found = OrderedKeys.of(rule_of("p"), table, {"p": "x"})
        assert found.increasing is expected


def test_bytes_of_a_folder_value_equal_those_of_a_column() -> None:
    """A column may be in one file and only in the path of another; their ranges still compare."""
    days = pa.array([date(2024, 2, 29)])
    for value, column in (
        (5, pa.array([5], pa.int32())),
        (5, pa.array([5], pa.int64())),
        ("é", pa.array(["é"])),
        (True, pa.array([True])),
        (date(2024, 2, 29), days),
    ):
        inside = OrderedKeys.of(rule_of("p", "id"), pa.table({"p": column, "id": [1]}), {})
        outside = OrderedKeys.of(rule_of("p", "id"), pa.table({"id": [1]}), {"p": value})
        assert inside == outside


def test_bytes_of_decimals_do_not_depend_on_precision() -> None:
    """One scale, more digits: a file that was written before the column grew still compares."""
    value = [Decimal("-1.50")]
    narrow = _order(pa.table({"a": pa.array(value, pa.decimal128(5, 2))}))
    wide = _order(pa.table({"a": pa.array(value, pa.decimal128(38, 2))}))
    assert narrow == wide


def test_violation_deep_in_a_large_table_is_found() -> None:
    """Slices overlap by a row, so a step back between two of them counts."""
    for at in (65535, 65536, 65537, 131072, 199_999):
        numbers = np.arange(200_000)
        numbers[at] = numbers[at - 1]
        assert _order(pa.table({"a": numbers})).increasing is False
    table = pa.table({"a": np.repeat(np.arange(100_000), 2), "b": np.tile([1, 2], 100_000)})
    assert _order(table).increasing is True
