"""What the engine saw before it planned: values only, which `engine.inspect.observe` makes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from framework.hudi.bootstrap.inventory import InventoryHandle
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
    """One source partition, added up; its files stand together in the sorted inventory.

    Attributes:
        partition_path: path below the source root, which is also the table's; "" is the root.
        files: source files in it, at least 1.
        rows: their rows.
        bytes: their sizes, added.
        first: number of its first file in the inventory, from 0.
        schemas: places in `SourceInventory.schemas` of the schemas that its files have.
        traits: `SourceTrait` of a source file to the number of files that have it.
        examples: of those traits that concern a column, the first file below the source root that
            has it, and the dotted path of the first such column in that file.
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
    """One column whose types in several source files cannot be made one.

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
    """The source as it is now.

    Attributes:
        handle: where the inventory file lies, its hash and its totals.
        location: canonical location of the source root (absolute, links resolved).
        partitions: sorted by the UTF-8 bytes of the partition path.
        schema: the Arrow schema that all footers have in common; None where there is no file.
        conflicts: columns for which there is none; not used where `schemas` is given.
        schemas: each distinct schema; with it, skipped partitions have no say in the table's.
        ignored_files: files that Spark would not read either (hidden, `_SUCCESS`, …).
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
    """How the source differs from what an adopted table was made from.

    Files of skipped partitions count in none of the numbers. `samples` are relative paths,
    at most a few of each kind.
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
    """What lies at the target.

    Attributes:
        location: canonical location of the target root.
        properties: `hoodie.properties`; None where there is none.
        completed: completed instants, ascending.
        foreign_pending: names of pending instants that are not ours.
        foreign_content: names at the root that no run of ours made; a few are enough.
        obstacle: what stands there, or above, and is no folder; None where nothing does.
        metadata_table: True when a metadata table is there or the properties name one.
        facts: how the table began, when it was we who adopted it.
        begun: what must stay as it was when a bootstrap or a load of ours began the table, key path
            in the spec to its value as text; empty where another writer did.
        drift: how its source has changed since; None when that was not looked at.
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
        """True when a reader finds a table here or is about to (published, not yet finished)."""
        return self.properties is not None or bool(self.completed)


@dataclass(frozen=True, slots=True, kw_only=True)
class PendingRun:
    """An earlier run of ours that did not end.

    Attributes:
        write_id: its id.
        instant: its requested time; None when it died before it reached the timeline.
        published: True when its instant is complete and only what follows is missing.
        spec_hash: from its journal; None when that was not written.
        inventory_sha256: likewise.
        files_done: files whose status its journal holds.
        held_by: who holds the lease, when a live run does; then nothing may be touched.
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
    """All that a plan is made from, besides the spec.

    `source` may be None only where the table exists: then `table.drift` says what changed.
    `key_bytes` are those that a row's key and sequence number take, by a sample; None without one.
    `request` and `input` stand together, where the run is a load.
    """

    table: TableState
    source: SourceInventory | None = None
    pending: PendingRun | None = None
    key_bytes: float | None = None
    request: LoadRequest | None = None
    input: InputListing | None = None
