"""Both ways of sorting give the same array."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from framework.hudi.codecs import hash_sort
from framework.hudi.codecs.hash_sort import distinct, sort_hashes


@pytest.fixture(params=[False, True], ids=["vectorized", "radix"])
def _slow(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Choose one of both ways, whatever this processor prefers."""
    monkeypatch.setattr(hash_sort, "_sorts_slowly", lambda: request.param)


@pytest.mark.usefixtures("_slow")
@pytest.mark.parametrize("size", [0, 1, 2, 4_097, 100_000])
@pytest.mark.parametrize("top", [0, 3, 1 << 16, 1 << 37, (1 << 64) - 1])
def test_sort_hashes_of_any_range_are_ascending(size: int, top: int) -> None:
    """Few and many values, those that share their high bits, and the greatest of all."""
    chance = np.random.default_rng(size)
    hashes = chance.integers(0, top, size, np.uint64, endpoint=True)
    expected = np.sort(hashes)
    sort_hashes(hashes)
    assert np.array_equal(hashes, expected)


@pytest.mark.usefixtures("_slow")
def test_sort_hashes_of_one_bucket_are_ascending() -> None:
    """Hashes with the same highest bits, as in a bucket of a spill."""
    chance = np.random.default_rng(5)
    hashes = chance.integers(0, 1 << 59, 50_000, np.uint64) | np.uint64(29 << 59)
    expected = np.sort(hashes)
    sort_hashes(hashes)
    assert np.array_equal(hashes, expected)


@pytest.mark.property
@given(values=st.lists(st.integers(0, (1 << 64) - 1), max_size=40))
def test_distinct_values_are_those_of_a_set(values: list[int]) -> None:
    """Ascending, each once; the argument stays as it is."""
    given_values = np.array(values, np.uint64)
    before = given_values.copy()
    assert distinct(given_values).tolist() == sorted(set(values))
    assert np.array_equal(given_values, before)


def test_distinct_values_keep_their_type() -> None:
    """Places are signed, hashes are not."""
    found = distinct(np.array([3, -1, 3], np.int64))
    assert found.tolist() == [-1, 3]
    assert found.dtype == np.int64


def test_choice_of_the_sort_is_made_once_and_agrees_with_the_clock() -> None:
    """Whatever is chosen, it is remembered for the process."""
    assert hash_sort._sorts_slowly() is hash_sort._sorts_slowly()  # noqa: SLF001 - the cache is what is tested
