"""What a run of a bootstrap works with, and how far it has come."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final

from framework.engine.bootstrap.job import BootstrapJob, WorkRange
from framework.hudi.bootstrap.source_schema import with_partition_columns
from framework.hudi.table.properties import table_names
from framework.hudi.table.schema import avro_schema
from framework.vocabulary import BootstrapMode, FileKind

if TYPE_CHECKING:
    from collections.abc import Iterable

    from framework.engine.events import Events
    from framework.engine.tasks import Tasks
    from framework.hudi.commit.files import AuditedFiles
    from framework.hudi.commit.intent import Transaction
    from framework.hudi.commit.lease import Lease
    from framework.hudi.commit.segments import SegmentRef
    from framework.hudi.storage.port import Storage
    from framework.hudi.timeline.clock import Clock
    from framework.plan.definition import Plan
    from framework.plan.partitions import PartitionPlan

__all__ = [
    "FACTS_KEY",
    "INVENTORY_FACT",
    "SPEC_FACT",
    "Course",
    "Run",
    "begun",
    "source_uri",
    "table_schemas",
    "work_ranges",
]

FACTS_KEY: Final = "lakestrap.bootstrap"
SPEC_FACT: Final = "lakestrap.spec_hash"
INVENTORY_FACT: Final = "lakestrap.inventory"

_KINDS: Final = {
    BootstrapMode.METADATA_ONLY: FileKind.SKELETON,
    BootstrapMode.FULL_RECORD: FileKind.FULL,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """What a run works with."""

    plan: Plan
    storage: Storage
    tasks: Tasks
    events: Events
    clock: Clock


@dataclass(frozen=True, slots=True, kw_only=True)
class Course:
    """How far a run has come.

    Attributes:
        lease: the right to write, None before `Begin`.
        transaction: what was begun, None before.
        keeping: what renews the lease until it is closed.
        job: what writing tasks are told, None before `Begin`.
        segments: statuses of written files.
        audited: the files with their proof, None before `Audit`.
        instant: the published instant, None before.
        summary: one line about the last stage, for people.
    """

    lease: Lease | None = None
    transaction: Transaction | None = None
    keeping: ExitStack = field(default_factory=ExitStack)
    job: BootstrapJob | None = None
    segments: tuple[SegmentRef, ...] = ()
    audited: AuditedFiles | None = None
    instant: str | None = None
    summary: str = ""

    def saying(self, summary: str) -> Course:
        """The same, with another summary."""
        return replace(self, summary=summary)


def begun(course: Course) -> tuple[Transaction, BootstrapJob]:
    """Return what `Begin` made.

    Raises:
        ValueError: a stage came before it.
    """
    if course.transaction is None or course.job is None:
        raise ValueError("no stage comes before `Begin`")
    return course.transaction, course.job


def source_uri(plan: Plan) -> str:
    """Return the full URI of the source's root."""
    location = plan.source or ""
    return location if "://" in location else f"file://{location}"


def work_ranges(partitions: Iterable[PartitionPlan]) -> list[WorkRange]:
    """Return the inventory ranges of the partitions that are part of the table, ascending.

    Neighbouring ranges of one kind become one.
    """
    joined: list[WorkRange] = []
    for part in partitions:
        if part.mode not in _KINDS:
            continue
        kind = _KINDS[part.mode].value
        last = joined[-1] if joined else None
        if last and last.stop == part.first and last.kind == kind:
            joined[-1] = replace(last, stop=part.stop)
        else:
            joined.append(WorkRange(start=part.first, stop=part.stop, kind=kind))
    return joined


def table_schemas(plan: Plan) -> tuple[Any, dict[str, Any]]:
    """Return the table's schema without meta columns, as Arrow and as Avro by Hudi's naming."""
    schema = with_partition_columns(plan.schema, plan.target.key_rule.partition)
    return schema, avro_schema(schema, table=table_names(plan.target.name)[1])
