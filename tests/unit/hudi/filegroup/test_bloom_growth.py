"""Keys added to a filter of a footer: as good as a filter made of all keys, or refused."""

from __future__ import annotations

import base64
from collections.abc import Iterable
from dataclasses import replace

import pyarrow as pa
import pytest

from framework.hudi.codecs.bloom import BloomBuilder, BloomFilter, BloomSpec
from framework.hudi.filegroup.base_file import grown
from framework.vocabulary import BloomKind

SPEC = BloomSpec(expected_keys=1_000, fpp=1e-3, max_keys=4_000, is_quick=True)


def keys(numbers: Iterable[int]) -> pa.Array:
    """Return keys."""
    return pa.array([f"id:{number}" for number in numbers], pa.string())


def text_of(numbers: Iterable[int], spec: BloomSpec = SPEC) -> str:
    """Return a footer's text."""
    builder = BloomBuilder(spec)
    builder.add(keys(numbers))
    return builder.footer()


@pytest.mark.parametrize(("old", "new"), [(0, 5), (700, 300), (1_000, 0), (2_500, 400)])
def test_grown_filter_with_room_is_that_of_all_keys(old: int, new: int) -> None:
    """The bytes are those of a filter that saw all keys in their order; counts too."""
    found = grown(text_of(range(old)), keys(range(old, old + new)), SPEC)
    assert found == text_of(range(old + new))


def test_grown_filter_past_its_size_knows_all_keys_at_little_cost() -> None:
    """A tenth more keys go into the row, and false positives stay under twice the rate."""
    spec = replace(SPEC, max_keys=1_000)
    found = grown(text_of(range(1_000), spec), keys(range(1_000, 1_100)), spec)
    assert found is not None
    assert len(found) == len(text_of(range(1_000), spec))
    bloom = BloomFilter.parse(found, BloomKind.DYNAMIC)
    assert bloom.might_contain(keys(range(1_100))).all()
    assert bloom.might_contain(keys(range(10_000, 110_000))).mean() < 2e-3


def test_grown_filter_that_would_be_too_full_is_refused() -> None:
    """One key more than a tenth above its size."""
    spec = replace(SPEC, max_keys=1_000)
    text = text_of(range(1_000), spec)
    assert grown(text, keys(range(1_000, 1_100)), spec) is not None
    assert grown(text, keys(range(1_000, 1_101)), spec) is None


@pytest.mark.parametrize(
    "wanted",
    [
        replace(SPEC, fpp=1e-4),
        replace(SPEC, fpp=1e-2),
        replace(SPEC, is_quick=False),
        replace(SPEC, kind=BloomKind.SIMPLE),
    ],
)
def test_grown_filter_of_another_rate_or_kind_is_refused(wanted: BloomSpec) -> None:
    """What a spec asks for now is what later files get."""
    assert grown(text_of(range(500)), keys(range(500, 510)), wanted) is None


def test_grown_filter_of_a_size_of_its_own_is_kept() -> None:
    """Bits a key count, not how many keys a row is for."""
    text = text_of(range(900), replace(SPEC, expected_keys=900))
    found = grown(text, keys(range(900, 950)), replace(SPEC, expected_keys=950))
    assert found is not None
    assert BloomFilter.parse(found, BloomKind.DYNAMIC).might_contain(keys(range(950))).all()


@pytest.mark.parametrize("cut", [0, 8, 20, 60])
def test_grown_filter_that_is_cut_is_refused(cut: int) -> None:
    """An unreadable filter is rebuilt."""
    data = base64.b64decode(text_of(range(10)))
    assert grown(base64.b64encode(data[:cut]).decode(), keys([11]), SPEC) is None
    assert grown("no base64!", keys([11]), SPEC) is None
