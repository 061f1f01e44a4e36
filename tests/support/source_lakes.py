"""Lakes to read: folders of Parquet files, and adopting them in this process, without Spark."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.parquet as pq

from framework.engine.prepare import PlanningContext, Request, prepare
from framework.engine.runner import run
from framework.engine.tasks import InProcessTasks
from framework.hudi.table.partition_path import escape

__all__ = [
    "LAKES",
    "ODD_NAMES",
    "SourceLake",
    "adopt",
    "hive_lake",
    "mixed_lake",
    "odd_lake",
    "plain_lake",
    "positional_lake",
    "things",
    "typed_lake",
    "widened_lake",
    "yearly_lake",
]

ODD_NAMES: Final = (
    "a b", "a%20b", "a#b", "a[b", "a]c", "{a,b}", "a=b", "é", "a+b", "a&b", "a?b", "a*b", "日本",
    "a%", "%41", "a;b", "a'b", 'a"b', "\u00a0x", "a\\b", "a|b", "~a", "$a`b",
)  # fmt: skip
"""Texts that a URL, a glob, Hive or SQL would take apart."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceLake:
    """A source data set and how a spec adopts it.

    Attributes:
        files: rows by path relative to the source; path-only partition columns are not in them.
        partition_by: partition column to declared type.
        layout: `hive`, `positional` or `none`.
        key: record key columns; none of them for automatic keys.
        rules: mode rules as a spec says them.
        table_type: `copy_on_write` or `merge_on_read`.
        row_group_size: rows in a row group at most.
    """

    files: Mapping[str, pa.Table]
    partition_by: Mapping[str, str] = field(default_factory=dict)
    layout: str = "none"
    key: tuple[str, ...] = ("id",)
    rules: tuple[Mapping[str, Any], ...] = ()
    table_type: str = "copy_on_write"
    row_group_size: int = 4

    @property
    def in_order(self) -> list[tuple[str, pa.Table]]:
        """Files as the inventory numbers them: by partition path, then by path, as bytes."""

        def place(item: tuple[str, pa.Table]) -> tuple[bytes, bytes]:
            folder = "" if self.layout == "none" else item[0].rpartition("/")[0]
            return folder.encode(), item[0].encode()

        return sorted(self.files.items(), key=place)

    def write(self, source: Path) -> None:
        """Write the files as another engine would, without Arrow's own schema."""
        for path, rows in self.files.items():
            file = source / path
            file.parent.mkdir(parents=True, exist_ok=True)
            pq.write_table(rows, file, store_schema=False, row_group_size=self.row_group_size)

    def spec(self, source: Path, table: Path) -> dict[str, Any]:
        """Return the pipeline spec as a document."""
        body: dict[str, Any] = {
            "name": "lake.things",
            "location": str(table),
            "type": self.table_type,
            "record_key": {"columns": list(self.key), "unique_within": "table"}
            if self.key
            else "auto",
            "bloom": {"expected_keys": 1000},
        }
        if self.partition_by:
            body["partition_by"] = dict(self.partition_by)
        if self.table_type == "merge_on_read":
            body["ordering"] = {"columns": ["id"]}
        begin = {"path": str(source), "layout": self.layout, "mode": "metadata_only"}
        return {"version": 1, "table": body, "bootstrap": {**begin, "rules": list(self.rules)}}


def adopt(lake: SourceLake, folder: Path) -> Path:
    """Write a lake below `folder`, adopt it, and return the table's location."""
    source, table, scratch = folder / "source", folder / "table", folder / "scratch"
    lake.write(source)
    scratch.mkdir(parents=True)
    spec = folder / "lake.pipeline.yml"
    spec.write_text(json.dumps(lake.spec(source, table), indent=1))
    tasks = InProcessTasks(2)
    run(prepare(Request(path=spec), PlanningContext(tasks=tasks, scratch=scratch)).plan, tasks)
    return table


def things(first: int, count: int, **constants: object) -> pa.Table:
    """Return rows with increasing `id`, a number, a text, and columns of one value."""
    ids = range(first, first + count)
    columns: dict[str, Any] = {
        "id": pa.array(ids, pa.int64()),
        "n": pa.array([None if i % 5 == 0 else i * 10 for i in ids], pa.int32()),
        "name": pa.array([f"thing {i}" for i in ids], pa.string()),
    }
    return pa.table(columns | {name: [value] * count for name, value in constants.items()})


def plain_lake() -> SourceLake:
    """Return an unpartitioned lake, with a folder that looks like a partition and an empty file."""
    return SourceLake(
        files={
            "part-0.parquet": things(0, 10),
            "deeper/x=1/part-1.parquet": things(10, 3),
            "part-2.parquet": things(13, 0),
        }
    )


def hive_lake() -> SourceLake:
    """Return a lake by an int, `month=1` beside `month=10`, two files a folder, a default one."""
    folders = ("month=1", "month=10", "month=2", "month=__HIVE_DEFAULT_PARTITION__")
    files = {
        f"{folder}/part-{place}.parquet": things(100 * at + 10 * place, 6)
        for at, folder in enumerate(folders)
        for place in range(2)
    }
    return SourceLake(files=files, partition_by={"month": "int"}, layout="hive")


def numbered_lake() -> SourceLake:
    """Return the same lake, whose rows have no key and are numbered."""
    return replace(hive_lake(), key=())


def yearly_lake() -> SourceLake:
    """Return a lake of two levels, the second in the files too, both part of the key."""
    files = {
        f"year={year}/day={year}-0{month}-01/f.parquet": things(
            10 * month, 5, day=date(year, month, 1)
        )
        for year in (2023, 2024)
        for month in (1, 2)
    }
    return SourceLake(
        files=files,
        partition_by={"year": "long", "day": "date"},
        layout="hive",
        key=("year", "day", "id"),
    )


def positional_lake() -> SourceLake:
    """Return a lake whose folders are values without names: a text and a boolean."""
    folders = [(place, flag) for place in ("oslo", "são paulo") for flag in ("true", "false")]
    files = {
        f"{place}/{flag}/f.parquet": things(10 * at, 4) for at, (place, flag) in enumerate(folders)
    }
    return SourceLake(
        files=files, partition_by={"place": "string", "open": "boolean"}, layout="positional"
    )


def odd_lake() -> SourceLake:
    """Return a lake with odd names for partition values, folders and files."""
    files = {
        f"p={escape(name)}/part {name}.parquet": things(10 * at, 3)
        for at, name in enumerate(ODD_NAMES)
    }
    return SourceLake(files=files, partition_by={"p": "string"}, layout="hive")


def typed_lake() -> SourceLake:
    """Return a lake with a key of every plain type, nested columns, and one that is not always."""
    rows = pa.table(
        {
            "k_text": pa.array(["a", "b,c", "é:ü", "", "x y"]),
            "k_int": pa.array([1, -2, 3, 4, 5], pa.int32()),
            "k_long": pa.array([1 << 40, -1, 0, 7, 9], pa.int64()),
            "k_bool": pa.array([True, False, True, False, True]),
            "k_day": pa.array([date(2020, 2, 29)] * 5),
            "k_money": pa.array([Decimal("1.50"), Decimal("-0.01"), *[Decimal("7.00")] * 3]),
            "bytes": pa.array([b"\x00\xff"] * 5),
            "tags": pa.array([["a"], [], None, ["b", None], ["c"]]),
            "deep": pa.array([{"x": 1, "y": {"z": "q"}}] * 5),
            "order": pa.array([1.5, None, 2.5, 0.0, -1.0]),
            "select": pa.array([1.0] * 5, pa.float32()),
        }
    )
    later = rows.drop_columns(["tags"])
    later = later.set_column(1, "k_int", pa.array([11, 12, 13, 14, 15], pa.int32()))
    return SourceLake(
        files={"region=eu/a.parquet": rows, "region=us/b.parquet": later},
        partition_by={"region": "string"},
        layout="hive",
        key=tuple(name for name in rows.column_names if name.startswith("k_")),
    )


def widened_lake() -> SourceLake:
    """Return files whose columns grow wider, in lists and structs too, beside one that stays."""

    def rows(first: int, number: pa.DataType, real: pa.DataType, money: pa.DataType) -> pa.Table:
        ids = range(first, first + 6)
        pairs = [None if i % 4 == 1 else {"a": i, "b": f"b{i}"} for i in ids]
        return pa.table(
            {
                "id": pa.array(ids, pa.int64()),
                "n": pa.array([None if i % 3 == 0 else i * 7 for i in ids], number),
                "ratio": pa.array([None if i % 5 == 0 else i / 4 for i in ids], real),
                "price": pa.array([Decimal(i) / 4 for i in ids], money),
                "pair": pa.array(pairs, pa.struct([("a", number), ("b", pa.string())])),
                "marks": pa.array([[i, None, -i] for i in ids], pa.list_(number)),
            }
        )

    narrow = (pa.int32(), pa.float32(), pa.decimal128(9, 2))
    wide = (pa.int64(), pa.float64(), pa.decimal128(18, 2))
    return SourceLake(
        files={
            "p=1/a.parquet": rows(0, *narrow),
            "p=1/b.parquet": rows(6, *wide),
            "p=2/c.parquet": rows(12, pa.int16(), *narrow[1:]),
            "p=3/d.parquet": rows(18, *narrow).drop_columns(["ratio"]),
        },
        partition_by={"p": "int"},
        layout="hive",
    )


def clock_lake() -> SourceLake:
    """Return a lake with instants and local times."""
    rows = pa.table(
        {
            "id": pa.array([1, 2]),
            "at": pa.array([datetime(2024, 1, 1, 12, tzinfo=UTC)] * 2, pa.timestamp("us", "UTC")),
            "at_ms": pa.array([datetime(2024, 1, 1, tzinfo=UTC)] * 2, pa.timestamp("ms", "UTC")),
            "local": pa.array([datetime(2024, 1, 1)] * 2, pa.timestamp("us")),  # noqa: DTZ001 - a column without time zone
        }
    )
    return SourceLake(files={"a.parquet": rows})


def mixed_lake() -> SourceLake:
    """Return a lake of which two partitions are rewritten in full, in the same instant."""
    rule = {"partition": "month=10?", "mode": "full_record", "reason": "still changing"}
    return replace(hive_lake(), rules=(rule,))


LAKES: Final = {
    "plain": plain_lake,
    "hive": hive_lake,
    "numbered": numbered_lake,
    "yearly": yearly_lake,
    "positional": positional_lake,
    "odd": odd_lake,
    "typed": typed_lake,
    "clock": clock_lake,
    "mixed": mixed_lake,
    "widened": widened_lake,
}
"""Builders by name."""
