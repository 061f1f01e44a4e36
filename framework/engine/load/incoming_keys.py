"""The incoming keys that the slices of a scope are searched for, held as texts.

Of a scope with too many to hold, `key_lots` divides them instead.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from framework.engine.load.dedup import Bucket, bucket_rows
from framework.engine.load.input_rows import KEY
from framework.hudi.filegroup.base_file import KeyFooter
from framework.hudi.storage.port import Storage

__all__ = ["IncomingKeys", "KeyMatches", "incoming_keys"]

_KEYS_PER_PROBE: Final = 8
"""A filter is used if the slice has more rows than this number of times the keys to look up.

Looking a key up and comparing a row cost about the same, so a filter that rules nothing out adds
at most an eighth to reading the slice.
"""

KeyMatches: TypeAlias = "tuple[np.ndarray, np.ndarray]"
"""Positions of existing keys, ascending, and the rows of the bucket with the same keys."""


def incoming_keys(
    storage: Storage, bucket: Bucket, paths: frozenset[str] | None
) -> IncomingKeys | None:
    """Return the keys of a bucket's rows in some partitions; None if it has none.

    Args:
        storage: the table's.
        bucket: the rows.
        paths: of the partitions; None means all.
    """
    rows, places = bucket_rows(storage, bucket, paths, [KEY])
    return None if rows is None else IncomingKeys(rows[KEY].combine_chunks(), places)


@dataclass(frozen=True, slots=True)
class IncomingKeys:
    """Keys of one bucket that may be in some slices; `rows` are their places in the bucket."""

    keys: pa.Array
    rows: np.ndarray

    def within(self, footer: KeyFooter | None) -> IncomingKeys | None:
        """Return those that a slice's footer does not rule out; None if it rules out all.

        Compares with the bounds, then, for few keys, asks the filter.
        """
        may = self if footer is None else self.chosen(footer.may_hold(self.keys))
        if footer is not None and len(may.keys) * _KEYS_PER_PROBE < footer.rows:
            may = may.chosen(footer.might_contain(may.keys))
        return may if len(may.keys) else None

    def matches(self, keys: pa.ChunkedArray) -> KeyMatches:
        """Look the slice's keys up among these."""
        places = pc.index_in(keys, value_set=self.keys).combine_chunks()
        positions = np.flatnonzero(pc.is_valid(places).to_numpy(zero_copy_only=False))
        return positions, self.rows[places.drop_null().to_numpy()]

    def chosen(self, mask: np.ndarray | None) -> IncomingKeys:
        """Return the keys selected by the mask; None keeps all."""
        if mask is None or mask.all():
            return self
        return IncomingKeys(self.keys.filter(pa.array(mask)), self.rows[mask])
