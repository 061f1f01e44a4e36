"""Which file group takes which new rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from framework.engine.load import assignment
from framework.engine.load.assignment import (
    GroupShare,
    Sizing,
    SliceFacts,
    assign,
    count_rows,
    pieces,
)


def a_slice(number: int, **changes: Any) -> SliceFacts:
    """Return a slice of 100 rows and 1,000 bytes in partition `p`, unchanged but for `changes`."""
    found: dict[str, Any] = {
        "partition_path": "p",
        "rows": 100,
        "bytes": 1_000,
        "hits": 0,
        "is_skeleton": False,
        "has_logs": False,
    }
    return SliceFacts(number=number, **{**found, **changes})


def a_sizing(**changes: Any) -> Sizing:
    """Return files of 2,000 bytes, small below 1,500, rows of 10 bytes, changes in base files."""
    found: dict[str, Any] = {
        "target_bytes": 2_000,
        "small_bytes": 1_500,
        "row_bytes": 10.0,
        "appends": False,
    }
    return Sizing(**{**found, **changes})


def shares(slices: Sequence[SliceFacts], rows: int, **changes: Any) -> list[tuple[int | None, int]]:
    """Return (slice, rows taken) of each group for new rows in partition `p`."""
    inserts = {"p": [(0, 0, rows)]} if rows else {}
    found = assign(slices, inserts, a_sizing(**changes))
    return [(each.slice, _rows(each)) for each in found]


def _rows(share: GroupShare) -> int:
    return sum(stop - start for _, start, stop in share.inserts)


def test_assign_small_slice_takes_rows_up_to_the_target() -> None:
    """A file below the limit is filled to the target; what is left opens a new group."""
    assert shares([a_slice(0)], 150) == [(0, 100), (None, 50)]


def test_assign_smaller_slice_comes_first() -> None:
    """Of two small files the smaller one takes rows first."""
    assert shares([a_slice(0), a_slice(1, bytes=500, rows=50)], 30) == [(1, 30)]


def test_assign_rewritten_slice_comes_before_a_smaller_one() -> None:
    """A file that is rewritten anyway costs nothing more."""
    assert shares([a_slice(0, hits=1), a_slice(1, bytes=500, rows=50)], 30) == [(0, 30)]


def test_assign_slice_that_is_not_small_takes_none() -> None:
    """A file at the limit is left as it is."""
    assert shares([a_slice(0, bytes=1_500)], 10) == [(None, 10)]


def test_assign_without_limit_fills_nothing() -> None:
    """A limit of 0 switches filling off, for rewritten files too."""
    assert shares([a_slice(0, hits=1)], 10, small_bytes=0) == [(0, 0), (None, 10)]


def test_assign_skeleton_is_not_rewritten_for_new_rows() -> None:
    """A skeleton takes new rows only where it changes anyway."""
    assert shares([a_slice(0, is_skeleton=True)], 10) == [(None, 10)]
    assert shares([a_slice(0, is_skeleton=True, hits=1)], 10) == [(0, 10)]


def test_assign_appended_slice_takes_none() -> None:
    """Where changes go to log files, a changed file takes no new rows, an unchanged one does."""
    assert shares([a_slice(0, hits=1)], 10, appends=True) == [(0, 0), (None, 10)]
    assert shares([a_slice(0)], 10, appends=True) == [(0, 10)]
    assert shares([a_slice(0, has_logs=True)], 10, appends=True) == [(None, 10)]


def test_assign_slice_that_hides_new_keys_is_rewritten() -> None:
    """Whatever its logs and its size; it takes new rows first if it is small."""
    hides = a_slice(0, has_logs=True, hides=True)
    assert shares([hides, a_slice(1, bytes=500, rows=50)], 30, appends=True) == [(0, 30)]
    large = a_slice(0, has_logs=True, hides=True, bytes=3_000)
    found = assign([large], {"p": [(0, 0, 5)]}, a_sizing(appends=True))
    assert [(each.slice, each.appends) for each in found] == [(0, False), (None, False)]


def test_assign_many_new_rows_are_spread_evenly() -> None:
    """New groups have about the same size, none above the target."""
    assert shares([], 500) == [(None, 167), (None, 167), (None, 166)]


@given(
    sizes=st.lists(st.tuples(st.integers(1, 3_000), st.integers(0, 2)), max_size=6),
    counts=st.lists(st.integers(0, 400), max_size=4),
    appends=st.booleans(),
)
def test_assign_any_input_gives_every_row_to_one_group(
    sizes: list[tuple[int, int]], counts: list[int], *, appends: bool
) -> None:
    """Stretches of all groups together are the input, and every changed slice is there."""
    slices = [a_slice(n, bytes=size, hits=hits) for n, (size, hits) in enumerate(sizes)]
    inserts = {"p": [(bucket, 0, count) for bucket, count in enumerate(counts) if count]}
    found = assign(slices, inserts, a_sizing(appends=appends))
    given_out = sorted(
        (bucket, row)
        for share in found
        for bucket, start, stop in share.inserts
        for row in range(start, stop)
    )
    assert given_out == [(b, row) for b, count in enumerate(counts) for row in range(count)]
    changed = {each.number for each in slices if each.hits}
    assert changed <= {share.slice for share in found}
    assert all(share.inserts or share.slice in changed for share in found)


@given(
    st.lists(st.tuples(st.integers(0, 3), st.integers(0, 9), st.integers(0, 9)), max_size=5),
    st.integers(1, 7),
)
def test_pieces_have_all_rows_in_order_and_equal_sizes(
    drawn: list[tuple[int, int, int]], most: int
) -> None:
    """Only the last one is smaller."""
    stretches = [(bucket, start, start + count) for bucket, start, count in drawn]
    found = list(pieces(stretches, most))
    assert [count_rows(each) for each in found[:-1]] == [most] * len(found[:-1])
    assert all(0 < count_rows(each) <= most for each in found)
    flat = [(b, row) for each in found for b, start, stop in each for row in range(start, stop)]
    assert flat == [(b, row) for b, start, stop in stretches for row in range(start, stop)]


def test_narrow_rows_are_split_by_number(monkeypatch: pytest.MonkeyPatch) -> None:
    """A file has at most so many rows, also one that takes more."""
    monkeypatch.setattr(assignment, "MOST_ROWS", 10)
    sizing = Sizing(target_bytes=1 << 20, small_bytes=1 << 19, row_bytes=1.0, appends=False)
    held = SliceFacts(
        number=0,
        partition_path="",
        rows=7,
        bytes=7,
        hits=0,
        is_skeleton=False,
        has_logs=False,
    )
    found = assign([held], {"": [(0, 0, 25)]}, sizing)
    assert [(each.slice, count_rows(each.inserts)) for each in found] == [
        (0, 3),
        (None, 8),
        (None, 7),
        (None, 7),
    ]
