"""Which files of a group a kept view takes up when it lists them, and what names tell of them."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from framework.hudi.filegroup.names import BaseFileName, LogFileName
from framework.hudi.filegroup.slices import BaseFile
from framework.hudi.table.layout import BOOTSTRAP_INSTANT
from framework.hudi.timeline.instant import DATA_ACTIONS

if TYPE_CHECKING:
    from collections.abc import Callable

    from framework.hudi.filegroup.group import FileGroup
    from framework.hudi.filegroup.slices import LogFile
    from framework.hudi.view.facts import TableFacts

__all__ = ["counting", "file_id_of", "is_skeleton"]


def counting(facts: TableFacts) -> Callable[[FileGroup], FileGroup]:
    """Return what takes out of a listed group the files of instants under way.

    These, and those that began later, are named by their instant once it completes. Others that do
    not count now may do so later, as with a listing: when they are older than all instants.
    """
    timeline = facts.timeline
    last = timeline.last_requested_time or ""
    pending = {each.requested_time for each in timeline.pending if each.action in DATA_ACTIONS}

    def kept(group: FileGroup) -> FileGroup:
        bases = tuple(
            each
            for each in group.bases
            if each.name.instant not in pending and each.name.instant <= last
        )
        times = ((each, each.name.base_instant) for each in group.logs)
        logs = tuple(
            each
            for each, time in times
            if time <= last and (time not in pending or time in facts.compacting)
        )
        if len(bases) == len(group.bases) and len(logs) == len(group.logs):
            return group  # as nearly always
        return replace(group, bases=bases, logs=logs)

    return kept


def is_skeleton(file: BaseFile | LogFile) -> bool:
    """Whether a file may be a skeleton, whose source the index alone knows."""
    return isinstance(file, BaseFile) and file.name.instant == BOOTSTRAP_INSTANT


def file_id_of(name: str) -> str | None:
    """Return the file group in a file's name."""
    found = BaseFileName.parse(name) or LogFileName.parse(name)
    return None if found is None else found.file_id
