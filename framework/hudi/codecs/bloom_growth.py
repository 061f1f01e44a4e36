"""Adding a few keys to a file's existing bloom filter."""

from __future__ import annotations

import base64
import struct
from typing import Final

import numpy as np

from framework.errors import CorruptFileError
from framework.hudi.codecs.bloom import ONE_FILTER, ROWS, BloomSpec, Positions, read_header
from framework.hudi.codecs.murmur import KeyColumn, key_words
from framework.vocabulary import BloomKind

__all__ = ["grown"]

_FULLEST: Final = 1.1
"""A row takes a tenth more keys than its capacity: a rate of 1e-7 becomes 3.3e-7."""
_ALIKE: Final = 0.01


def grown(text: str, keys: KeyColumn, spec: BloomSpec) -> str | None:
    """Return the text of a dynamic filter's footer with more keys in its last row.

    None if the filter must be rebuilt from all keys: that row would be too full, the filter is not
    of `spec` (another rate or kind), or it cannot be read.

    Args:
        text: of the footer, as returned by `BloomBuilder.footer`.
        keys: text without nulls.
        spec: of the filter that a rebuild would make.
    """
    try:
        data = bytearray(base64.b64decode(text, validate=True))
        rounds, bits = read_header(bytes(data[: ONE_FILTER.size]), 0)
        per_row, in_last, rows = ROWS.unpack_from(data, ONE_FILTER.size)
    except (ValueError, struct.error, CorruptFileError):  # it is rebuilt, so nothing is lost
        return None
    size = ONE_FILTER.size + -(-bits // 8)
    begin = ONE_FILTER.size + ROWS.size
    whole = rows >= 1 and len(data) == begin + rows * size
    if not (whole and _fits(spec, per_row, rounds, bits)):
        return None
    if not 0 <= in_last + len(keys) <= per_row * _FULLEST:
        return None
    last = begin + (rows - 1) * size + ONE_FILTER.size
    packed = np.frombuffer(data, np.uint8, offset=last)
    positions = Positions(bits)
    for block in key_words(keys):
        for _ in range(rounds):
            at = positions.of(block.next_round())
            np.bitwise_or.at(packed, at >> 3, np.left_shift(1, at & 7).astype(np.uint8))
    ROWS.pack_into(data, ONE_FILTER.size, per_row, in_last + len(keys), rows)
    return base64.b64encode(data).decode("ascii")


def _fits(spec: BloomSpec, per_row: int, rounds: int, bits: int) -> bool:
    """Return whether a filter has the rate of `spec`."""
    if spec.kind is not BloomKind.DYNAMIC or rounds != spec.rounds or per_row < 1:
        return False
    wanted = spec.bits / spec.expected_keys
    return abs(bits / per_row - wanted) <= wanted * _ALIKE
