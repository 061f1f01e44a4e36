"""What a query says, as clients encode it."""

from __future__ import annotations

from urllib.parse import urlencode

from hypothesis import given
from hypothesis import strategies as st

from framework.timeline_service.messages import parameters

_NAMES = st.text("abcdefghijklmnopqrstuvwxyz", min_size=1)
_VALUES = st.text(st.characters(codec="utf-8"))
_LONG = st.builds(str.__mul__, _VALUES, st.integers(0, 300))


@given(st.dictionaries(_NAMES, _VALUES | _LONG, min_size=1))
def test_parameters_of_any_length_come_back_as_they_were(said: dict[str, str]) -> None:
    """Short values are remembered, long ones are not."""
    assert parameters(urlencode(said)) == said


def test_parameters_that_come_twice_are_the_last() -> None:
    """Nothing is refused, nothing is mixed up."""
    assert parameters("partition=a%3D1&partition=b+c") == {"partition": "b c"}
