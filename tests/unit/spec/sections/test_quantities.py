"""Sizes: bytes, or text with a unit."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic_core import PydanticCustomError

from framework.spec.document.scalars import core_scalar
from framework.spec.sections.quantities import MAX_SIZE, UNITS, parse_size, size_text


@pytest.mark.parametrize(
    ("written", "size_bytes"),
    [
        *[("0KB", 0), ("1KB", 1024), ("1MB", 1024**2), ("1GB", 1024**3)],
        *[("120MB", 125_829_120), ("120 MB", 125_829_120), (125_829_120, 125_829_120)],
    ],
)
def test_size_is_a_number_of_bytes(written: str | int, size_bytes: int) -> None:
    """Units are powers of 1024, with or without one space before them."""
    assert parse_size(written) == size_bytes


@pytest.mark.parametrize(
    ("written", "suggestion"),
    [
        *[("120mb", "120MB"), ("120 mb", "120MB"), ("120M", "120MB"), ("120MiB", "120MB")],
        *[("1.5GB", "1536MB"), ("0.5 KB", "512"), ("1TB", "1024GB"), ("1000", "1000")],
        *[("", None), ("MB", None), ("-1MB", None), ("1_000", None), ("9" * 40, None)],
        *[("1e3MB", None), ("٣MB", None), ("120  MB", "120MB")],
    ],
)
def test_other_spelling_is_refused_with_the_right_one(written: str, suggestion: str | None) -> None:
    """The suggestion means the same, in the greatest unit that leaves a whole number."""
    with pytest.raises(PydanticCustomError) as caught:
        parse_size(written)
    context = caught.value.context or {}
    assert (context["rule"], context["suggestion"]) == ("bad-size", suggestion)


@pytest.mark.property
@given(st.integers(0, MAX_SIZE))
def test_written_size_is_read_as_the_same_size(size_bytes: int) -> None:
    """What `size_text` writes, YAML and `parse_size` read back."""
    scalar = core_scalar(size_text(size_bytes))
    assert isinstance(scalar, str | int)
    assert parse_size(scalar) == size_bytes


@pytest.mark.property
@given(st.integers(0, 10**6), st.sampled_from(sorted(UNITS)))
def test_size_counts_its_unit_and_is_written_no_longer_than_before(number: int, unit: str) -> None:
    """Any number of any unit is read, and its shortest form is at most as long."""
    size_bytes = parse_size(f"{number}{unit}")
    assert size_bytes == number * UNITS[unit]
    assert len(size_text(size_bytes)) <= len(f"{number}{unit}")
