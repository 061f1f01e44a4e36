"""The plan: what will happen to one table, complete and frozen."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum, unique
from typing import Any, Final, Literal

from framework.hudi.bootstrap.inventory import InventoryHandle
from framework.plan.catalogs.target import CatalogTarget
from framework.plan.estimate import Estimate
from framework.plan.facts import BootstrapFacts
from framework.plan.load import LoadPlan
from framework.plan.observation import SourceDrift
from framework.plan.partitions import PartitionPlan, Totals, totals
from framework.plan.readers.gate import ReaderGate
from framework.plan.services.maintenance import Maintenance
from framework.plan.stages import BootstrapStages, LoadStages, Recover, Stage
from framework.plan.target import Target
from framework.vocabulary import BootstrapMode

__all__ = ["PLAN_VERSION", "Adopted", "Case", "Plan", "PlanNote"]

PLAN_VERSION: Final = 1
"""Version of the plan's JSON; it increases when a member changes meaning or is removed."""


@unique
class Case(StrEnum):
    """The case of a plan.

    `BOOTSTRAP` creates the table; `RESUME` does so with the files of an earlier run; `FINISH` only
    completes a published earlier run; `UP_TO_DATE` finds the table adopted and nothing to load;
    `EMPTY` finds no source file to adopt where the spec allows that; `LOAD` writes rows into the
    table.
    """

    BOOTSTRAP = "bootstrap"
    RESUME = "resume"
    FINISH = "finish"
    UP_TO_DATE = "up_to_date"
    EMPTY = "empty"
    LOAD = "load"


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanNote:
    """A note for the author."""

    condition: str
    level: Literal["info", "warning"]
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Adopted:
    """The diff against an adopted table.

    Attributes:
        facts: how the table was created.
        drift: how its source has changed since; None if that was not checked.
        spec_changed: whether the spec differs in fields that may change.
        completed: number of completed instants on the timeline.
    """

    facts: BootstrapFacts
    drift: SourceDrift | None
    spec_changed: bool
    completed: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What will happen to one table.

    Attributes:
        case: its case.
        target: the table that the spec asks for.
        recover: what to do about an earlier run; None if there is none.
        work: the stages of a bootstrap or of a load; None if there is nothing to do.
        source: canonical location of the source; None if it was not observed.
        inventory: handle of the source's inventory; None likewise.
        schema: the Arrow schema of all footers; None if there is no file.
        partitions: one plan per source partition, in inventory order.
        estimate: bytes to write and cost.
        readers: which readers can read the table, and which can keep writing it.
        notes: warnings first.
        adopted: the diff, if a Lakestrap bootstrap created the table.
        load: what is loaded, or None.
        maintenance: the services that follow a load; None for a bootstrap.
        catalog: where the table is registered after the run; None for nowhere.
    """

    case: Case
    target: Target
    recover: Recover | None
    work: BootstrapStages | LoadStages | None
    source: str | None
    inventory: InventoryHandle | None
    schema: Any
    partitions: tuple[PartitionPlan, ...]
    estimate: Estimate
    readers: ReaderGate
    notes: tuple[PlanNote, ...]
    adopted: Adopted | None = None
    load: LoadPlan | None = None
    maintenance: Maintenance | None = None
    catalog: CatalogTarget | None = None

    @property
    def stages(self) -> tuple[Stage, ...]:
        """The stages of a run, in order; empty if there is nothing to do."""
        first = () if self.recover is None else (self.recover,)
        return (*first, *(self.work or ()))

    @property
    def has_changes(self) -> bool:
        """Whether a run would do anything."""
        return bool(self.stages)

    @property
    def taken(self) -> Totals:
        """Totals of the partitions that become part of the table."""
        return totals(p for p in self.partitions if p.mode is not BootstrapMode.SKIP)

    def of_mode(self, mode: BootstrapMode) -> tuple[PartitionPlan, ...]:
        """Return the partitions of one mode, in inventory order."""
        return tuple(p for p in self.partitions if p.mode is mode)

    def facts(self, *, write_id: str, instant: str) -> BootstrapFacts:
        """Return the facts that the commit records of this plan.

        Raises:
            ValueError: the plan was made without observing the source.
        """
        if self.inventory is None or self.source is None:
            raise ValueError("a plan without an inventory makes no commit")
        return BootstrapFacts(
            write_id=write_id,
            instant=instant,
            spec_hash=self.target.spec_hash,
            inventory_sha256=self.inventory.sha256,
            source=self.source,
            skeletons=totals(self.of_mode(BootstrapMode.METADATA_ONLY)).files,
            full=totals(self.of_mode(BootstrapMode.FULL_RECORD)).files,
            skipped=tuple(p.partition_path for p in self.of_mode(BootstrapMode.SKIP)),
            immutable=dict(self.target.immutable),
            traits={trait.value: cause for trait, cause in self.readers.traits.items()},
        )
