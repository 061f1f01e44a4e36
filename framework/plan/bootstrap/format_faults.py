"""Source files that cannot be adopted as they are: a fault for each reason, with its first file."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from framework.plan.faults import Fault
from framework.plan.readers.source_formats import FORMATS
from framework.plan.words import count_text, listing
from framework.vocabulary import BootstrapMode

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from framework.plan.observation import PartitionSummary, SourceInventory
    from framework.plan.partitions import PartitionPlan
    from framework.plan.readers.source_formats import SourceFormat

__all__ = ["format_faults"]

_TAKEN: Final = (BootstrapMode.METADATA_ONLY, BootstrapMode.FULL_RECORD)


def format_faults(source: SourceInventory, partitions: Sequence[PartitionPlan]) -> Iterator[Fault]:
    """Yield a fault for each trait for which files cannot be taken in the mode that they have."""
    for known in FORMATS:
        refused = _TAKEN[: 1 if known.heals else 2]
        hit = tuple(
            summary
            for summary, plan in zip(source.partitions, partitions, strict=True)
            if known.is_refused and plan.mode in refused and summary.traits.get(known.trait, 0)
        )
        if hit:
            yield _fault(known, hit)


def _fault(known: SourceFormat, hit: Sequence[PartitionSummary]) -> Fault:
    """Return the fault of these partitions."""
    files = count_text(sum(each.traits[known.trait] for each in hit), "file")
    paths = tuple(repr(each.partition_path) for each in hit if each.partition_path)
    place = f" in {listing(paths)}" if paths else ""
    file, column = hit[0].examples.get(known.trait, ("", ""))
    of_column = f" in column '{column}'" if column else ""
    who = "Spark cannot read them" if known.heals else "they cannot be read right"
    return Fault(
        condition="source/unreadable-format",
        key_path="bootstrap.path",
        message=f"{known.what}{of_column}: {who} ({files}{place})",
        remedy=_remedy(known),
        partition=hit[0].partition_path if len(hit) == 1 else None,
        source=file or None,
    )


def _remedy(known: SourceFormat) -> str:
    """Return what to do; `full_record` is offered where it helps."""
    if not known.heals:
        return "Write the files again without that, or leave their partitions out by a rule."
    stored = f" (which stores {known.stored})" if known.stored else ""
    rule = f"- {{having: [{known.trait}], mode: full_record}}"
    return f"Write such files in full{stored}, by the rule `{rule}`, or write them again."
