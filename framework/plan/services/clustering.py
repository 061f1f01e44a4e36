"""The plan of a clustering: which slices of a partition are written together as new file groups."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass

from framework.hudi.filegroup.slices import FileSlice
from framework.hudi.timeline.requested_plans import ClusteredGroup
from framework.plan.services.packing import packed
from framework.vocabulary import RowOrder

__all__ = ["ClusterRequest", "ClusteringPlan", "plan_clustering"]

_TARGETS_PER_GROUP = 2
"""A sorted group is held in memory, so it is bounded; rows are sorted within a group only."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterRequest:
    """The requested layout.

    Attributes:
        by: columns that rows are sorted by; empty to merge small files only.
        order: how they are sorted.
        target_bytes: size of a new file.
        small_bytes: without `by`, only smaller slices are merged.
    """

    by: tuple[str, ...] = ()
    order: RowOrder = RowOrder.LINEAR
    target_bytes: int = 120 << 20
    small_bytes: int = 30 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusteringPlan:
    """The slices to cluster.

    Attributes:
        location: the table's.
        request: the requested layout.
        groups: by partition path; may be empty.
    """

    location: str
    request: ClusterRequest
    groups: tuple[ClusteredGroup, ...]

    @property
    def slices(self) -> tuple[FileSlice, ...]:
        """All slices that are replaced."""
        return tuple(each for group in self.groups for each in group.slices)

    @property
    def outputs(self) -> int:
        """New file groups, at most."""
        return sum(group.outputs for group in self.groups)

    @property
    def partitions(self) -> int:
        """Number of partitions with a slice to cluster."""
        return len({each.group.partition_path for each in self.slices})

    @property
    def bytes(self) -> int:
        """Bytes to read; a skeleton's source is counted."""
        return sum(each.bytes_to_read for each in self.slices)


def plan_clustering(
    location: str,
    slices: Iterable[FileSlice],
    request: ClusterRequest,
    *,
    sorted_at: Collection[str] = (),
) -> ClusteringPlan:
    """Return the plan to merge or sort slices, each partition by itself.

    Without columns to sort by, slices smaller than `small_bytes` are merged up to the target size.
    Else all slices are sorted, in groups of twice the target size at most, except for a single
    larger slice.

    Args:
        location: the table's.
        slices: its latest ones.
        request: the layout.
        sorted_at: instants that wrote their base files in the requested order already; a group of
            such slices without log files is left out, unless it would have fewer files.
    """
    by_path: dict[str, list[FileSlice]] = defaultdict(list)
    for each in slices:
        by_path[each.group.partition_path].append(each)
    groups = tuple(
        group
        for path in sorted(by_path, key=str.encode)
        for group in _groups(by_path[path], request, sorted_at)
    )
    return ClusteringPlan(location=location, request=request, groups=groups)


def _groups(
    slices: Sequence[FileSlice], request: ClusterRequest, sorted_at: Collection[str]
) -> Iterator[ClusteredGroup]:
    """Yield the groups of one partition."""
    if not request.by:
        small = [each for each in slices if each.bytes_to_read < request.small_bytes]
        ordered = sorted(small, key=lambda each: (each.bytes_to_read, each.group))
        for found in packed(ordered, request.target_bytes):
            if len(found) > 1:
                yield ClusteredGroup(slices=found, outputs=1)
        return
    ordered = sorted(slices, key=lambda each: (each.base_instant, each.group))
    for found in packed(ordered, _TARGETS_PER_GROUP * request.target_bytes):
        size = sum(each.bytes_to_read for each in found)
        outputs = max(1, math.ceil(size / request.target_bytes))
        is_sorted = all(not each.logs and each.base_instant in sorted_at for each in found)
        if not is_sorted or outputs < len(found):
            yield ClusteredGroup(slices=found, outputs=outputs)
