"""Numbers of variable length: fastavro and plain arithmetic agree with ours."""

from __future__ import annotations

import io

import fastavro
import pytest
from hypothesis import given
from hypothesis import strategies as st

from framework.hudi.codecs.varint import read_uvarint, uvarint, zigzag


@pytest.mark.property
@given(st.integers(-(2**63), 2**63 - 1))
def test_zigzag_of_any_long_follows_fastavro(value: int) -> None:
    """Zigzag varints are Avro's."""
    out = io.BytesIO()
    fastavro.schemaless_writer(out, "long", value)
    assert zigzag(value) == out.getvalue()


@pytest.mark.property
@given(value=st.integers(0, 2**70 - 1), before=st.binary(max_size=3), after=st.binary(max_size=3))
def test_uvarint_of_any_number_is_read_back(value: int, before: bytes, after: bytes) -> None:
    """A number is found where it begins, and what follows it is left."""
    data = uvarint(value)
    assert read_uvarint(before + data + after, len(before)) == (value, len(before) + len(data))


@pytest.mark.parametrize("data", [b"", b"\x80", b"\xff" * 9, b"\xff" * 11])
def test_uvarint_that_is_cut_or_too_long_is_refused(data: bytes) -> None:
    """Ten bytes at most, the last without the bit that says more."""
    with pytest.raises(ValueError, match="truncated or too long"):
        read_uvarint(data, 0)
