"""A first look at a data set for which a spec is to be written.

Folders are listed, and one footer is read; no data.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import pyarrow.parquet as pq

from framework.errors import CorruptFileError, PlanError, Where
from framework.hudi.bootstrap.discovery import is_hidden
from framework.hudi.storage.locations import open_storage
from framework.hudi.storage.port import Entry, Storage
from framework.hudi.table.partition_path import HIVE_DEFAULT, unescape
from framework.vocabulary import PartitionType, SourceLayout

__all__ = ["FirstLook", "look"]

_INT: Final = re.compile(r"(0|-?[1-9]\d*)")
_DATE: Final = re.compile(r"\d{4}-\d{2}-\d{2}")
_INT32: Final = 2**31
_DATE_PARTS: Final = ("year", "month", "day", "hour")
_KEY_LIKE: Final = re.compile(r"(^id$|_id$|key$|^uuid$|number$)", re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class FirstLook:
    """A guess at the parts of a spec.

    Attributes:
        layout: how folders encode the partition.
        partition_by: column and type for each folder level, outermost first.
        columns: columns in the first file's footer, then the partition columns it lacks.
        key_guess: columns whose names look like a key; may be empty.
    """

    layout: SourceLayout
    partition_by: tuple[tuple[str, PartitionType], ...]
    columns: tuple[str, ...]
    key_guess: tuple[str, ...]


def look(location: str) -> FirstLook:
    """Return a guess from the folders and one footer at `location`.

    Costs one listing of each folder above the files.

    Raises:
        PlanError: `source/missing`, or `source/no-files` if no folder holds a data file.
        CorruptFileError: the first file is not Parquet (`source/not-parquet`).
    """
    storage = open_storage(location)
    if storage.stat("") is None:
        raise PlanError("source/missing", "the source is not a folder", where=Where(file=location))
    levels, file = _levels(storage)
    layout = _layout(levels)
    names = _names(levels, layout)
    types = [_type_of(values, layout) for values in levels]
    inside = _columns_of(storage, file)
    columns = (*inside, *(n for n in names if n not in inside))
    guess = tuple(c for c in inside if _KEY_LIKE.search(c))[:1]
    return FirstLook(
        layout=layout,
        partition_by=tuple(zip(names, types, strict=True)),
        columns=columns,
        key_guess=guess,
    )


def _levels(storage: Storage) -> tuple[list[list[str]], str]:
    """Return the folder names of each level, and the first data file."""
    levels: list[list[str]] = []
    folders = [""]
    while True:
        entries = [e for folder in folders for e in _visible(storage, folder)]
        files = [e.path for e in entries if not e.is_folder]
        if files:
            return levels, min(files)
        if not entries:
            raise PlanError(
                "source/no-files",
                "there is no data file",
                where=Where(file=storage.location),
                remedy="Name the folder that holds the Parquet files.",
            )
        levels.append([e.name for e in entries])
        folders = [e.path for e in entries]


def _visible(storage: Storage, folder: str) -> Iterator[Entry]:
    return (e for e in storage.list(folder) if not is_hidden(e.name))


def _layout(levels: Sequence[Sequence[str]]) -> SourceLayout:
    if not levels:
        return SourceLayout.NONE
    hive = all("=" in name for names in levels for name in names)
    return SourceLayout.HIVE if hive else SourceLayout.POSITIONAL


def _names(levels: Sequence[Sequence[str]], layout: SourceLayout) -> list[str]:
    if layout is SourceLayout.HIVE:
        return [names[0].split("=", 1)[0] for names in levels]
    years = bool(levels) and all(re.fullmatch(r"\d{4}", name) for name in levels[0])
    if years and len(levels) <= len(_DATE_PARTS):
        return list(_DATE_PARTS[: len(levels)])
    return [f"level_{number}" for number in range(1, len(levels) + 1)]


def _type_of(names: Sequence[str], layout: SourceLayout) -> PartitionType:
    """Return the narrowest type whose text comes back unchanged for every value."""
    texts = {unescape(n.split("=", 1)[1]) if layout is SourceLayout.HIVE else n for n in names}
    values = texts - {HIVE_DEFAULT}
    if values and all(_INT.fullmatch(v) for v in values):
        narrow = all(-_INT32 <= int(v) < _INT32 for v in values)
        return PartitionType.INT if narrow else PartitionType.LONG
    if values and all(_DATE.fullmatch(v) for v in values):
        return PartitionType.DATE
    return PartitionType.STRING


def _columns_of(storage: Storage, path: str) -> tuple[str, ...]:
    with storage.open_input(path) as source:
        try:
            return tuple(pq.read_schema(source).names)
        except (OSError, ValueError) as error:
            raise CorruptFileError(
                "source/not-parquet",
                f"this is not a Parquet file: {error}",
                where=Where(file=f"{storage.location}/{path}"),
                remedy="Only Parquet can be adopted.",
            ) from error
