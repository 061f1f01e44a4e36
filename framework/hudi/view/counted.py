"""Loading of a listed partition into a view, with only the files that count."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import cache

from framework.hudi.filegroup.group import FileGroup, encode_group, encode_plain
from framework.hudi.filegroup.slices import (
    BaseFile,
    BaseFileName,
    LogFile,
    LogFileName,
    group_and_instant_of,
)
from framework.hudi.storage.port import Entry
from framework.hudi.table.layout import BOOTSTRAP_INSTANT
from framework.hudi.timeline.instant import DATA_ACTIONS
from framework.hudi.view.facts import TableFacts
from framework.hudi.view.listing_view import ListingView

__all__ = ["file_id_of", "is_skeleton", "load_records"]


def load_records(listing: ListingView, facts: TableFacts, partition_path: str) -> dict[str, bytes]:
    """Return the records of a partition's groups by file id, with only the files that count.

    Excluded are files of pending and later instants, which a sync adds once their instant
    completes. Other files that do not count now may count later, as with a listing: when they are
    older than all instants. Costs one listing.

    The record of a single base file is made from its name alone, since nearly all groups have no
    other file and a table may have hundreds of thousands.
    """
    counts = _counts(facts)
    lone, others = _parted(listing.entries(partition_path))
    sources = cache(listing.sources)  # read once for both, and only if there are skeletons
    records = {
        file_id: encode_plain(
            entry.name[len(file_id) :],
            entry.size,
            sources(partition_path).get(file_id) if instant == BOOTSTRAP_INSTANT else None,
        )
        for file_id, (instant, entry) in lone.items()
        if counts(instant)
    }
    for group in listing.groups_of(partition_path, others, sources=sources):
        kept = _counted(group, counts, facts)
        if not kept.is_empty:
            records[group.group.file_id] = encode_group(kept)
    return records


def _counts(facts: TableFacts) -> Callable[[str], bool]:
    """Return a predicate on instants whose base files count."""
    timeline = facts.timeline
    last = timeline.last_requested_time or ""
    pending = {each.requested_time for each in timeline.pending if each.action in DATA_ACTIONS}
    return lambda instant: instant <= last and instant not in pending


def _parted(entries: Iterable[Entry]) -> tuple[dict[str, tuple[str, Entry]], list[Entry]]:
    """Return the base files that are alone in their group, with instants, and the rest."""
    lone: dict[str, tuple[str, Entry]] = {}
    others: list[Entry] = []
    shared: set[str] = set()
    for entry in entries:
        if entry.is_folder:
            continue
        found = group_and_instant_of(entry.name)
        file_id = found[0] if found else file_id_of(entry.name)
        if file_id is None:
            continue
        first = lone.pop(file_id, None)
        if first is not None:
            others.append(first[1])
        if found is None or first is not None or file_id in shared:
            shared.add(file_id)
            others.append(entry)
        else:
            lone[file_id] = (found[1], entry)
    return lone, others


def _counted(group: FileGroup, counts: Callable[[str], bool], facts: TableFacts) -> FileGroup:
    """Return a group with only the files that count; a plan's log files do."""
    times = ((each, each.name.base_instant) for each in group.logs)
    return replace(
        group,
        bases=tuple(each for each in group.bases if counts(each.name.instant)),
        logs=tuple(each for each, time in times if counts(time) or time in facts.compacting),
    )


def is_skeleton(file: BaseFile | LogFile) -> bool:
    """Whether a file may be a skeleton, whose source only the index knows."""
    return isinstance(file, BaseFile) and file.name.instant == BOOTSTRAP_INSTANT


def file_id_of(name: str) -> str | None:
    """Return the file id in a file's name, None for other files."""
    found = BaseFileName.parse(name) or LogFileName.parse(name)
    return None if found is None else found.file_id
