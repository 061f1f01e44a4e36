"""Bloom filters against Apache Hudi's own, bit for bit."""

from __future__ import annotations

import base64
from contextlib import suppress
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from framework.errors import CorruptFileError, PlanError
from framework.hudi.codecs.bloom import (
    BloomBuilder,
    BloomFilter,
    BloomSpec,
    HashedKeys,
    bloom_footer,
)
from framework.hudi.codecs.murmur import key_hashes
from framework.vocabulary import BloomKind
from tests.support.codec_vectors import RELEASES, codec_vectors

KINDS = {"SIMPLE": BloomKind.SIMPLE, "DYNAMIC_V0": BloomKind.DYNAMIC}


def _spec(case: dict[str, Any]) -> BloomSpec:
    return BloomSpec(
        kind=KINDS[case["kind"]],
        expected_keys=case["expected_keys"],
        fpp=case["fpp"],
        max_keys=case["max_keys"],
    )


def _cases() -> list[Any]:
    return [
        pytest.param(case, id=f"{release}-{n}")
        for release in RELEASES
        for n, case in enumerate(codec_vectors(release)["blooms"])
    ]


@pytest.mark.parametrize("case", _cases())
def test_bloom_footer_of_golden_keys_equals_hudis(case: dict[str, Any]) -> None:
    """Sizes, rows, turns and sign-extended tails all agree with `BloomFilterFactory`."""
    assert bloom_footer(pa.array(case["keys"], pa.string()), _spec(case)) == case["footer"]


@pytest.mark.parametrize("case", _cases())
def test_bloom_filter_parsed_from_hudis_footer_contains_its_keys(case: dict[str, Any]) -> None:
    """Every key that Hudi added is found, whichever row it went to."""
    keys = pa.array(case["keys"], pa.string())
    filter_ = BloomFilter.parse(case["footer"], KINDS[case["kind"]])
    assert filter_.might_contain(keys).all()
    assert filter_.rounds == _spec(case).rounds


def test_bloom_spec_of_hudis_defaults_has_hudis_size() -> None:
    """60,000 keys at 1e-9 are 2,587,966 bits and 30 rounds (format sheet, section 3.4)."""
    spec = BloomSpec()
    assert (spec.bits, spec.rounds, spec.type_code) == (2_587_966, 30, "DYNAMIC_V0")


@pytest.mark.parametrize(
    "sizes",
    [
        {"expected_keys": 0},
        {"fpp": 0.0},
        {"fpp": 1.0},
        {"max_keys": 0},
        {"max_keys": 2**31},
        {"expected_keys": 10**9},
        {"max_keys": 10_000_000},
        {"kind": BloomKind.SIMPLE, "expected_keys": 10_000_000},
    ],
    ids=str,
)
def test_bloom_spec_of_impossible_sizes_is_refused(sizes: dict[str, Any]) -> None:
    """Hudi counts bits and keys in 32-bit numbers; Arrow refuses texts of more than 100 MB."""
    with pytest.raises(PlanError) as caught:
        BloomSpec(**sizes)
    assert caught.value.condition == "bloom/bad-size"


@pytest.mark.property
@given(
    st.lists(st.text(max_size=12), max_size=80),
    st.sampled_from([BloomKind.SIMPLE, BloomKind.DYNAMIC]),
    st.integers(1, 20),
    st.integers(1, 60),
    st.lists(st.integers(0, 80), max_size=4),
)
def test_bloom_builder_fed_in_batches_equals_one_batch(
    keys: list[str], kind: BloomKind, expected: int, most: int, cuts: list[int]
) -> None:
    """Where a file's keys are cut into batches does not show in its filter."""
    spec = BloomSpec(kind=kind, expected_keys=expected, fpp=0.01, max_keys=most)
    column = pa.array(keys, pa.string())
    edges = [0, *sorted(cuts), len(keys)]
    builder = BloomBuilder(spec)
    builder.add(pa.array(["left", "over"] * 50))
    builder.clear()
    hashes = [builder.add(column[a:b]) for a, b in pairwise(edges) if a <= b]
    assert builder.footer() == bloom_footer(column, spec)
    assert np.concatenate(hashes)[: len(keys)].tolist() == key_hashes(column).tolist()


@pytest.mark.property
@given(
    st.lists(st.text(max_size=12), max_size=60), st.integers(1, 30), st.sampled_from([0.3, 1e-6])
)
def test_bloom_filter_never_denies_a_key_that_it_holds(
    keys: list[str], expected: int, fpp: float
) -> None:
    """There are no false negatives, for both kinds, after a round trip through text."""
    column = pa.array(keys, pa.string())
    for kind in KINDS.values():
        spec = BloomSpec(kind=kind, expected_keys=expected, fpp=fpp, max_keys=3 * expected)
        assert BloomFilter.parse(bloom_footer(column, spec), kind).might_contain(column).all()


@pytest.mark.parametrize("is_quick", [False, True])
def test_bloom_filter_of_absent_keys_keeps_its_false_positive_rate(*, is_quick: bool) -> None:
    """A full filter at one in a hundred reports about that share of absent keys."""
    spec = BloomSpec(expected_keys=5_000, fpp=0.01, is_quick=is_quick)
    filter_ = BloomFilter.parse(
        bloom_footer(pa.array([f"in-{n}" for n in range(5_000)]), spec), BloomKind.DYNAMIC
    )
    found = filter_.might_contain(pa.chunked_array([pa.array([f"out-{n}" for n in range(20_000)])]))
    assert 0.005 < found.mean() < 0.02


@pytest.mark.parametrize("kind", [BloomKind.SIMPLE, BloomKind.DYNAMIC])
@pytest.mark.parametrize("count", [0, 1, 10, 11, 25, 90])
@pytest.mark.parametrize("is_quick", [False, True])
def test_bloom_spec_knows_the_bytes_of_its_text(
    kind: BloomKind, count: int, *, is_quick: bool
) -> None:
    """The size follows from the number of keys alone, and stops growing at `max_keys`."""
    spec = BloomSpec(kind=kind, expected_keys=10, fpp=0.01, max_keys=25, is_quick=is_quick)
    text = bloom_footer(pa.array([str(n) for n in range(count)], pa.string()), spec)
    assert spec.text_bytes(count) == len(text) <= spec.most_text


@pytest.mark.parametrize(("fpp", "rounds", "more"), [(1e-7, 16, 1.05), (1e-9, 20, 1.06)])
def test_bloom_spec_that_is_quick_has_fewer_rounds_and_few_more_bits(
    fpp: float, rounds: int, more: float
) -> None:
    """Two thirds of the rounds cost about a twentieth of the size."""
    usual, quick = (BloomSpec(expected_keys=1_000, fpp=fpp, is_quick=q) for q in (False, True))
    assert quick.rounds == rounds
    assert quick.bits == pytest.approx(usual.bits * more, rel=0.01)


@pytest.mark.parametrize("kind", [BloomKind.SIMPLE, BloomKind.DYNAMIC])
@pytest.mark.parametrize("count", [500, 2_000, 5_000])
def test_bloom_filter_estimates_its_false_positive_rate_from_its_bits(
    kind: BloomKind, count: int
) -> None:
    """What absent keys show, full or overfull, without asking any."""
    spec = BloomSpec(kind=kind, expected_keys=1_000, fpp=0.02, max_keys=3_000)
    filter_ = BloomFilter.parse(
        bloom_footer(pa.array([f"in-{n}" for n in range(count)]), spec), kind
    )
    found = filter_.might_contain(pa.array([f"out-{n}" for n in range(20_000)])).mean()
    assert filter_.false_positive_rate == pytest.approx(found, rel=0.3, abs=0.001)


def test_hashed_keys_after_bloom_know_their_hashes() -> None:
    """The filter's first two rounds are the hashes, whichever is asked for first."""
    column = pa.array(["a", "bb", "é"])
    spec = BloomSpec(expected_keys=10)
    hashed = HashedKeys.from_arrow(column)
    footer = hashed.bloom(spec)
    assert hashed.hash64.tolist() == key_hashes(column).tolist()
    assert HashedKeys(column).hash64.tolist() == key_hashes(column).tolist()
    assert base64.b64encode(footer).decode() == bloom_footer(column, spec)


def test_hashed_keys_at_one_round_still_have_two_rounds_of_hash() -> None:
    """A filter of one round is no excuse for half a hash."""
    spec = BloomSpec(expected_keys=10, fpp=0.6)
    column = pa.array(["a", "bb"])
    assert spec.rounds == 1
    assert BloomBuilder(spec).add(column).tolist() == key_hashes(column).tolist()


def test_bloom_builder_of_kind_none_is_refused() -> None:
    """A table without filters has none to build."""
    with pytest.raises(ValueError, match="none"):
        BloomBuilder(BloomSpec(kind=BloomKind.NONE))


@pytest.mark.parametrize("kind", KINDS.values())
def test_bloom_filter_cut_anywhere_is_refused(kind: BloomKind) -> None:
    """No prefix of a filter passes for a filter."""
    spec = BloomSpec(kind=kind, expected_keys=5, fpp=0.1, max_keys=10)
    data = base64.b64decode(bloom_footer(pa.array([str(n) for n in range(9)]), spec))
    for size in range(len(data)):
        with pytest.raises(CorruptFileError) as caught:
            BloomFilter.parse(base64.b64encode(data[:size]).decode(), kind)
        assert caught.value.condition == "bloom/corrupt"


@pytest.mark.property
@given(st.data())
def test_bloom_filter_with_flipped_bits_is_refused_or_read(data: st.DataObject) -> None:
    """A flipped bit gives a typed error or a filter, never a hang or another error."""
    spec = BloomSpec(expected_keys=5, fpp=0.1, max_keys=10)
    plain = bytearray(base64.b64decode(bloom_footer(pa.array([str(n) for n in range(9)]), spec)))
    place = data.draw(st.integers(0, len(plain) * 8 - 1))
    plain[place // 8] ^= 1 << place % 8
    with suppress(CorruptFileError):
        filter_ = BloomFilter.parse(base64.b64encode(plain).decode(), BloomKind.DYNAMIC)
        assert filter_.might_contain(pa.array(["a"])).shape == (1,)


@pytest.mark.parametrize("text", ["not base64!", "é", "AAAA="])
def test_bloom_filter_of_other_text_is_refused(text: str) -> None:
    """Only strict base64 is a footer."""
    with pytest.raises(CorruptFileError) as caught:
        BloomFilter.parse(text, BloomKind.SIMPLE)
    assert caught.value.condition == "bloom/corrupt"
