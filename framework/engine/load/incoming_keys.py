"""The incoming keys that a partition's slices are searched for, within bounded memory.

Up to four million keys of a bucket are held as texts. Of more, half of each hash, sorted, and the
rows' places are held, eight bytes a row; the texts of candidates are read back and compared.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final, Protocol, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from framework.engine.load.dedup import Bucket, bucket_rows, read_batches, taken_rows
from framework.engine.load.input_rows import KEY
from framework.engine.load.key_input import Part
from framework.hudi.codecs.murmur import key_hashes
from framework.hudi.filegroup.base_file import KeyFooter
from framework.hudi.storage.port import Storage

__all__ = ["IncomingKeys", "KeyMatches", "incoming_keys"]

_MOST_TEXTS: Final = 4_000_000
_RUN_ROWS: Final = 4_000_000
_LOOKED_UP_ROWS: Final = 1_000_000
_KEYS_PER_PROBE: Final = 8
"""A filter is used if the slice has more rows than this number of times the keys to look up.

Looking a key up and comparing a row cost about the same, so a filter that rules nothing out adds
at most an eighth to reading the slice.
"""

KeyMatches: TypeAlias = "tuple[np.ndarray, np.ndarray]"
"""Positions of existing keys, ascending, and the rows of the bucket with the same keys."""


class IncomingKeys(Protocol):
    """Keys of one bucket that may be in some slices."""

    def within(self, footer: KeyFooter | None) -> IncomingKeys | None:
        """Return those that a slice's footer does not rule out; None if it rules out all."""
        ...

    def matches(self, keys: pa.ChunkedArray) -> KeyMatches:
        """Return which of a slice's keys are among them."""
        ...


def incoming_keys(
    storage: Storage, bucket: Bucket, paths: frozenset[str] | None
) -> IncomingKeys | None:
    """Return the keys of a bucket's rows in some partitions; None if it has none.

    Args:
        storage: the table's.
        bucket: the rows.
        paths: of the partitions; None means all.
    """
    chosen = [
        (part, start)
        for part, (path, start, _) in zip(bucket.parts, bucket.starts(), strict=True)
        if paths is None or path in paths
    ]
    if sum(part.rows for part, _ in chosen) > _MOST_TEXTS:
        return _Hashed(storage, bucket, tuple(_runs(storage, chosen)))
    rows, places = bucket_rows(storage, bucket, paths, [KEY])
    return None if rows is None else _Texts(rows[KEY].combine_chunks(), places)


@dataclass(frozen=True, slots=True)
class _Texts:
    """Few keys; `rows` are their places in the bucket."""

    keys: pa.Array
    rows: np.ndarray

    def within(self, footer: KeyFooter | None) -> IncomingKeys | None:
        """Compare with the bounds, then, for few keys, ask the filter."""
        may = self if footer is None else self.chosen(footer.may_hold(self.keys))
        if footer is not None and len(may.keys) * _KEYS_PER_PROBE < footer.rows:
            may = may.chosen(footer.might_contain(may.keys))
        return may if len(may.keys) else None

    def matches(self, keys: pa.ChunkedArray) -> KeyMatches:
        """Look the slice's keys up among these."""
        places = pc.index_in(keys, value_set=self.keys).combine_chunks()
        positions = np.flatnonzero(pc.is_valid(places).to_numpy(zero_copy_only=False))
        return positions, self.rows[places.drop_null().to_numpy()]

    def chosen(self, mask: np.ndarray | None) -> _Texts:
        """Return the keys selected by the mask; None keeps all."""
        if mask is None or mask.all():
            return self
        return _Texts(self.keys.filter(pa.array(mask)), self.rows[mask])


@dataclass(frozen=True, slots=True, kw_only=True)
class _Run:
    """Sorted halves of hashes of the keys of some parts, with the bucket's rows in that order.

    Half a hash is enough: of fifty million keys, one in a hundred others has the same one.
    """

    hashes: np.ndarray
    rows: np.ndarray
    least: str
    greatest: str

    def candidates(self, hashes: np.ndarray) -> KeyMatches:
        """Return the pairs of equal hashes, in the order of positions."""
        first = np.searchsorted(self.hashes, hashes, side="left")
        counts = np.searchsorted(self.hashes, hashes, side="right") - first
        positions = np.repeat(np.arange(hashes.size), counts)
        within = np.arange(positions.size) - np.repeat(np.cumsum(counts) - counts, counts)
        return positions, self.rows[np.repeat(first, counts) + within].astype(np.int64)


@dataclass(frozen=True, slots=True)
class _Hashed:
    """Many keys of a bucket."""

    storage: Storage
    bucket: Bucket
    runs: tuple[_Run, ...]

    def within(self, footer: KeyFooter | None) -> IncomingKeys | None:
        """Compare bounds with bounds."""
        if footer is None or footer.least is None or footer.greatest is None:
            return self
        least, greatest = footer.least.encode(), footer.greatest.encode()
        may = tuple(
            run
            for run in self.runs
            if run.least.encode() <= greatest and run.greatest.encode() >= least
        )
        return replace(self, runs=may) if may and footer.rows else None

    def matches(self, keys: pa.ChunkedArray) -> KeyMatches:
        """Find equal hashes and compare the texts, for a million of the slice's keys at a time."""
        positions, rows = [np.empty(0, np.int64)], [np.empty(0, np.int64)]
        for at in range(0, len(keys), _LOOKED_UP_ROWS):
            found = self._matched(keys.slice(at, _LOOKED_UP_ROWS))
            positions.append(found[0] + at)
            rows.append(found[1])
        return np.concatenate(positions), np.concatenate(rows)

    def _matched(self, keys: pa.ChunkedArray) -> KeyMatches:
        hashes = _halves(keys)
        found = [self._equal(keys, *run.candidates(hashes)) for run in self.runs]
        positions = np.concatenate([positions for positions, _ in found])
        rows = np.concatenate([rows for _, rows in found])
        order = np.argsort(positions, kind="stable")
        return positions[order], rows[order]

    def _equal(self, keys: pa.ChunkedArray, positions: np.ndarray, rows: np.ndarray) -> KeyMatches:
        taken = taken_rows(self.storage, self.bucket, [KEY], rows)
        if taken is None:
            return positions, rows
        same = pc.equal(taken[KEY], keys.take(pa.array(positions))).to_numpy()
        return positions[same], rows[same]


def _halves(keys: pa.Array | pa.ChunkedArray) -> np.ndarray:
    """Return half of the hash of each key."""
    return (key_hashes(keys) >> np.uint64(32)).astype(np.uint32)


def _runs(storage: Storage, parts: Sequence[tuple[Part, int]]) -> Iterator[_Run]:
    """Yield runs of about four million keys; `parts` come with their first row of the bucket."""
    held: list[tuple[Part, int]] = []
    for each in parts:
        held.append(each)
        if sum(part.rows for part, _ in held) >= _RUN_ROWS:
            yield _run(storage, held)
            held = []
    if held:
        yield _run(storage, held)


def _run(storage: Storage, parts: Sequence[tuple[Part, int]]) -> _Run:
    hashes, bounds = [], []
    batches = read_batches(storage, [part for part, _ in parts], [KEY])
    for batch in batches:
        keys = batch.column(KEY)
        hashes.append(_halves(keys))
        ends = pc.min_max(keys)
        bounds += [ends["min"].as_py(), ends["max"].as_py()]
    whole = np.concatenate(hashes)
    order = np.argsort(whole, kind="stable")
    rows = np.concatenate(
        [np.arange(start, start + part.rows, dtype=np.uint32) for part, start in parts]
    )
    return _Run(hashes=whole[order], rows=rows[order], least=min(bounds), greatest=max(bounds))
