"""Bytes and cost, from counts alone."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from framework.hudi.bootstrap.key_pass import BloomChoice
from framework.hudi.bootstrap.sample import Sample
from framework.hudi.codecs.bloom import bloom_footer
from framework.plan.estimate import (
    BYTE_FACTOR,
    FILE_FACTOR,
    ROW_FACTOR,
    Estimate,
    RowCost,
    bloom_bytes,
    commit_bytes,
    core_seconds,
    full_record_bytes,
    index_bytes,
    skeleton_bytes,
)
from framework.plan.partitions import PartitionPlan
from framework.vocabulary import BloomKind, BootstrapMode

BLOOM = BloomChoice(expected_keys=100, fpp=0.01, max_keys=250)
PLAIN = RowCost(bloom=BloomChoice(kind=BloomKind.NONE.value))
SMALL = RowCost(bloom=BLOOM)


def a_partition(**changes: Any) -> PartitionPlan:
    """Return a partition of 2 files with 1,000 rows and 100,000 bytes, but for the changes."""
    usual = PartitionPlan(
        partition_path="p=1",
        mode=BootstrapMode.METADATA_ONLY,
        files=2,
        rows=1000,
        bytes=100_000,
        first=0,
        stop=2,
    )
    return replace(usual, **changes)


def test_skeleton_bytes_without_bloom_is_keys_and_files() -> None:
    """The documented formula: two bytes per row without a sample."""
    assert skeleton_bytes([a_partition()], PLAIN) == 1000 * 2 + 2 * 1800
    sampled = replace(PLAIN, key_bytes=18.9)
    assert skeleton_bytes([a_partition()], sampled) == 18_900 + 2 * 1800


def test_skeleton_bytes_with_bloom_adds_one_filter_for_each_file() -> None:
    """Each file has its own filter, sized by its share of the rows."""
    without = skeleton_bytes([a_partition()], PLAIN)
    assert skeleton_bytes([a_partition()], SMALL) == without + 2 * bloom_bytes(500, BLOOM)


def test_full_record_bytes_is_nine_tenths_of_the_source_and_the_keys() -> None:
    """The data is packed a little denser; meta columns and footers come on top."""
    assert full_record_bytes([a_partition()], PLAIN) == 90_000 + 2000 + 2 * 4096


def test_index_and_commit_bytes_grow_with_the_files() -> None:
    """The documented constants."""
    assert index_bytes(12, 3) == 10_240 + 12 * 130 + 3 * 60
    assert commit_bytes(250_000) == 4096 + 160_000_000


@pytest.mark.parametrize("keys", [0, 1, 100, 101, 250, 1000])
@pytest.mark.parametrize("kind", [BloomKind.DYNAMIC, BloomKind.SIMPLE])
def test_bloom_bytes_is_the_real_size(keys: int, kind: BloomKind) -> None:
    """The size of a filter follows from the number of its keys."""
    for expected in (0, 100):
        choice = BloomChoice(kind=kind.value, expected_keys=expected, fpp=0.01, max_keys=250)
        spec = choice.spec(keys)
        assert spec is not None
        real = bloom_footer(pa.array([str(n) for n in range(keys)], pa.string()), spec)
        assert bloom_bytes(keys, choice) == len(real)


def test_bloom_bytes_of_no_filter_is_nothing() -> None:
    """Kind `none` writes none."""
    assert bloom_bytes(10**6, PLAIN.bloom) == 0


def test_core_seconds_of_rewritten_bytes_costs_more_than_skeletons() -> None:
    """Rewriting data is what a bootstrap without copying avoids."""
    assert core_seconds([], [a_partition()], SMALL) > core_seconds([a_partition()], [], SMALL)


def test_core_seconds_follow_the_sampled_rates() -> None:
    """Rows, files and rewritten bytes each count with what the sample took for one of them."""
    sample = Sample(files=2, rows=100, key_bytes=250, key_ns=100_000, file_ns=600_000) + Sample(
        stored_bytes=1_000, rewritten_bytes=500, rewrite_ns=40_000
    )
    cost = RowCost.of(BLOOM, sample)
    assert (cost.key_bytes, cost.key_ns, cost.file_ns) == (2.5, 1_000, 300_000)
    assert (cost.full_share, cost.byte_ns) == (0.5, 40)
    part = a_partition()
    skeletons = core_seconds([part], [], cost)
    ns = 1_000 * 1_000 * ROW_FACTOR + 2 * 300_000 * FILE_FACTOR
    assert skeletons == pytest.approx(ns / 1e9)
    full = core_seconds([], [part], cost)
    assert full - skeletons == pytest.approx(100_000 * 40 * BYTE_FACTOR / 1e9)


def test_row_cost_without_a_sample_has_usual_rates() -> None:
    """A source without rows, or whose rows cannot be read yet, has an estimate too."""
    assert RowCost.of(BLOOM, None) == RowCost(bloom=BLOOM)
    keys_alone = Sample(files=1, rows=10, key_bytes=5, key_ns=50, file_ns=60)
    assert RowCost.of(BLOOM, keys_alone).byte_ns == RowCost(bloom=BLOOM).byte_ns


def test_estimate_bytes_to_write_is_the_sum_of_its_kinds() -> None:
    """Nothing is left out of the total."""
    found = Estimate(skeleton_bytes=1, full_record_bytes=2, index_bytes=4, commit_bytes=8)
    assert found.bytes_to_write == 15


@pytest.mark.property
@given(rows=st.integers(0, 10**10), more=st.integers(0, 10**6), files=st.integers(1, 10**5))
def test_skeleton_bytes_of_more_rows_is_never_less(rows: int, more: int, files: int) -> None:
    """The estimate grows with its input."""
    few = a_partition(rows=rows, files=files)
    many = a_partition(rows=rows + more, files=files)
    assert skeleton_bytes([few], SMALL) <= skeleton_bytes([many], SMALL)
