"""Sorting and distinct values of many integers, at the same speed on every processor.

Two traps of numpy, both measured with 2.4 on a million 64-bit hashes:

- `sort` uses AVX-512 where there is AVX-512. On AMD's Zen 4, whose compress-store to memory is in
  microcode, that takes 52 ns a value, and 12 ns without (numpy/x86-simd-sort issue 6). The first
  sort of a process therefore measures it once; where it is slow, a radix pass comes first, 26 ns.
- `unique` has used a hash table since 2.3, which takes 600 ns a value if most of them differ.
"""

from __future__ import annotations

import time
from functools import cache
from typing import Final

import numpy as np

__all__ = ["distinct", "sort_hashes"]

_PROBE: Final = 1 << 15
_SLOW_NS: Final = 30.0
"""Nanoseconds a value that a vectorized sort stays below, and one with compress-stores does not."""
_SHORT: Final = 4_096
_RADIX_BITS: Final = 16


def sort_hashes(hashes: np.ndarray) -> None:
    """Sort a contiguous uint64 array in place."""
    if hashes.size > _SHORT and _sorts_slowly():
        _by_high_bits(hashes)
        hashes.sort(kind="stable")  # short runs: insertions
    else:
        hashes.sort()


def distinct(values: np.ndarray) -> np.ndarray:
    """Return the different values of an integer array, ascending."""
    found = np.array(values)
    if found.dtype == np.uint64:
        sort_hashes(found)
    else:
        found.sort()
    if not found.size:
        return found
    kept: np.ndarray = found[np.concatenate([[True], found[1:] != found[:-1]])]
    return kept


def _by_high_bits(hashes: np.ndarray) -> None:
    """Order hashes by the highest sixteen of the bits in which they differ."""
    differing = int(hashes.min() ^ hashes.max()).bit_length()
    shift = np.uint64(max(0, differing - _RADIX_BITS))
    digits = (hashes >> shift).astype(np.uint16)
    hashes[:] = hashes[np.argsort(digits, kind="stable")]


@cache
def _sorts_slowly() -> bool:
    """Return whether numpy's sort is slow on this processor; takes 2 ms at most."""
    values = np.random.default_rng(7).integers(0, 1 << 63, _PROBE, np.uint64)
    took = []
    for _ in range(2):  # the first one may wait for memory
        probe = values.copy()
        begun = time.perf_counter_ns()
        probe.sort()
        took.append((time.perf_counter_ns() - begun) / _PROBE)
    return min(took) > _SLOW_NS
