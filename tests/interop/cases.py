"""The matrix of the judge: every kind of source that can be adopted, as data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from typing import Any

import pyarrow as pa

from tests.interop import special_sources
from tests.interop.sources import Row, SourceFile, rows_of, source_schema
from tests.interop.special_sources import plain_rows

__all__ = ["CASES", "Case"]

ARROW_TYPES: Mapping[str, pa.DataType] = {
    "int": pa.int32(),
    "long": pa.int64(),
    "string": pa.string(),
    "date": pa.date32(),
    "boolean": pa.bool_(),
}
SAMPLE_INDEX = "SIMPLE"


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One adopted table.

    Attributes:
        name: names the test.
        files: the source.
        layout: `hive`, `positional` or `none`.
        partition_by: partition column to declared type.
        key: record key columns.
        table_type: `copy_on_write` or `merge_on_read`.
        rules: mode rules as a spec says them.
        indexes: indexes with which Apache Hudi upserts.
        exceptions: names in `differences.DIFFERENCES` that this case meets.
        sample: whether it belongs to the sample that every change is judged by.
        new_partition: values of a partition that does not exist yet, for the upsert.
    """

    name: str
    files: tuple[SourceFile, ...]
    layout: str = "hive"
    partition_by: Mapping[str, str] = field(default_factory=dict)
    key: tuple[str, ...] = ("id",)
    table_type: str = "copy_on_write"
    mode: str = "metadata_only"
    rules: tuple[Mapping[str, Any], ...] = ()
    indexes: tuple[str, ...] = (SAMPLE_INDEX,)
    exceptions: tuple[str, ...] = ()
    sample: bool = True
    new_partition: Mapping[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        """Name the test."""
        return self.name

    @property
    def schema(self) -> pa.Schema:
        """The table's data columns and their types."""
        types = {name: ARROW_TYPES[kind] for name, kind in self.partition_by.items()}
        return source_schema(self.files, types)

    @property
    def rows(self) -> list[Row]:
        """The rows that the adopted table must have."""
        return rows_of(self.files, self.schema.names)

    def record_key(self, row: Row) -> str:
        """Return Hudi's record key of a row: bare for one column, `name:value,…` for several."""
        if len(self.key) == 1:
            return str(row[self.key[0]])
        return ",".join(f"{name}:{row[name]}" for name in self.key)

    def spec(self, *, source: str, location: str) -> dict[str, Any]:
        """Return the pipeline spec as a document."""
        table: dict[str, Any] = {
            "name": f"judged.{self.name.replace('-', '_')}",
            "location": location,
            "type": self.table_type,
            "record_key": {"columns": list(self.key), "unique_within": "table"},
            "bloom": {"expected_keys": 1000},
        }
        if self.partition_by:
            table["partition_by"] = dict(self.partition_by)
        if self.table_type == "merge_on_read":
            table["ordering"] = {"columns": ["n"]}
        bootstrap = {"path": source, "layout": self.layout, "mode": self.mode}
        return {
            "version": 1,
            "table": table,
            "bootstrap": {**bootstrap, "rules": [dict(rule) for rule in self.rules]},
        }


def _files(
    partitions: Sequence[tuple[str, Mapping[str, Any]]],
    *,
    inside: bool = False,
    types: Mapping[str, str] | None = None,
    per_partition: int = 1,
) -> tuple[SourceFile, ...]:
    """Return plain files, `per_partition` in each folder, with ids that increase throughout."""
    made: list[SourceFile] = []
    for path, values in partitions:
        for place in range(per_partition):
            rows = plain_rows(first=len(made) * 4, count=4)
            if inside:
                rows = _with_columns(rows, values, types or {})
            name = f"{path}/part-{place}.parquet" if path else f"part-{place}.parquet"
            made.append(SourceFile(path=name, rows=rows, partition=values, partition_path=path))
    return tuple(made)


def _with_columns(rows: pa.Table, values: Mapping[str, Any], types: Mapping[str, str]) -> pa.Table:
    """Return rows with their partition's values as columns of the file."""
    for name, value in values.items():
        kind = ARROW_TYPES[types[name]]
        rows = rows.append_column(name, pa.array([value] * rows.num_rows, kind))
    return rows


INTS = (("p=1", {"p": 1}), ("p=10", {"p": 10}), ("p=2", {"p": 2}))
TEXTS = (("p=a", {"p": "a"}), ("p=b", {"p": "b"}), ("p=c", {"p": "c"}))
NEAR = (("p=1", {"p": "1"}), ("p=10", {"p": "10"}), ("p=1-2", {"p": "1-2"}))
TWO_LEVELS = (
    ("a=1/b=x", {"a": "1", "b": "x"}),
    ("a=1/b=y", {"a": "1", "b": "y"}),
    ("a=10/b=x", {"a": "10", "b": "x"}),
)
POSITIONAL = (
    ("2024/east", {"year": "2024", "side": "east"}),
    ("2024/west", {"year": "2024", "side": "west"}),
    ("2025/east", {"year": "2025", "side": "east"}),
)
DAYS = tuple(special_sources.days("2024-02-28", 3))
DEFAULT = (("p=a", {"p": "a"}), ("p=__HIVE_DEFAULT_PARTITION__", {"p": None}))
ESCAPED = (
    ("p=a%3Ab c", {"p": "a:b c"}),
    ("p=50%25", {"p": "50%"}),
    ("p=plain", {"p": "plain"}),
    ("p=é", {"p": "é"}),
)
INT, TEXT, DAY = {"p": "int"}, {"p": "string"}, {"day": "date"}
AB = {"a": "string", "b": "string"}
YEAR_SIDE = {"year": "string", "side": "string"}
NEW_TEXT = {"p": "new"}
TYPED, DATED = ("typed-path-only-partition",), ("date-path-only-partition",)
GLOBAL_MOR = ("global-index-on-merge-on-read",)
NULLED = ("default-partition",)

_HIVE = Case(
    name="hive",
    files=_files(TEXTS, per_partition=2),
    partition_by=TEXT,
    indexes=("SIMPLE", "GLOBAL_BLOOM"),
    new_partition=NEW_TEXT,
)

SAMPLE: tuple[Case, ...] = (
    _HIVE,
    Case(
        name="integers-path-only",
        files=_files(INTS),
        partition_by=INT,
        exceptions=TYPED,
        new_partition={"p": 77},
    ),
    Case(
        name="mixed",
        files=_files(TEXTS),
        partition_by=TEXT,
        rules=({"partition": "p=b", "mode": "full_record", "reason": "still being corrected"},),
        indexes=("GLOBAL_SIMPLE",),
        new_partition=NEW_TEXT,
    ),
    replace(
        _HIVE,
        name="merge-on-read",
        table_type="merge_on_read",
        indexes=("BLOOM", "GLOBAL_SIMPLE"),
        exceptions=GLOBAL_MOR,
    ),
    Case(
        name="near-partition-names",
        files=_files(NEAR),
        partition_by=TEXT,
        indexes=("BLOOM",),
        new_partition={"p": "1-3"},
    ),
    Case(
        name="two-levels",
        files=_files(TWO_LEVELS),
        partition_by=AB,
        exceptions=("custom-keys-in-sql",),
        new_partition={"a": "2", "b": "z"},
    ),
    Case(
        name="positional",
        files=_files(POSITIONAL),
        layout="positional",
        partition_by=YEAR_SIDE,
        key=("id", "n"),
        indexes=("BLOOM",),
        new_partition={"year": "2026", "side": "north"},
    ),
    Case(name="unpartitioned", files=_files([("", {})], per_partition=3), layout="none"),
    Case(
        name="inside-file",
        files=_files(INTS, inside=True, types=INT),
        partition_by=INT,
        key=("id", "p"),
        new_partition={"p": 77},
    ),
    Case(
        name="default-partition",
        files=_files(DEFAULT),
        partition_by=TEXT,
        exceptions=NULLED,
        new_partition=NEW_TEXT,
    ),
    Case(
        name="escaped-path-only",
        files=_files(ESCAPED),
        partition_by=TEXT,
        exceptions=("escaped-path-only-value",),
        new_partition={"p": "c:d"},
    ),
    Case(name="days-path-only", files=_files(DAYS), partition_by=DAY, exceptions=DATED),
    Case(name="days-inside", files=_files(DAYS, inside=True, types=DAY), partition_by=DAY),
    Case(name="types", files=special_sources.typed_files(), partition_by=TEXT),
    Case(
        name="milliseconds",
        files=special_sources.millisecond_files(),
        layout="none",
        exceptions=("millisecond-timestamp",),
    ),
    Case(
        name="fixed-binary",
        files=special_sources.fixed_binary_files(),
        layout="none",
        exceptions=("fixed-binary",),
    ),
    Case(
        name="null-in-list",
        files=special_sources.null_in_list_files(),
        layout="none",
        exceptions=("null-in-list",),
    ),
    Case(name="evolving", files=special_sources.evolving_files(), partition_by=TEXT),
    Case(
        name="empty-and-many-row-groups",
        files=special_sources.empty_and_grouped_files(),
        partition_by=TEXT,
        indexes=("BLOOM",),
        new_partition=NEW_TEXT,
    ),
    Case(
        name="naive-timestamps",
        files=special_sources.naive_timestamp_files(),
        layout="none",
        exceptions=("naive-timestamp",),
    ),
    Case(
        name="int96",
        files=special_sources.int96_files(),
        layout="none",
        exceptions=("int96-cannot-be-rewritten",),
    ),
)

INDEXES = ("SIMPLE", "BLOOM", "GLOBAL_SIMPLE", "GLOBAL_BLOOM")
LAYOUTS: tuple[tuple[str, str, Mapping[str, str], Any], ...] = (
    ("hive", "hive", TEXT, TEXTS),
    ("near", "hive", TEXT, NEAR),
    ("two-levels", "hive", AB, TWO_LEVELS),
    ("positional", "positional", YEAR_SIDE, POSITIONAL),
    ("default", "hive", TEXT, DEFAULT),
    ("integers", "hive", INT, INTS),
    ("days", "hive", DAY, DAYS),
    ("unpartitioned", "none", {}, [("", {})]),
)


def _crossed() -> list[Case]:
    """Return layouts x keys x partition column in or out of the file x table type, all indexes."""
    made: list[Case] = []
    inside_or_out, tables = (False, True), ("copy_on_write", "merge_on_read")
    keys = (("id",), ("id", "n"))
    for (name, layout, types, partitions), key, inside, table in product(
        LAYOUTS, keys, inside_or_out, tables
    ):
        if inside and not types:
            continue
        files = _files(partitions, inside=inside, types=types, per_partition=2)
        where = "inside" if inside else "path"
        case = Case(
            name=f"{name}-{len(key)}-{where}-{table.replace('_', '-')}",
            files=files,
            layout=layout,
            partition_by=types,
            key=key,
            table_type=table,
            indexes=INDEXES,
            exceptions=_exceptions(name, types, table, key, inside=inside),
            sample=False,
        )
        made.append(case)
    return made


def _exceptions(
    layout: str, types: Mapping[str, str], table: str, key: Sequence[str], *, inside: bool
) -> tuple[str, ...]:
    """Return the exceptions that a table with partition columns of these types meets.

    The updates change `n`: where that is part of the key they are inserts, and meet no skeleton.
    """
    kinds = set() if inside else set(types.values())
    met = {
        GLOBAL_MOR: table == "merge_on_read" and bool(types) and "n" not in key,
        NULLED: layout == "default",
        TYPED: bool(kinds - {"string"}),
        DATED: "date" in kinds,
    }
    return tuple(name for names, holds in met.items() if holds for name in names)


CASES: tuple[Case, ...] = (*SAMPLE, *_crossed())
