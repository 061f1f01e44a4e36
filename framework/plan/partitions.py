"""The plan of one partition: its mode, the reason, and its range of inventory files."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from framework.plan.observation import PartitionSummary
from framework.plan.rules import Choice
from framework.vocabulary import BootstrapMode

__all__ = ["PartitionPlan", "Totals", "plan_partitions", "totals"]


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionPlan:
    """What happens to one source partition.

    Attributes:
        partition_path: below the root of both source and table; "" is the root.
        mode: never `fail` in a plan that was built.
        files: source files in it.
        rows: their rows.
        bytes: their total size.
        first: number of its first file in the inventory, inclusive.
        stop: number after its last file, exclusive.
        rule: number of the rule that chose the mode, from 0; None for the default.
        reason: the author's reason for that rule, or "".
    """

    partition_path: str
    mode: BootstrapMode
    files: int
    rows: int
    bytes: int
    first: int
    stop: int
    rule: int | None = None
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Totals:
    """The totals of several partitions."""

    partitions: int = 0
    files: int = 0
    rows: int = 0
    bytes: int = 0


def plan_partitions(
    summaries: Sequence[PartitionSummary], choices: Sequence[Choice]
) -> tuple[PartitionPlan, ...]:
    """Return one plan for each summary with the choice at the same place."""
    return tuple(_plan(s, c) for s, c in zip(summaries, choices, strict=True))


def totals(partitions: Iterable[PartitionPlan]) -> Totals:
    """Return the sums over these partitions."""
    chosen = tuple(partitions)
    return Totals(
        partitions=len(chosen),
        files=sum(p.files for p in chosen),
        rows=sum(p.rows for p in chosen),
        bytes=sum(p.bytes for p in chosen),
    )


def _plan(summary: PartitionSummary, choice: Choice) -> PartitionPlan:
    """Return the plan of a partition with the mode chosen for it."""
    return PartitionPlan(
        partition_path=summary.partition_path,
        mode=choice.mode,
        files=summary.files,
        rows=summary.rows,
        bytes=summary.bytes,
        first=summary.first,
        stop=summary.first + summary.files,
        rule=choice.rule,
        reason=choice.reason,
    )
