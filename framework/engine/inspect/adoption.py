"""What a table adopted: its sources, the groups of its bootstrap, and how a source differs now.

The difference is by names, sizes and times: only the bootstrap index is opened; the fingerprints in
skeletons are for deeper checks.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from itertools import groupby
from typing import Final

from framework.engine.places import canonical
from framework.engine.reading.table_memory import read_memory
from framework.errors import FrameworkError
from framework.hudi.bootstrap.discovery import Ignored, SourceFile, discover
from framework.hudi.bootstrap.index import BootstrapIndex, FileMapping
from framework.hudi.bootstrap.skeleton import file_id
from framework.hudi.storage.locations import open_storage
from framework.hudi.storage.port import Storage
from framework.hudi.table.layout import BOOTSTRAP_INSTANT, join
from framework.hudi.table.properties import TableProperties, read_properties
from framework.hudi.timeline.archive import archived_file_ids, newest_first
from framework.hudi.timeline.commit_body import read_commit_body
from framework.hudi.timeline.timeline import Timeline
from framework.hudi.view.listing_view import ListingView
from framework.plan.observation import SourceDrift
from framework.vocabulary import BootstrapMode

__all__ = ["AdoptedGroups", "Adoption", "find_drift", "folders_apart", "needed", "sources_of"]


def sources_of(
    storage: Storage, properties: TableProperties | None, timeline: Timeline
) -> frozenset[str]:
    """Return the canonical locations of the sources that a table was bootstrapped from.

    Of the properties, the bootstrap index and the table's memory, those that can be read.
    """
    found = {properties.bootstrap_base_path if properties else None}
    with suppress(FrameworkError):
        memory = read_memory(storage, timeline)
        found.add(memory.facts.source if memory and memory.facts else None)
    with suppress(FrameworkError):
        index = BootstrapIndex.open(storage)
        if index is not None:
            with index:
                found.add(index.base_uri)
    return frozenset(_location(each) for each in found if each)


def folders_apart(storage: Storage, sources: frozenset[str]) -> frozenset[str]:
    """Return the paths, relative to a table, of the sources inside it."""
    root = canonical(storage.location)
    inside = (each for each in sources if _is_within(each, root) and each != root)
    return frozenset(join(each.removeprefix(root).strip("/")) for each in inside)


def _is_within(location: str, root: str) -> bool:
    """Return whether a canonical location is another one or inside it."""
    return f"{location}/".startswith(f"{root.rstrip('/')}/")


def _location(uri: str) -> str:
    """Return a location as a storage names it; a scheme that is not built stays as it is."""
    try:
        return canonical(open_storage(uri).location)
    except FrameworkError:
        return uri


class AdoptedGroups:
    """The file groups of a bootstrap; its commit is read at the first question.

    Args:
        storage: the table.
        timeline: of the table.
        instant: of the bootstrap.
    """

    def __init__(self, storage: Storage, timeline: Timeline, instant: str) -> None:
        self._storage = storage
        self._timeline = timeline
        self._instant = instant
        self._ids: Callable[[str], frozenset[str]] | None = None

    def of(self, partition_path: str) -> frozenset[str]:
        """Return the ids of a partition's groups; empty if the bootstrap did not write to it.

        Costs a read of the bootstrap's commit once, or of the whole archive if that is archived.

        Raises:
            CorruptFileError, UnsupportedTableError: commit or archive is not readable.
        """
        if self._ids is None:
            self._ids = self._read()
        return self._ids(partition_path)

    def _read(self) -> Callable[[str], frozenset[str]]:
        active = next((e for e in self._timeline.find(self._instant) if e.is_completed), None)
        if active is not None:
            body = read_commit_body(self._storage, active.path)
            return lambda path: frozenset(each.file_id for each in body.stats(path))
        properties = read_properties(self._storage)
        paths = newest_first(self._storage, properties.raw if properties else {})
        found = archived_file_ids(self._storage, [*paths][::-1], self._instant) or {}
        return lambda path: found.get(path, frozenset())


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
