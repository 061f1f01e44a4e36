"""DELTA_BINARY_PACKED streams, decoded by a plain reading of the Parquet specification."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from framework.hudi.bootstrap.seqno_pages import PackedNumbers


class Stream:
    """A stream read as the specification says."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.at = 0

    def number(self) -> int:
        """Read an unsigned number of seven bits a byte."""
        value = shift = 0
        while True:
            byte = self.data[self.at]
            self.at += 1
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return value

    def signed(self) -> int:
        """Read a zigzag number."""
        value = self.number()
        return value >> 1 ^ -(value & 1)

    def part(self, count: int, width: int) -> list[int]:
        """Read `count` numbers of `width` bits."""
        size = count * width // 8
        bits = int.from_bytes(self.data[self.at : self.at + size], "little")
        self.at += size
        return [bits >> place * width & (1 << width) - 1 for place in range(count)]


def decode(data: bytes) -> tuple[list[int], int]:
    """Return the numbers of a stream and how many bytes it has."""
    stream = Stream(data)
    block, parts, count, first = stream.number(), stream.number(), stream.number(), stream.signed()
    values = [first]
    while len(values) < count:
        least = stream.signed()
        widths = data[stream.at : stream.at + parts]
        stream.at += parts
        for width in widths:
            left = count - len(values)
            assert left or not width, "a part without numbers has no bits"
            for above in stream.part(block // parts, width)[:left]:
                values.append(values[-1] + least + above)
    return values, stream.at


@pytest.mark.property
@given(st.lists(st.integers(0, 60), min_size=1, max_size=700), st.data())
def test_packed_numbers_any_cut_decodes_to_its_start(
    values: list[int], data: st.DataObject
) -> None:
    """A cut is a stream of its own, and ends where its last part ends."""
    packed = PackedNumbers.of(np.array(values, np.uint8))
    count = data.draw(st.integers(1, len(values)))
    stream = packed.cut(count)
    assert decode(stream) == (values[:count], len(stream))


def test_packed_numbers_too_far_apart_are_refused() -> None:
    """What one byte cannot say is no stream of ours."""
    with pytest.raises(ValueError, match="one byte"):
        PackedNumbers.of(np.array([0, 100, 0]))
