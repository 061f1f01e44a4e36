"""Which source files a bootstrapped table still needs. Pure: files and facts in, verdicts out."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum, unique

from framework.hudi.filegroup.group import FileGroup
from framework.hudi.filegroup.slices import FileGroupId, SourceFacts
from framework.hudi.table.layout import BOOTSTRAP_INSTANT
from framework.hudi.view.facts import TableFacts
from framework.hudi.view.selection import latest_slice

__all__ = ["SkeletonFacts", "SourceState", "SourceUse", "source_uses"]


@unique
class SourceState(StrEnum):
    """Why a source file is still needed, or that it is not."""

    LATEST = "latest"
    """The latest slice of its file group is its skeleton: every query reads it."""
    OLDER = "older"
    """An older slice, or one of a replaced file group, has its skeleton; clean removes that."""
    SAVEPOINT = "savepoint"
    """As `OLDER`, and a savepoint holds the skeleton, so clean does not remove it."""
    UNKNOWN = "unknown"
    """There is no skeleton, but nothing shows that clean removed it: it may have been lost."""
    SAFE = "safe"
    """Clean has removed its skeleton: no slice and no savepoint needs it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceUse:
    """A source file of the bootstrap index, and whether it is needed.

    Attributes:
        partition_path: partition of its skeleton.
        file_id: file group of its skeleton.
        uri: its full location.
        size: bytes at bootstrap time.
        state: whether it is needed.
    """

    partition_path: str
    file_id: str
    uri: str
    size: int
    state: SourceState


@dataclass(frozen=True, slots=True, kw_only=True)
class SkeletonFacts:
    """What the timeline says of the skeletons of one partition.

    Attributes:
        cleaned: file groups whose skeleton a completed clean removed.
        held: file groups whose skeleton a savepoint holds.
    """

    cleaned: Collection[str] = ()
    held: Collection[str] = ()


def source_uses(
    partition_path: str,
    mappings: Mapping[str, SourceFacts],
    groups: Iterable[FileGroup],
    facts: TableFacts,
    skeletons: SkeletonFacts,
) -> Iterator[SourceUse]:
    """Yield the source files of one partition by file id.

    Args:
        partition_path: the partition.
        mappings: its entries of the bootstrap index.
        groups: its file groups with all existing files.
        facts: of the timeline.
        skeletons: of the timeline too.
    """
    by_id = {each.group.file_id: each for each in groups}
    for file_id in sorted(mappings):
        group = by_id.get(file_id) or FileGroup(group=FileGroupId(partition_path, file_id))
        state = _state(group, facts, is_cleaned=file_id in skeletons.cleaned)
        if file_id in skeletons.held and state is not SourceState.LATEST:
            state = SourceState.SAVEPOINT
        found = mappings[file_id]
        yield SourceUse(
            partition_path=partition_path,
            file_id=file_id,
            uri=found.uri,
            size=found.size,
            state=state,
        )


def _state(group: FileGroup, facts: TableFacts, *, is_cleaned: bool) -> SourceState:
    """Return whether a group's source is needed, savepoints aside.

    A later base file, or a replacecommit, shows that the rows of a missing skeleton are elsewhere.
    """
    is_replaced = facts.replaced_at(*group.group) is not None
    latest = latest_slice(group, facts)
    later = latest is not None and latest.base is not None
    if any(each.name.instant == BOOTSTRAP_INSTANT for each in group.bases):
        is_latest = latest is not None and latest.base_instant == BOOTSTRAP_INSTANT
        return SourceState.LATEST if is_latest and not is_replaced else SourceState.OLDER
    return SourceState.SAFE if later or is_replaced or is_cleaned else SourceState.UNKNOWN
