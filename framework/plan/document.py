"""The plan's JSON: its members as types, from which its JSON Schema is made as well.

Members are only added while `plan_version` stays the same. Sizes are bytes; numbers that are
estimates begin with `estimated_`. A member that does not apply is null, never absent.
"""

from __future__ import annotations

from typing import Literal, TypedDict

__all__ = [
    "AdoptedDocument",
    "DriftDocument",
    "EstimateDocument",
    "ExemptionDocument",
    "KeyDocument",
    "LoadDocument",
    "ModeDocument",
    "NoteDocument",
    "PartitionDocument",
    "PlanDocument",
    "ReaderDocument",
    "SourceDocument",
    "StageDocument",
    "TableDocument",
    "TotalsDocument",
]


class TableDocument(TypedDict):
    """The table that the spec asks for; `readers` are names of those who must be able to read."""

    name: str
    location: str
    type: Literal["copy_on_write", "merge_on_read"]
    partition_by: dict[str, str]
    ordering: list[str]
    readers: list[str]


class KeyDocument(TypedDict):
    """The key rule; `properties` are the entries of `hoodie.properties` that pin it."""

    columns: list[str]
    unique_within: Literal["table", "partition"]
    generator: str
    properties: dict[str, str]


class SourceDocument(TypedDict):
    """The source as it was seen; `inventory_sha256` changes when any file does."""

    location: str
    files: int
    rows: int
    bytes: int
    inventory_sha256: str
    columns: dict[str, str]


class TotalsDocument(TypedDict):
    """What becomes part of the table."""

    partitions: int
    files: int
    rows: int
    bytes: int


class StageDocument(TypedDict):
    """One step of a run; members that a stage does not have are null.

    `instant` is null in `begin` and `commit` where the clock gives it at run time.
    """

    stage: Literal[
        "recover",
        "begin",
        "skeletons",
        "full_records",
        "audit",
        "index",
        "commit",
        "input",
        "tag",
        "write",
    ]
    summary: str
    recovery: Literal["resume", "roll_back", "finish"] | None
    write_id: str | None
    instant: str | None
    action: str | None
    partitions: int | None
    files: int | None
    rows: int | None
    bytes_rewritten: int | None
    estimated_bytes_to_write: int | None


class ModeDocument(TypedDict):
    """The partitions of one mode, added up."""

    mode: Literal["metadata_only", "full_record", "skip"]
    partitions: int
    files: int
    rows: int
    bytes: int


class PartitionDocument(TypedDict):
    """One partition; its files have the inventory numbers from `first` up to before `stop`."""

    partition: str
    mode: Literal["metadata_only", "full_record", "skip"]
    rule: int | None
    reason: str
    files: int
    rows: int
    bytes: int
    first: int
    stop: int


class EstimateDocument(TypedDict):
    """What the run writes and costs; all of it estimates."""

    estimated_skeleton_bytes: int
    estimated_full_record_bytes: int
    estimated_index_bytes: int
    estimated_commit_bytes: int
    estimated_bytes_to_write: int
    estimated_core_seconds: float


class ReaderDocument(TypedDict):
    """What one reader can do with the table; `exceptions` are names."""

    name: str
    engine: str
    version: str
    reads: Literal["yes", "documented", "unproven", "no"]
    continues: Literal["yes", "documented", "unproven", "no"]
    exceptions: list[str]
    note: str


class ExemptionDocument(TypedDict):
    """One exception that applies, and what `full_record` would change."""

    name: str
    message: str
    full_record: str
    readers: list[str]


class NoteDocument(TypedDict):
    """Something that the author should know."""

    condition: str
    level: Literal["info", "warning"]
    message: str


class DriftDocument(TypedDict):
    """How the source differs from what the table began with; samples are relative paths."""

    new_files: int
    new_bytes: int
    missing_files: int
    changed_files: int
    samples_new: list[str]
    samples_missing: list[str]
    samples_changed: list[str]


class AdoptedDocument(TypedDict):
    """The diff against a table that exists."""

    instant: str
    write_id: str
    skeletons: int
    full: int
    skipped: list[str]
    completed_instants: int
    spec_changed: bool
    drift: DriftDocument | None


class LoadDocument(TypedDict):
    """What is loaded; `transforms` are names, sizes of new files are goals."""

    operation: Literal[
        "insert", "bulk_insert", "upsert", "delete", "insert_overwrite", "delete_partition"
    ]
    format: str | None
    path: str | None
    transforms: list[str]
    files: int
    bytes: int
    earlier_files: int
    creates_table: bool
    schema_evolution: Literal["freeze", "add_columns", "widen"]
    missing_columns: Literal["refuse", "set_null"]
    target_file_size: int
    small_file_limit: int
    partitions: list[str]
    run_id: str | None


class PlanDocument(TypedDict):
    """What will happen to one table."""

    plan_version: Literal[1]
    case: Literal["bootstrap", "resume", "finish", "up_to_date", "empty", "load"]
    has_changes: bool
    result: str
    spec_hash: str
    table: TableDocument
    key: KeyDocument
    source: SourceDocument | None
    totals: TotalsDocument
    modes: list[ModeDocument]
    stages: list[StageDocument]
    partitions: list[PartitionDocument]
    estimate: EstimateDocument
    readers: list[ReaderDocument]
    exceptions: list[ExemptionDocument]
    notes: list[NoteDocument]
    adopted: AdoptedDocument | None
    load: LoadDocument | None
