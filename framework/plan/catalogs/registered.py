"""A table and its partitions as a catalog holds them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Final

__all__ = [
    "LAST_COMMIT",
    "LAST_COMPLETION",
    "CatalogColumn",
    "CatalogPartition",
    "RegisteredTable",
]

LAST_COMMIT: Final = "last_commit_time_sync"
"""Property of a table: requested time of the last commit that was synced."""
LAST_COMPLETION: Final = "last_commit_completion_time_sync"
"""Property of a table: the latest completion time of a commit that was synced."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CatalogColumn:
    """A column; the type is Hive's, in lower case and without spaces."""

    name: str
    type: str
    comment: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class RegisteredTable:
    """A table in a catalog.

    Attributes:
        database: of the table.
        name: in lower case.
        location: where its files are; "" for a view.
        columns: without partition columns.
        partition_columns: in the order of the folders.
        input_format: Java class that reads its files in Hive.
        output_format: Java class that would write them.
        serde: Java class that decodes them.
        serde_properties: those of the serde, which Spark takes for options of the data source.
        properties: of the table, without what the catalog adds by itself.
    """

    database: str
    name: str
    location: str
    columns: tuple[CatalogColumn, ...]
    partition_columns: tuple[CatalogColumn, ...]
    input_format: str
    output_format: str
    serde: str
    serde_properties: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    properties: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))

    @property
    def last_commit(self) -> str | None:
        """The last commit that was synced; None if there was none."""
        return self.properties.get(LAST_COMMIT)

    @property
    def last_completion(self) -> str | None:
        """The completion time that was synced last; None if there was none."""
        return self.properties.get(LAST_COMPLETION)


@dataclass(frozen=True, slots=True, kw_only=True)
class CatalogPartition:
    """A partition: its values in the order of the partition columns, and its location."""

    values: tuple[str, ...]
    location: str
