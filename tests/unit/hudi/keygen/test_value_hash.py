"""Hashes of values: they may take the place of hashes of texts, and when they may not is known."""

from __future__ import annotations

from datetime import date
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from framework.hudi.keygen import value_hash
from framework.hudi.keygen.ordering import is_injective
from framework.hudi.keygen.text import record_keys
from framework.hudi.keygen.value_hash import has_value_hashes, value_hashes
from framework.hudi.table.partition_path import PartitionValue
from framework.vocabulary import PartitionType
from tests.support.sources import a_rule

TEXT = st.text(st.sampled_from("ab,c1:_é😀"), max_size=6) | st.sampled_from(
    ["x,c1:y", "__empty__", "__null__", "", ",c1:", ",c2:"]
)


def _integers(bits: int) -> st.SearchStrategy[Any]:
    """Return integers of so many bits, the extremes often."""
    low, high = -(2 ** (bits - 1)), 2 ** (bits - 1) - 1
    return st.sampled_from([low, low + 1, -1, 0, 1, high]) | st.integers(low, high)


def _decimals(digits: int, scale: int) -> st.SearchStrategy[Any]:
    """Return decimals of a type, the extremes often."""
    most = Decimal(10**digits - 1).scaleb(-scale)
    near = st.integers(-(10**digits) + 1, 10**digits - 1).map(lambda n: Decimal(n).scaleb(-scale))
    return st.sampled_from([-most, most, Decimal(0)]) | near


NUMBERS: tuple[tuple[pa.DataType, st.SearchStrategy[Any]], ...] = (
    (pa.int8(), _integers(8)),
    (pa.int32(), _integers(32)),
    (pa.int64(), _integers(64)),
    (pa.bool_(), st.booleans()),
    (pa.date32(), st.dates()),
    (pa.decimal128(18, 4), _decimals(18, 4)),
    (pa.decimal128(38, 20), _decimals(28, 20)),
)
PARTS = (*NUMBERS, (pa.string(), TEXT), (pa.large_string(), TEXT))


@st.composite
def tables(draw: st.DrawFn, parts: Any = PARTS, *, nulls: bool = False) -> pa.RecordBatch:
    """Draw some rows of one to three key columns `c0`, `c1`, …; few values, so that many repeat."""
    chosen = draw(st.lists(st.sampled_from(parts), min_size=1, max_size=3))
    rows = draw(st.integers(0, 12))
    columns = {}
    for at, (kind, values) in enumerate(chosen):
        pool = draw(st.lists(values, min_size=1, max_size=3))
        items = st.sampled_from([*pool, None] if nulls else pool)
        drawn = draw(st.lists(items, min_size=rows, max_size=rows))
        columns[f"c{at}"] = pa.array(drawn, kind)
    return pa.record_batch(columns)


@pytest.mark.property
@given(tables())
def test_value_hashes_equal_texts_have_equal_hashes_where_texts_are_clear(
    batch: pa.RecordBatch,
) -> None:
    """No duplicate is ever missed: one hash for each text, wherever `is_injective` says so."""
    rule = a_rule(*batch.schema.names)
    if not is_injective(rule, batch, {}):
        return
    texts = record_keys(rule, batch, {}).to_pylist()
    hashes = value_hashes(rule, batch, {}).tolist()
    assert len(set(zip(texts, hashes, strict=True))) == len(set(texts))


@pytest.mark.property
@given(tables(NUMBERS))
def test_value_hashes_of_numbers_are_equal_only_where_texts_are(batch: pa.RecordBatch) -> None:
    """Different keys get different hashes: for one column by theory, else but for accidents."""
    rule = a_rule(*batch.schema.names)
    assert is_injective(rule, batch, {})
    texts = record_keys(rule, batch, {}).to_pylist()
    hashes = value_hashes(rule, batch, {}).tolist()
    assert len(set(hashes)) == len(set(texts))


@pytest.mark.property
@given(tables(nulls=True), st.data())
def test_value_hashes_of_rows_do_not_depend_on_their_neighbours(
    batch: pa.RecordBatch, data: st.DataObject
) -> None:
    """A slice of a batch, a batch beside nulls, a table of chunks: a row's hash is its own."""
    rule = a_rule(*batch.schema.names)
    whole = value_hashes(rule, batch, {})
    start = data.draw(st.integers(0, batch.num_rows))
    np.testing.assert_array_equal(value_hashes(rule, batch.slice(start), {}), whole[start:])
    full = np.flatnonzero([None not in row.values() for row in batch.to_pylist()])
    alone = value_hashes(rule, batch.take(pa.array(full, pa.int64())), {})
    np.testing.assert_array_equal(alone, whole[full])
    table = pa.Table.from_batches([batch.slice(0, start), batch.slice(start)])
    np.testing.assert_array_equal(value_hashes(rule, table, {}), whole)


def test_value_hashes_of_many_blocks_are_those_of_each(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where a block ends changes nothing, and the caller's memory is used."""
    batch = pa.record_batch({"a": pa.array(range(1000)), "b": pa.array(range(1000), pa.int16())})
    rule = a_rule("a", "b")
    whole = value_hashes(rule, batch, {})
    monkeypatch.setattr(value_hash, "_BLOCK_ROWS", 7)
    out = np.empty(1000, np.uint64)
    assert value_hashes(rule, batch, {}, out) is out
    np.testing.assert_array_equal(out, whole)
    assert len(set(out.tolist())) == 1000


@pytest.mark.parametrize(
    ("value", "kind"),
    [
        (-7, pa.int32()),
        (2**62, pa.int64()),
        (True, pa.bool_()),
        (False, pa.bool_()),
        (date(1969, 12, 31), pa.date32()),
        ("é", pa.string()),
        ("é", pa.large_string()),
    ],
)
def test_value_hashes_of_a_folder_are_those_of_a_column(
    value: PartitionValue, kind: pa.DataType
) -> None:
    """A source may have files with and without the partition column."""
    rule = a_rule("p", "a")
    numbers = pa.array([1, 2], pa.int64())
    absent = value_hashes(rule, pa.record_batch({"a": numbers}), {"p": value})
    column = pa.record_batch({"p": pa.array([value, value], kind), "a": numbers})
    np.testing.assert_array_equal(value_hashes(rule, column, {"p": value}), absent)


def test_value_hashes_of_integers_do_not_depend_on_their_width() -> None:
    """Sign bits are extended."""
    hashes = {
        kind: value_hashes(a_rule(), pa.record_batch({"id": pa.array([-5, 5], kind)}), {}).tolist()
        for kind in (pa.int8(), pa.int16(), pa.int32(), pa.int64())
    }
    assert len({tuple(each) for each in hashes.values()}) == 1


def test_value_hashes_of_a_null_folder_are_defined() -> None:
    """Such keys are refused later, with their places."""
    found = value_hashes(a_rule("p", "id"), pa.record_batch({"id": [1]}), {"p": None})
    assert found.dtype == np.uint64


@pytest.mark.parametrize(
    ("declared", "kind", "found"),
    [
        (PartitionType.INT, pa.int64(), True),
        (PartitionType.LONG, pa.int32(), True),
        (PartitionType.DATE, pa.date32(), True),
        (PartitionType.STRING, pa.large_string(), True),
        (PartitionType.STRING, pa.int32(), False),
        (PartitionType.INT, pa.string(), False),
        (PartitionType.BOOLEAN, pa.int8(), False),
        (PartitionType.DATE, pa.string(), False),
    ],
)
def test_has_value_hashes_folder_and_files_must_print_alike(
    declared: PartitionType, kind: pa.DataType, *, found: bool
) -> None:
    """The text `5` of a folder is the text of the number 5 and of the string."""
    rule = a_rule("p", "id", partition={"p": declared})
    schema = pa.schema([("id", pa.int64()), ("p", kind)])
    assert has_value_hashes(rule, schema) is found
    assert has_value_hashes(rule, schema.remove(1))


@pytest.mark.parametrize("kind", [pa.float64(), pa.binary(), pa.dictionary(pa.int8(), pa.string())])
def test_has_value_hashes_other_types_have_none(kind: pa.DataType) -> None:
    """Only what is printed in one way may be hashed by value."""
    assert not has_value_hashes(a_rule("id"), pa.schema([("id", kind)]))


def test_has_value_hashes_needs_a_column() -> None:
    """Absent columns and automatic keys have nothing to hash."""
    assert not has_value_hashes(a_rule("gone"), pa.schema([("id", pa.int64())]))
