"""Which files of a group a kept view takes up when it lists them, and what names say of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import cache

from framework.hudi.filegroup.group import FileGroup, encode_group, encode_plain
from framework.hudi.filegroup.names import BaseFileName, LogFileName, group_and_instant_of
from framework.hudi.filegroup.slices import BaseFile, LogFile
from framework.hudi.storage.port import Entry
from framework.hudi.table.layout import BOOTSTRAP_INSTANT
from framework.hudi.timeline.instant import DATA_ACTIONS
from framework.hudi.view.facts import TableFacts
from framework.hudi.view.listing_view import ListingView

__all__ = ["file_id_of", "is_skeleton", "load_records"]


def load_records(listing: ListingView, facts: TableFacts, partition_path: str) -> dict[str, bytes]:
    """Return the records of a partition's groups by file id, without the files that do not count.

    Those are the files of instants under way and of later ones, which are named by their instant
    once it completes. Others that do not count now may do so later, as with a listing: when they
    are older than all instants. Costs one listing.

    A record of one base file is made of the file's name alone: nearly all groups have no other
    file, and a table may have hundreds of thousands.
    """
    counts = _counts(facts)
    lone, others = _parted(listing.entries(partition_path))
    sources = cache(listing.sources)  # read once for both, and only where there are skeletons
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
    """Return what decides whether the base files of an instant are taken up."""
    timeline = facts.timeline
    last = timeline.last_requested_time or ""
    pending = {each.requested_time for each in timeline.pending if each.action in DATA_ACTIONS}
    return lambda instant: instant <= last and instant not in pending


def _parted(entries: Iterable[Entry]) -> tuple[dict[str, tuple[str, Entry]], list[Entry]]:
    """Return the base files without a second file in their group, with instants, and the rest."""
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
    """Return a group without the files that do not count; a plan's log files do."""
    times = ((each, each.name.base_instant) for each in group.logs)
    return replace(
        group,
        bases=tuple(each for each in group.bases if counts(each.name.instant)),
        logs=tuple(each for each, time in times if counts(time) or time in facts.compacting),
    )


def is_skeleton(file: BaseFile | LogFile) -> bool:
    """Whether a file may be a skeleton, whose source the index alone knows."""
    return isinstance(file, BaseFile) and file.name.instant == BOOTSTRAP_INSTANT


def file_id_of(name: str) -> str | None:
    """Return the file group in a file's name."""
    found = BaseFileName.parse(name) or LogFileName.parse(name)
    return None if found is None else found.file_id
