"""The texts of row numbers, beyond what denser encodings of them can hold."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from framework.hudi.bootstrap.seqno_pages import RowNumbers

INSTANT = "20260101000000000"
MOST_PARTITIONS_IN_3_BYTES = 1 << 24
MOST_ROWS_IN_5_BYTES = 1 << 40
LAST_INSTANT = "99991231235959999"


@pytest.mark.parametrize("start", [0, 9, 99_998, MOST_ROWS_IN_5_BYTES - 2, 10**15 - 1])
@pytest.mark.parametrize("number", [0, MOST_PARTITIONS_IN_3_BYTES, 10**9])
def test_texts_beyond_five_and_three_bytes_do_not_overflow(start: int, number: int) -> None:
    """A part that outgrows its bytes gains a digit, and is still the number that it counts."""
    numbers = RowNumbers(instant=LAST_INSTANT, number=number)
    rows = range(start, start + 5)
    expected = [f"{LAST_INSTANT}_{number}_{row}" for row in rows]
    assert numbers.texts(start, 5).to_pylist() == expected


@pytest.mark.property
@settings(deadline=None)
@given(start=st.integers(0, 10**12), rows=st.integers(0, 1_500), number=st.integers(0, 10**7))
def test_texts_are_those_of_python(start: int, rows: int, number: int) -> None:
    """No leading zeros, in order, each once, whatever widths the numbers pass through."""
    found = RowNumbers(instant=INSTANT, number=number).texts(start, rows).to_pylist()
    assert found == [f"{INSTANT}_{number}_{row}" for row in range(start, start + rows)]


def test_texts_of_two_instants_never_meet() -> None:
    """The parts are separated, so no two triples share a text."""
    one = RowNumbers(instant=INSTANT, number=1).texts(11, 1)[0].as_py()
    other = RowNumbers(instant=INSTANT, number=11).texts(1, 1)[0].as_py()
    assert one != other
