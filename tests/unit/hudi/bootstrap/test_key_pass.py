"""Statistics about a file's keys, collected while they are made."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from framework.hudi.bootstrap.key_pass import BloomChoice, KeyPass, key_columns
from framework.hudi.bootstrap.seqno_pages import RowNumbers
from framework.hudi.codecs.bloom import BloomFilter
from framework.hudi.codecs.murmur import key_hashes
from framework.vocabulary import BloomKind
from tests.support.sources import a_rule

NUMBERS = RowNumbers(instant="00000000000001", number=7)


def batch(*values: str | None) -> pa.RecordBatch:
    """Return one key column of strings."""
    return pa.record_batch({"id": pa.array(values, pa.string())})


def test_key_pass_batches_add_up() -> None:
    """Bounds are of the text, order is of the values, over all batches."""
    keys = KeyPass(a_rule(), {}, None, NUMBERS)
    first = keys.add(pa.record_batch({"id": pa.array([8, 9], pa.int64())}))
    keys.add(pa.record_batch({"id": pa.array([10, 200], pa.int64())}))
    facts = keys.facts()
    assert first.to_pylist() == ["8", "9"]
    assert (facts.rows, facts.min_key, facts.max_key) == (4, "10", "9")
    assert facts.increasing
    assert facts.injective
    assert facts.order_first is not None
    assert facts.order_last is not None
    assert facts.order_first < facts.order_last


@pytest.mark.parametrize(
    "values", [([1, 2], [2, 3]), ([1, 3], [2, 4]), ([2, 1], [3]), ([1, 1], [])]
)
def test_key_pass_disorder_anywhere_is_seen(values: tuple[list[int], list[int]]) -> None:
    """Within a batch and from one to the next; equal is not increasing."""
    keys = KeyPass(a_rule(), {}, None, NUMBERS)
    for part in values:
        keys.add(pa.record_batch({"id": pa.array(part, pa.int64())}))
    facts = keys.facts()
    assert not facts.increasing
    assert facts.order_first is None
    assert facts.order_last is None


def test_key_pass_null_and_empty_keys_are_counted() -> None:
    """Hudi refuses both in a key of one column; such keys are in no order."""
    keys = KeyPass(a_rule(), {}, None, NUMBERS)
    text = keys.add(batch("a", None, ""))
    assert text.null_count == 0
    facts = keys.facts()
    assert (facts.rows, facts.null_keys, facts.increasing) == (3, 2, False)


def test_key_pass_without_rows_has_no_bounds() -> None:
    """An empty file is in order and proves nothing."""
    keys = KeyPass(a_rule(), {}, None, NUMBERS)
    facts = keys.facts()
    assert (facts.rows, facts.min_key, facts.max_key, facts.order_first) == (0, None, None, None)
    assert facts.increasing
    assert keys.hash64().size == 0


@pytest.mark.parametrize("kind", [BloomKind.SIMPLE, BloomKind.DYNAMIC, BloomKind.NONE])
def test_key_pass_hashes_do_not_depend_on_the_filter(kind: BloomKind) -> None:
    """The spill is the same whatever filter is made; the filter knows every key."""
    texts = pa.array([f"k{n}" for n in range(1000)])
    keys = KeyPass(a_rule(), {}, BloomChoice(kind=kind.value).spec(1000), NUMBERS)
    keys.add(batch(*texts[:400].to_pylist()))
    keys.add(batch(*texts[400:].to_pylist()))
    assert np.array_equal(keys.hash64(), key_hashes(texts))
    footer = keys.bloom_footer()
    assert (footer is None) is (kind is BloomKind.NONE)
    if footer is not None:
        assert BloomFilter.parse(footer, kind).might_contain(texts).all()


@pytest.mark.parametrize(
    ("expected", "rows", "keys", "most"),
    [(0, 50, 50, 50), (60, 50, 50, 50), (60, 70, 60, 70), (0, 0, 1, 1), (0, 90, 80, 80)],
)
def test_bloom_choice_fits_the_file(expected: int, rows: int, keys: int, most: int) -> None:
    """No filter is larger than its file needs, or than it may become."""
    spec = BloomChoice(expected_keys=expected, max_keys=80).spec(rows)
    assert spec is not None
    assert (spec.expected_keys, spec.max_keys) == (keys, most)


@pytest.mark.parametrize("rows", [1, 2, 1_000, 10**9])
def test_bloom_choice_by_default_fits_files_of_any_size(rows: int) -> None:
    """Neither the smallest nor the largest file has a filter that readers refuse."""
    spec = BloomChoice(fpp=1e-9).spec(rows)
    assert spec is not None
    assert spec.text_bytes(rows) < 32_000_000


def test_key_columns_leaves_out_what_only_paths_have() -> None:
    """A key column that no file has comes from the folder."""
    schema = pa.schema([("v", pa.string()), ("id", pa.int64())])
    assert key_columns(schema, a_rule("id", "p")).names == ["id"]


@pytest.mark.property
@given(st.lists(st.lists(st.text("ab\u00e9\U0001f600", min_size=12), max_size=20), max_size=3))
def test_key_pass_bounds_of_long_composite_keys(parts: list[list[str]]) -> None:
    """Keys that share their label and some bytes are still distinguished."""
    keys = KeyPass(a_rule("a", "b"), {}, None, NUMBERS)
    texts = []
    for part in parts:
        columns = {"a": pa.array(part, pa.string()), "b": pa.array(part[::-1], pa.string())}
        texts += keys.add(pa.record_batch(columns).slice(len(part) // 3)).to_pylist()
    facts = keys.facts()
    assert facts.min_key == min(texts, key=str.encode, default=None)
    assert facts.max_key == max(texts, key=str.encode, default=None)


@pytest.mark.property
@given(st.lists(st.lists(st.text(min_size=1), max_size=20), max_size=5))
def test_key_pass_bounds_are_those_of_the_bytes(parts: list[list[str]]) -> None:
    """Least and greatest text by UTF-8, however the keys are cut."""
    keys = KeyPass(a_rule(), {}, None, NUMBERS)
    for part in parts:
        keys.add(batch(*part))
    texts = [text for part in parts for text in part]
    facts = keys.facts()
    assert facts.min_key == min(texts, key=str.encode, default=None)
    assert facts.max_key == max(texts, key=str.encode, default=None)
    assert facts.increasing is (texts == sorted(set(texts), key=str.encode))


@pytest.mark.property
@given(sizes=st.lists(st.integers(0, 300), max_size=5), number=st.integers(0, 2**40))
def test_key_pass_without_columns_numbers_the_rows(sizes: list[int], number: int) -> None:
    """From 0 through all batches; in order, unique, and never null (RFC-76)."""
    numbers = RowNumbers(instant="20261121093000123", number=number)
    keys = KeyPass(replace(a_rule(), record_key=()), {}, None, numbers)
    texts = [keys.add(pa.record_batch({"": pa.nulls(size)})) for size in sizes]
    found = [text for part in texts for text in part.to_pylist()]
    assert found == [f"20261121093000123_{number}_{row}" for row in range(sum(sizes))]
    facts = keys.facts()
    assert (facts.rows, facts.null_keys) == (sum(sizes), 0)
    if found:
        assert (facts.min_key, facts.max_key) == (min(found), max(found))
        assert facts.increasing
        assert facts.injective
        assert facts.order_first == numbers.ordered(0)
        assert facts.order_last == numbers.ordered(sum(sizes) - 1)
        assert facts.order_last < replace(numbers, number=number + 1).ordered(0)
