"""What a later run loads, as the engine hands it to whoever can read it."""

from __future__ import annotations

from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING

from framework.vocabulary import MissingColumns

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["InputRequest", "Transform"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Transform:
    """A named SQL view over `source` and the views before it; `sql` is one finished SELECT."""

    name: str
    sql: str


@dataclass(frozen=True, slots=True, kw_only=True)
class InputRequest:
    """Which rows are loaded.

    Attributes:
        format: a Spark source format, such as `parquet`, `csv`, `json` or `orc`.
        path: canonical location of the data; None for formats that have none.
        options: handed to Spark as written.
        schema: Spark DDL of the columns; None where the format tells them.
        files: absolute paths of the files to load; None means all that `path` holds.
        has_folders: whether some of the files are in folders named `column=value`, which Spark
            takes for columns.
        transforms: in order; the rows of the last one are loaded, without any those of the source.
        hidden: columns of plain Parquet files that are not loaded.
        missing: what a column means that a file lacks.
        needed: columns of keys, partitions and ordering.
    """

    format: str
    path: str | None = None
    options: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    schema: str | None = None
    files: tuple[str, ...] | None = None
    transforms: tuple[Transform, ...] = ()
    has_folders: bool = False
    hidden: tuple[str, ...] = ()
    missing: MissingColumns = MissingColumns.REFUSE
    needed: tuple[str, ...] = ()

    @property
    def is_plain_parquet(self) -> bool:
        """Whether the rows are those of Parquet files as they lie, so that none need be copied."""
        has_none = not (self.options or self.schema or self.transforms or self.has_folders)
        return self.format == "parquet" and has_none
