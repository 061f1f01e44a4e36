"""A guess, from a few footers, whether order alone may prove a source's keys.

A wrong guess costs time and nothing else: order and ranges are proven on the keys themselves.
"""

from __future__ import annotations

from itertools import groupby, pairwise
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from framework.hudi.bootstrap.inventory import InventoryFile, read_files
from framework.hudi.bootstrap.source_file import open_source
from framework.hudi.storage.locations import open_storage
from framework.vocabulary import KeyScope

if TYPE_CHECKING:
    from collections.abc import Sequence

    from framework.engine.audit.keys import KeySource
    from framework.engine.bootstrap.job import WorkRange
    from framework.hudi.bootstrap.source_file import SourceReader

__all__ = ["may_be_ordered"]

_PLACES: Final = 8
_NEIGHBOURS: Final = 2


def may_be_ordered(keys: KeySource, ranges: Sequence[WorkRange]) -> bool:
    """Return whether statistics of the first key column in a few files are of ranges apart.

    Opens at most sixteen files: in eight places two neighbours.

    Raises:
        SourceDriftError: a source file is not the one in the inventory.
    """
    rule = keys.rule
    files = _sampled(keys, ranges)
    if rule.scope is KeyScope.TABLE:
        return _are_apart(keys, files)
    scopes = groupby(files, key=lambda file: file.partition_path)
    return all(_are_apart(keys, list(each)) for _, each in scopes)


def _sampled(keys: KeySource, ranges: Sequence[WorkRange]) -> list[InventoryFile]:
    """Return some files, evenly spread, in order."""
    sizes = np.array([each.stop - each.start for each in ranges], np.int64)
    total = int(sizes.sum())
    if not total:
        return []
    ends = np.cumsum(sizes)
    spread = np.linspace(0, max(0, total - _NEIGHBOURS), _PLACES).astype(np.int64)
    places = np.unique(np.add.outer(spread, np.arange(_NEIGHBOURS)).clip(max=total - 1))
    at = np.searchsorted(ends, places, side="right")
    starts = np.array([each.start for each in ranges], np.int64)
    numbers = starts[at] + places - (ends - sizes)[at]
    return [file for n in numbers.tolist() for file in read_files(keys.inventory, n, n + 1)]


def _are_apart(keys: KeySource, files: Sequence[InventoryFile]) -> bool:
    """Return whether the files' ranges overlap in no more than an end."""
    found: list[tuple[Any, Any]] = []
    for file in files:
        if file.fingerprint.rows:
            with open_source(open_storage(keys.source), file.fingerprint) as reader:
                found.append(_bounds(reader, keys.rule.record_key))
    if any(low is None for low, _ in found) or len({type(low) for low, _ in found}) > 1:
        return False
    return all(last <= first for (_, last), (first, _) in pairwise(sorted(found)))


def _bounds(reader: SourceReader, names: Sequence[str]) -> tuple[Any, Any]:
    """Return the least and the greatest value of the first key column that the file has."""
    name = next((name for name in names if not reader.lacks(name)), None)
    return (None, None) if name is None else reader.bounds(name)
