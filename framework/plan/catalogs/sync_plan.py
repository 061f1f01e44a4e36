"""The difference between what a catalog holds and what it shall hold, as frozen values."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from framework.errors import PlanError, Where
from framework.plan.catalogs.definitions import CREATE_VERSION, SCHEMA_PART, SERDE_PATH
from framework.plan.catalogs.places import same_place
from framework.plan.catalogs.registered import (
    LAST_COMMIT,
    LAST_COMPLETION,
    CatalogColumn,
    CatalogPartition,
    RegisteredTable,
)

__all__ = ["PartitionScope", "SyncPlan", "TableSync", "partition_of", "plan_table"]

_LAST: Final = (LAST_COMMIT, LAST_COMPLETION)
_COMMIT: Final = "last commit"
_COLUMNS: Final = "columns"


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionScope:
    """The partitions that a sync looks at.

    Attributes:
        live: paths of those that have a file slice.
        emptied: paths of those that have none any more.
        is_all: whether all partitions of the table are named; otherwise those that commits changed
            since the last sync.
    """

    live: tuple[str, ...]
    emptied: tuple[str, ...] = ()
    is_all: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class TableSync:
    """What a sync does to one table of a catalog.

    Attributes:
        table: as it shall be, with the last commit.
        creates: whether the catalog does not have it.
        changes: what differs, in words; empty for a new table.
        before: the properties of the last sync, which stay until the partitions are written.
        add: partitions that the catalog lacks.
        change: partitions with another location.
        drop: partitions that the table has no longer.
    """

    table: RegisteredTable
    creates: bool
    changes: tuple[str, ...] = ()
    before: Mapping[str, str]
    add: tuple[CatalogPartition, ...] = ()
    change: tuple[CatalogPartition, ...] = ()
    drop: tuple[CatalogPartition, ...] = ()

    @property
    def has_changes(self) -> bool:
        """Whether anything is written."""
        return self.creates or bool(self.changes) or self.has_partitions

    @property
    def has_partitions(self) -> bool:
        """Whether a partition is added, changed or dropped."""
        return bool(self.add or self.change or self.drop)

    @property
    def cascades(self) -> bool:
        """Whether the columns of partitions change with those of the table."""
        return _COLUMNS in self.changes and bool(self.table.partition_columns)

    @property
    def first(self) -> RegisteredTable | None:
        """The table before its partitions are written; None if it is written only once.

        It has the old last commit, so that a sync that dies after it is repeated.
        """
        if not self.has_partitions or not (self.creates or set(self.changes) - {_COMMIT}):
            return None
        kept = {k: v for k, v in self.table.properties.items() if k not in _LAST}
        return replace(self.table, properties={**kept, **self.before})


@dataclass(frozen=True, slots=True, kw_only=True)
class SyncPlan:
    """What a sync does.

    Attributes:
        location: the Hudi table's.
        place: the catalog, for people.
        database: of the tables.
        creates_database: whether the catalog does not have it.
        last_commit: the commit up to which the catalog shall be synced.
        tables: one per table in the catalog.
    """

    location: str
    place: str
    database: str
    creates_database: bool
    last_commit: str
    tables: tuple[TableSync, ...]

    @property
    def has_changes(self) -> bool:
        """Whether anything is written."""
        return self.creates_database or any(each.has_changes for each in self.tables)


def plan_table(
    wanted: RegisteredTable,
    found: RegisteredTable | None,
    scope: PartitionScope,
    present: Iterable[CatalogPartition],
) -> TableSync:
    """Return what a sync does to one table.

    What others added stays: properties, comments of columns, and the spelling of a location.

    Args:
        wanted: the table as it shall be.
        found: the table in the catalog; None if there is none.
        scope: the partitions to look at.
        present: those of the scope that the catalog has; of the whole table if `scope.is_all`.

    Raises:
        PlanError: `catalog/other-location`, `catalog/partition-columns`, `catalog/type-change`,
            `catalog/partition-depth`.
    """
    table = wanted if found is None else _merged(wanted, found)
    changes = () if found is None else tuple(_changes(table, found))
    add, change, drop = _partitions(table, scope, present)
    before = {} if found is None else {k: v for k, v in found.properties.items() if k in _LAST}
    return TableSync(
        table=table,
        creates=found is None,
        changes=changes,
        before=before,
        add=add,
        change=change,
        drop=drop,
    )


def partition_of(table: RegisteredTable, path: str) -> CatalogPartition:
    """Return a partition of a table: its values are the texts of its folders, as Hudi's sync does.

    Raises:
        PlanError: `catalog/partition-depth`.
    """
    values = tuple(_value(segment) for segment in path.split("/"))
    if len(values) != len(table.partition_columns):
        raise PlanError(
            "catalog/partition-depth",
            f"the partition has {len(values)} levels, but the table has"
            f" {len(table.partition_columns)} partition columns",
            where=Where(table=table.location, partition=path),
            remedy="Catalogs need one folder for each partition column; remove `catalog`.",
        )
    return CatalogPartition(values=values, location=f"{table.location}/{path}")


def _value(segment: str) -> str:
    name, equals, value = segment.partition("=")
    return value if equals else name


def _merged(wanted: RegisteredTable, found: RegisteredTable) -> RegisteredTable:
    """Return the wanted table with what may stay of the one that is there."""
    _refuse_other(wanted, found)
    serde = {**found.serde_properties, **wanted.serde_properties}
    path = found.serde_properties.get(SERDE_PATH)
    if path is not None and same_place(path, wanted.location):
        serde[SERDE_PATH] = path
    parts = {name for name in found.properties if name.startswith(SCHEMA_PART)}
    stale = parts if f"{SCHEMA_PART}0" in wanted.properties else set()
    kept = {name: text for name, text in found.properties.items() if name not in stale}
    properties = {**kept, **wanted.properties}
    if CREATE_VERSION in found.properties:
        properties[CREATE_VERSION] = found.properties[CREATE_VERSION]
    return replace(
        wanted,
        location=found.location,
        columns=_commented(wanted.columns, found.columns),
        partition_columns=_commented(wanted.partition_columns, found.partition_columns),
        serde_properties=serde,
        properties=properties,
    )


def _commented(
    wanted: Sequence[CatalogColumn], found: Sequence[CatalogColumn]
) -> tuple[CatalogColumn, ...]:
    """Return the wanted columns with the comments that the catalog has."""
    comments = {each.name.lower(): each.comment for each in found}
    return tuple(replace(c, comment=comments.get(c.name, c.comment)) for c in wanted)


def _changes(table: RegisteredTable, found: RegisteredTable) -> Iterator[str]:
    """Yield what differs, in words."""
    if _shape(table.columns) != _shape(found.columns):
        yield _COLUMNS
    formats = (table.input_format, table.output_format, table.serde)
    if formats != (found.input_format, found.output_format, found.serde):
        yield "formats"
    if dict(table.serde_properties) != dict(found.serde_properties):
        yield "serde properties"
    if _others(table.properties) != _others(found.properties):
        yield "properties"
    if any(table.properties.get(k) != found.properties.get(k) for k in _LAST):
        yield _COMMIT


def _others(properties: Mapping[str, str]) -> dict[str, str]:
    return {k: v for k, v in properties.items() if k not in _LAST}


def _shape(columns: Iterable[CatalogColumn]) -> tuple[tuple[str, str], ...]:
    return tuple((c.name.lower(), "".join(c.type.lower().split())) for c in columns)


def _refuse_other(wanted: RegisteredTable, found: RegisteredTable) -> None:
    """Refuse a table that is not this one, or that cannot become it.

    Raises:
        PlanError: as of `plan_table`.
    """
    name = f"{found.database}.{found.name}"
    if not same_place(found.location, wanted.location):
        raise PlanError(
            "catalog/other-location",
            f"the catalog's table {name} is at {found.location or 'no location'}, not at"
            f" {wanted.location}",
            where=Where(table=name),
            remedy="Give `catalog.table` another name, or remove the other table.",
        )
    if _shape(found.partition_columns) != _shape(wanted.partition_columns):
        raise PlanError(
            "catalog/partition-columns",
            f"the catalog's table {name} is partitioned by {_text(found.partition_columns)}, not by"
            f" {_text(wanted.partition_columns)}",
            where=Where(table=name),
            remedy="Drop it in the catalog, which keeps the files of an external table, and sync.",
        )
    types = dict(_shape(found.columns))
    for column, kind in _shape(wanted.columns):
        then = types.get(column, kind)
        if then != kind and _untimed(then) == _untimed(kind):
            raise PlanError(
                "catalog/type-change",
                f"column '{column}' of the catalog's table {name} is {then}, and would be {kind}",
                where=Where(table=name),
                remedy=f"Set `catalog.support_timestamp: {str('timestamp' in then).lower()}`, or"
                " drop the table in the catalog, which keeps its files.",
            )


def _untimed(kind: str) -> str:
    return kind.replace("timestamp", "bigint")


def _text(columns: Sequence[CatalogColumn]) -> str:
    return ", ".join(f"{c.name} {c.type}" for c in columns) or "no column"


_Partitions = tuple[CatalogPartition, ...]


def _partitions(
    table: RegisteredTable, scope: PartitionScope, present: Iterable[CatalogPartition]
) -> tuple[_Partitions, _Partitions, _Partitions]:
    """Return the partitions to add, to change and to drop."""
    if not table.partition_columns:
        return (), (), ()
    there = {each.values: each for each in present}
    live = {each.values: each for each in (partition_of(table, path) for path in scope.live)}
    add = tuple(each for values, each in live.items() if values not in there)
    change = tuple(
        each
        for values, each in live.items()
        if values in there and not same_place(there[values].location, each.location)
    )
    emptied = {partition_of(table, path).values for path in scope.emptied}
    drop = tuple(
        each
        for values, each in there.items()
        if values not in live and (scope.is_all or values in emptied)
    )
    return add, change, drop
