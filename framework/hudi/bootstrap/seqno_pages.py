"""Pages of sequence numbers, `<instant>_<number>_<row>`, in Parquet's DELTA_BYTE_ARRAY.

Rows count up, so a value shares with the one before it all but its last digit and the zeros that
end it. Only a page's first value depends on the file; the rest depends on the first row alone, is
made once and reused for every file. A shorter page is a cut of the longer one.

A page is: lengths of shared prefixes, lengths of suffixes (both DELTA_BINARY_PACKED), suffixes.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Final

import numpy as np

from framework.hudi.bootstrap.delta_encoding import PackedNumbers

__all__ = ["PAGE_ROWS", "seqno_page"]

PAGE_ROWS: Final = 1 << 17

_PAGES_KEPT: Final = 32


def seqno_page(prefix: str, start: int, rows: int) -> bytes:
    """Return the values `prefix + str(row)` for `rows` rows (1 to `PAGE_ROWS`) from `start`.

    `prefix` is ASCII, at most 60 characters.
    """
    common = _common_page(start, len(prefix))
    return b"".join(
        [
            common.prefixes.cut(rows),
            common.suffixes.cut(rows),
            f"{prefix}{start}".encode(),
            common.tail[: common.ends[rows - 1]],
        ]
    )


@dataclass(frozen=True, slots=True)
class _CommonPage:
    """A full page without its first value; `ends` are the bytes of `tail` up to each row."""

    prefixes: PackedNumbers
    suffixes: PackedNumbers
    tail: bytes
    ends: np.ndarray


@lru_cache(maxsize=_PAGES_KEPT)
def _common_page(start: int, prefix_length: int) -> _CommonPage:
    """Return what pages have in common whose rows begin at `start`; about 800 KB."""
    rows = np.arange(start, start + PAGE_ROWS)
    digits = np.ones(PAGE_ROWS, np.uint8)
    suffixes = np.ones(PAGE_ROWS, np.uint8)
    power = 10
    while power <= rows[-1]:
        digits += rows >= power
        suffixes += (rows % power == 0) & (rows > 0)
        power *= 10
    suffixes[0] = prefix_length + digits[0]
    prefixes = prefix_length + digits - suffixes
    return _CommonPage(
        PackedNumbers.of(prefixes),
        PackedNumbers.of(suffixes),
        _last_digits(rows[1:], suffixes[1:]),
        np.concatenate([[0], np.cumsum(suffixes[1:], dtype=np.uint32)]).astype(np.uint32),
    )


def _last_digits(rows: np.ndarray, lengths: np.ndarray) -> bytes:
    """Return the last digits of each row, so many as `lengths` says, one row after the other."""
    width = int(lengths.max())
    powers = 10 ** np.arange(width - 1, -1, -1)
    digits = (rows[:, None] // powers % 10 + ord("0")).astype(np.uint8)
    chosen: np.ndarray = digits[np.arange(width) >= width - lengths[:, None].astype(np.int64)]
    return chosen.tobytes()
