"""Entries of `hoodie.properties` that make a table unreadable or unwritable here."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from framework.hudi.table.properties import TableProperties

__all__ = ["META_FIELDS", "Unsupported", "unsupported_entries"]

META_FIELDS: Final = "hoodie.populate.meta.fields"


@dataclass(frozen=True, slots=True, kw_only=True)
class Unsupported:
    """An entry with a value that this version does not support.

    Attributes:
        key: its key in `hoodie.properties`.
        value: the table's value.
        why: its meaning, as the end of a sentence.
        reads: whether it also prevents reading; if not, only writing.
    """

    key: str
    value: str
    why: str
    reads: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class _Entry:
    """The required value of an entry, in lower case; also the default of a missing entry."""

    key: str
    must_be: str
    why: str
    reads: bool = False


_ENTRIES: Final = (
    _Entry(
        key="hoodie.table.base.file.format",
        must_be="parquet",
        why="its base files are not Parquet",
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
        why="its partition metadata are Parquet files, which this version does not read",
        reads=True,
    ),
    _Entry(key=META_FIELDS, must_be="true", why="its rows have no record key"),
    _Entry(
        key="hoodie.table.cdc.enabled",
        must_be="false",
        why="each commit must write change data, which this version does not support",
    ),
    _Entry(
        key="hoodie.datasource.write.drop.partition.columns",
        must_be="false",
        why="its files omit the partition columns, which this version writes",
    ),
)


def unsupported_entries(properties: TableProperties) -> Iterator[Unsupported]:
    """Yield each unsupported entry, those that prevent reading first."""
    for entry in _ENTRIES:
        value = properties.raw.get(entry.key, entry.must_be)
        if value.strip().lower() != entry.must_be:
            yield Unsupported(key=entry.key, value=value, why=entry.why, reads=entry.reads)
