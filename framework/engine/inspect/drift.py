"""How a source differs from the one that a table adopted, by names, sizes and times.

Only the bootstrap index is opened; the fingerprints in skeletons are for deeper checks.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from itertools import groupby
from typing import Final

from framework.hudi.bootstrap.discovery import Ignored, SourceFile, discover
from framework.hudi.bootstrap.index import BootstrapIndex, FileMapping
from framework.hudi.bootstrap.skeleton import file_id
from framework.hudi.storage.port import Storage
from framework.hudi.table.layout import BOOTSTRAP_INSTANT
from framework.hudi.view.listing_view import ListingView
from framework.plan.observation import SourceDrift
from framework.vocabulary import BootstrapMode

__all__ = ["Adoption", "find_drift", "needed"]

_SAMPLES: Final = 5
_NS_PER_MS: Final = 1_000_000
_WRITTEN: Final = (BootstrapMode.METADATA_ONLY, BootstrapMode.FULL_RECORD)


@dataclass(frozen=True, slots=True, kw_only=True)
class Adoption:
    """A table's record of its source.

    Attributes:
        source: storage opened at the root of the source.
        levels: folder levels of a partition.
        skipped: partitions outside the table.
        has_full: whether some source files were written in full.
        written: returns the ids of a partition's file groups that the bootstrap wrote, also of
            those that a clean deleted since; called only if a file looks new.
    """

    source: Storage
    levels: int
    skipped: frozenset[str]
    has_full: bool
    written: Callable[[str], frozenset[str]]


@dataclass(slots=True)
class _Tally:
    """Counts and a few samples, collected over the partitions."""

    new: list[str] = field(default_factory=list)
    changed: list[str] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)
    new_files: int = 0
    new_bytes: int = 0
    changed_files: int = 0
    missing_files: int = 0

    def drift(self) -> SourceDrift:
        """Return the counts as a value."""
        return SourceDrift(
            new_files=self.new_files,
            new_bytes=self.new_bytes,
            missing_files=self.missing_files,
            changed_files=self.changed_files,
            samples_new=tuple(self.new),
            samples_missing=tuple(self.missing),
            samples_changed=tuple(self.changed),
        )


def find_drift(adoption: Adoption, index: BootstrapIndex | None, view: ListingView) -> SourceDrift:
    """Return how the source differs now.

    Source files that no skeleton needs any more may be changed or missing.
    Costs one listing of each folder of the source, and of each table partition with a difference,
    or of all if files were written in full; memory holds one partition.
    """
    tally = _Tally()
    left = set(index.partitions()) if index else set()
    found = discover(adoption.source, adoption.levels, Ignored())
    for partition, files in groupby(found, key=lambda each: each.partition_path):
        if partition in adoption.skipped:
            continue
        mappings = index.mappings(partition) if index and partition in left else {}
        left.discard(partition)
        here = list(files)
        full = _full_ids(adoption, view, partition, here, mappings)
        _compare(tally, here, mappings, full, partial(needed, view, partition))
    for partition in sorted(left):
        mappings = index.mappings(partition) if index else {}
        _note_missing(tally, mappings, needed(view, partition))
    return tally.drift()


def needed(view: ListingView, partition: str) -> frozenset[str]:
    """Return the file ids of a partition that have a skeleton, in whatever slice."""
    return frozenset(
        each.group.file_id
        for each in view.groups(partition)
        if any(base.name.instant == BOOTSTRAP_INSTANT for base in each.bases)
    )


def _full_ids(
    adoption: Adoption,
    view: ListingView,
    partition: str,
    files: list[SourceFile],
    mappings: Mapping[str, FileMapping],
) -> frozenset[str]:
    """Return ids of a partition's files that were written in full, at least of those here."""
    if not adoption.has_full:
        return frozenset()
    found = frozenset(each.group.file_id for each in view.groups(partition))
    known = found | mappings.keys()
    if all(not known.isdisjoint(file_id(file.path, mode) for mode in _WRITTEN) for file in files):
        return found
    return found | adoption.written(partition)


def _compare(
    tally: _Tally,
    files: list[SourceFile],
    mappings: Mapping[str, FileMapping],
    full: frozenset[str],
    skeletons: Callable[[], frozenset[str]],
) -> None:
    """Add the new, changed and missing files of one partition to the tally.

    `skeletons` lists the partition, and is called only if something is changed or missing.
    """
    unseen = dict(mappings)
    changed = {}
    for file in files:
        identity = file_id(file.path, BootstrapMode.METADATA_ONLY)
        mapping = unseen.pop(identity, None)
        if mapping is not None:
            if (mapping.size, mapping.mtime_ms) != (file.size, file.mtime_ns // _NS_PER_MS):
                changed[identity] = file.path
        elif file_id(file.path, BootstrapMode.FULL_RECORD) not in full:
            tally.new_files += 1
            tally.new_bytes += file.size
            _sample(tally.new, file.path)
    if not changed and not unseen:
        return
    wanted = skeletons()
    for identity, path in changed.items():
        if identity in wanted:
            tally.changed_files += 1
            _sample(tally.changed, path)
    _note_missing(tally, unseen, wanted)


def _note_missing(
    tally: _Tally, mappings: Mapping[str, FileMapping], wanted: frozenset[str]
) -> None:
    """Add the missing files of one partition that a skeleton needs."""
    for identity, mapping in mappings.items():
        if identity in wanted:
            tally.missing_files += 1
            _sample(tally.missing, mapping.uri)


def _sample(samples: list[str], text: str) -> None:
    if len(samples) < _SAMPLES:
        samples.append(text)
