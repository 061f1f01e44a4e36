"""The plan to make ordinary base files of skeletons, in batches of bounded size."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from framework.hudi.filegroup.slices import FileSlice
from framework.plan.services.packing import packed
from framework.vocabulary import TableType

__all__ = ["MaterializePlan", "plan_materialize"]


@dataclass(frozen=True, slots=True, kw_only=True)
class MaterializePlan:
    """The skeletons to replace.

    Attributes:
        location: the table's.
        table_type: decides the form of the instants.
        batches: slices by partition path and file id, each batch for one instant; may be empty.
    """

    location: str
    table_type: TableType
    batches: tuple[tuple[FileSlice, ...], ...]

    @property
    def slices(self) -> tuple[FileSlice, ...]:
        """All slices, in the order of their batches."""
        return tuple(each for batch in self.batches for each in batch)

    @property
    def partitions(self) -> int:
        """Number of partitions with a skeleton to replace."""
        return len({each.group.partition_path for each in self.slices})

    @property
    def bytes(self) -> int:
        """Bytes to read."""
        return sum(each.bytes_to_read for each in self.slices)


def plan_materialize(
    location: str, table_type: TableType, slices: Iterable[FileSlice], *, batch_bytes: int
) -> MaterializePlan:
    """Return the plan to make ordinary base files of all skeletons among the slices.

    Args:
        location: the table's.
        table_type: the table's.
        slices: its latest ones; those without a skeleton are left out.
        batch_bytes: a batch reads at most that much, except for a single larger slice.
    """
    chosen = sorted((each for each in slices if each.bootstrap), key=lambda each: each.group)
    batches = tuple(packed(chosen, batch_bytes))
    return MaterializePlan(location=location, table_type=table_type, batches=batches)
