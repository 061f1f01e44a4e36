"""Entries of `hoodie.properties` with which a table cannot be read right, or not be written."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from framework.hudi.table.properties import TableProperties

__all__ = ["META_FIELDS", "Unsupported", "unsupported_entries"]

META_FIELDS: Final = "hoodie.populate.meta.fields"


@dataclass(frozen=True, slots=True, kw_only=True)
class Unsupported:
    """An entry that says something of the table that this version does not do.

    Attributes:
        key: of `hoodie.properties`.
        value: that the table has.
        why: what it means, as the end of a sentence.
        reads: whether the table cannot be read either; if not, it only cannot be written.
    """

    key: str
    value: str
    why: str
    reads: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class _Entry:
    """What an entry must say, in lower case; a missing one says so too."""

    key: str
    must_be: str
    why: str
    reads: bool = False


_ENTRIES: Final = (
    _Entry(
        key="hoodie.table.base.file.format",
        must_be="parquet",
        why="its base files are no Parquet",
        reads=True,
    ),
    _Entry(
        key="hoodie.table.multiple.base.file.formats.enable",
        must_be="false",
        why="its base files have several formats",
        reads=True,
    ),
    _Entry(
        key="hoodie.partition.metafile.use.base.format",
        must_be="false",
        why="its partition metadata are Parquet files, which are not looked for",
        reads=True,
    ),
    _Entry(key=META_FIELDS, must_be="true", why="its rows have no record key to be found by"),
    _Entry(
        key="hoodie.table.cdc.enabled",
        must_be="false",
        why="each commit must write change data, which this version does not",
    ),
    _Entry(
        key="hoodie.datasource.write.drop.partition.columns",
        must_be="false",
        why="its files leave out the partition columns, which this version writes",
    ),
)


def unsupported_entries(properties: TableProperties) -> Iterator[Unsupported]:
    """Yield each entry that this version cannot follow, those against reading first."""
    for entry in _ENTRIES:
        value = properties.raw.get(entry.key, entry.must_be)
        if value.strip().lower() != entry.must_be:
            yield Unsupported(key=entry.key, value=value, why=entry.why, reads=entry.reads)
