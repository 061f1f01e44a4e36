"""The engine's observation before planning, as values made by `engine.inspect.observe`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from framework.hudi.bootstrap.inventory import InventoryHandle
from framework.hudi.bootstrap.sample import Sample
from framework.hudi.table.properties import TableProperties
from framework.plan.facts import BootstrapFacts
from framework.plan.load import InputListing, LoadRequest

__all__ = [
    "Observation",
    "PartitionSummary",
    "PendingRun",
    "SchemaConflict",
    "SourceDrift",
    "SourceInventory",
    "SourceSchema",
    "TableState",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionSummary:
    """One source partition, added up; its files are consecutive in the sorted inventory.

    Attributes:
        partition_path: path below the source root and below the table's; "" is the root.
        files: source files in it, at least 1.
        rows: their rows.
        bytes: their total size.
        first: number of its first file in the inventory, from 0.
        schemas: indexes into `SourceInventory.schemas` of its files' schemas.
        traits: `SourceTrait` of a source file to the number of files that have it.
        examples: for traits that concern a column: the first file below the source root that has
            it, and the dotted path of the first such column in that file.
    """

    partition_path: str
    files: int
    rows: int
    bytes: int
    first: int
    schemas: tuple[int, ...] = ()
    traits: Mapping[str, int] = field(default_factory=dict)
    examples: Mapping[str, tuple[str, str]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class SchemaConflict:
    """One column whose types in several source files cannot be unified.

    `types` holds pairs of the type's text and one source file that has it.
    """

    column: str
    types: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceSchema:
    """One distinct schema among the source files; `example` is the path of a file that has it."""

    schema: Any
    example: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceInventory:
    """The current source.

    Attributes:
        handle: path, hash and totals of the inventory file.
        location: canonical location of the source root (absolute, links resolved).
        partitions: sorted by the UTF-8 bytes of the partition path.
        schema: the common Arrow schema of all footers; None without files.
        conflicts: columns without a common type; unused if `schemas` is given.
        schemas: each distinct schema; if given, skipped partitions do not affect the table's.
        ignored_files: files that Spark ignores too (hidden, `_SUCCESS`, …).
    """

    handle: InventoryHandle
    location: str
    partitions: tuple[PartitionSummary, ...]
    schema: Any
    conflicts: tuple[SchemaConflict, ...] = ()
    schemas: tuple[SourceSchema, ...] = ()
    ignored_files: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceDrift:
    """How the source differs from the one that an adopted table was made from.

    Files of skipped partitions are not counted. `samples` are relative paths, at most a few of
    each kind.
    """

    new_files: int = 0
    new_bytes: int = 0
    missing_files: int = 0
    changed_files: int = 0
    samples_new: tuple[str, ...] = ()
    samples_missing: tuple[str, ...] = ()
    samples_changed: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class TableState:
    """The current state of the target.

    Attributes:
        location: canonical location of the target root.
        properties: `hoodie.properties`; None without one.
        completed: completed instants, ascending.
        foreign_pending: names of other writers' pending instants.
        foreign_content: some names at the root that no Lakestrap run created.
        obstacle: path at or above the target that is not a folder; None without one.
        metadata_table: whether a metadata table exists or the properties name one.
        facts: how the table was created, if by a Lakestrap bootstrap.
        begun: immutable fields if a Lakestrap bootstrap or load created the table, key path in
            the spec to value as text; empty if another writer did.
        drift: how its source has changed since; None if that was not checked.
    """

    location: str
    properties: TableProperties | None = None
    completed: tuple[str, ...] = ()
    foreign_pending: tuple[str, ...] = ()
    foreign_content: tuple[str, ...] = ()
    obstacle: str | None = None
    metadata_table: bool = False
    facts: BootstrapFacts | None = None
    begun: Mapping[str, str] = field(default_factory=dict)
    drift: SourceDrift | None = None

    @property
    def exists(self) -> bool:
        """Whether a reader finds a table here or is about to (published, not yet finished)."""
        return self.properties is not None or bool(self.completed)


@dataclass(frozen=True, slots=True, kw_only=True)
class PendingRun:
    """An unfinished earlier Lakestrap run.

    Attributes:
        write_id: its id.
        instant: its requested time; None if it died before it reached the timeline.
        published: whether its instant is complete and only later steps are missing.
        spec_hash: from its journal; None if it is not there.
        inventory_sha256: likewise.
        files_done: files whose status is in its journal.
        held_by: the holder of the lease, if a live run; then nothing may be touched.
    """

    write_id: str
    instant: str | None = None
    published: bool = False
    spec_hash: str | None = None
    inventory_sha256: str | None = None
    files_done: int = 0
    held_by: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Observation:
    """Everything a plan is made from besides the spec.

    `source` may be None only if the table exists: then `table.drift` has the changes.
    `sample` is of the source's rows; None without any.
    `request` and `input` are set together, if the run is a load.
    """

    table: TableState
    source: SourceInventory | None = None
    pending: PendingRun | None = None
    sample: Sample | None = None
    request: LoadRequest | None = None
    input: InputListing | None = None
