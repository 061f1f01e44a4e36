"""The section `maintenance`: which table services follow a load."""

from __future__ import annotations

from typing import Annotated

from pydantic import AfterValidator, Field

from framework.spec.sections.fields import ColumnName, Flag, PositiveNumber, SpecModel, distinct
from framework.spec.sections.quantities import Hours, Size

__all__ = [
    "ARCHIVE_KEEP_MAX",
    "ARCHIVE_KEEP_MIN",
    "CLEAN_KEEP_COMMITS",
    "ArchiveSpec",
    "CleanSpec",
    "ClusterSpec",
    "CompactSpec",
    "MaintenanceSpec",
]

CLEAN_KEEP_COMMITS = 10
ARCHIVE_KEEP_MIN = 20
ARCHIVE_KEEP_MAX = 30

Columns = Annotated[tuple[ColumnName, ...], Field(min_length=1), AfterValidator(distinct)]


class CompactSpec(SpecModel):
    """When log files become base files; only merge-on-read tables have log files."""

    enabled: Flag = Field(default=True, description="Whether loads compact.")
    min_logs: PositiveNumber = Field(
        default=5, description="Slices with this number of log files or more are compacted."
    )


class CleanSpec(SpecModel):
    """Which older slices stay: those of a number of commits, of a time, or a number of each."""

    enabled: Flag = Field(default=True, description="Whether loads clean.")
    keep_commits: PositiveNumber | None = Field(
        default=None,
        description=f"Slices of this number of latest commits stay (default {CLEAN_KEEP_COMMITS}).",
    )
    keep_for: Hours | None = Field(
        default=None,
        description="Slices of commits of this time stay, as in 7d or 36h.",
        examples=["7d"],
    )
    keep_versions: PositiveNumber | None = Field(
        default=None, description="This number of latest slices of each file group stays."
    )


class ArchiveSpec(SpecModel):
    """How many instants stay on the active timeline."""

    enabled: Flag = Field(default=True, description="Whether loads archive.")
    keep_min: PositiveNumber = Field(
        default=ARCHIVE_KEEP_MIN, description="This number of commits stays at least."
    )
    keep_max: PositiveNumber = Field(
        default=ARCHIVE_KEEP_MAX, description="With more commits than this, the oldest are moved."
    )


class ClusterSpec(SpecModel):
    """When small files are merged, and by which columns rows are sorted; off without this field."""

    enabled: Flag = Field(default=True, description="Whether loads cluster.")
    by: Columns | None = Field(
        default=None, description="Columns to sort by.", examples=[["customer_id"]]
    )
    z_order: Flag = Field(
        default=False, description="Whether rows are sorted along a Z-order curve of the columns."
    )
    small_file: Size | None = Field(
        default=None,
        description="Files below this size are small; by default a quarter of the target size.",
    )
    min_files: PositiveNumber = Field(
        default=10, description="Partitions with this number of small files or more are clustered."
    )


class MaintenanceSpec(SpecModel):
    """Which table services follow a load that published something."""

    enabled: Flag = Field(default=True, description="Whether loads run any table service.")
    compact: CompactSpec = Field(default=CompactSpec(), description="When logs are compacted.")
    clean: CleanSpec = Field(default=CleanSpec(), description="Which older slices stay.")
    archive: ArchiveSpec = Field(default=ArchiveSpec(), description="Which instants stay active.")
    cluster: ClusterSpec | None = Field(default=None, description="When files are clustered.")
