"""Sources whose schema or files are the point: types, evolution, empty files, row groups."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator, Mapping
from decimal import Decimal
from typing import Any

import pyarrow as pa

from tests.interop.sources import SourceFile

__all__ = [
    "days",
    "empty_and_grouped_files",
    "evolving_files",
    "fixed_binary_files",
    "int96_files",
    "millisecond_files",
    "naive_timestamp_files",
    "null_in_list_files",
    "plain_rows",
    "typed_files",
]

NOON = dt.datetime(2024, 5, 6, 12, 30, 1, 123456, tzinfo=dt.UTC)


def plain_rows(*, first: int, count: int) -> pa.Table:
    """Return rows of `id`, a text `v` and a small number `n`."""
    ids = list(range(first, first + count))
    return pa.table(
        {
            "id": pa.array(ids, pa.int64()),
            "v": pa.array([f"v{number}" for number in ids], pa.string()),
            "n": pa.array([number % 5 for number in ids], pa.int32()),
        }
    )


def days(first: str, count: int) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield daily partitions; the end of a leap February is a good place to begin."""
    start = dt.date.fromisoformat(first)
    for place in range(count):
        day = start + dt.timedelta(days=place)
        yield f"day={day}", {"day": day}


def typed_files() -> tuple[SourceFile, ...]:
    """Return nested, decimal, date, timestamp, binary, floating and non-nullable columns."""
    return tuple(
        SourceFile(
            path=f"p={place}/part.parquet",
            rows=_typed_rows(first=place * 4),
            partition={"p": str(place)},
            partition_path=f"p={place}",
        )
        for place in range(2)
    )


def _typed_rows(*, first: int) -> pa.Table:
    """Return four rows; the last is null in every nullable column."""
    plain = plain_rows(first=first, count=4)
    point = pa.struct([("x", pa.int32()), ("name", pa.string())])
    event = pa.struct([("at", pa.timestamp("us", tz="UTC")), ("spot", point)])
    columns: dict[str, pa.Array] = {
        "price": pa.array(
            [*map(Decimal, ("1.50", "-2.25", "9999999.99")), None], pa.decimal128(12, 2)
        ),
        "wide_price": pa.array([Decimal("1" * 25 + ".5"), None, None, None], pa.decimal128(38, 1)),
        "born": pa.array([dt.date(1969, 7, 20), dt.date(2024, 2, 29), dt.date(1999, 1, 1), None]),
        "at": pa.array([NOON, NOON, NOON, None], pa.timestamp("us", tz="UTC")),
        "tiny": pa.array([1, -2, 127, None], pa.int8()),
        "small": pa.array([1, -2, 32767, None], pa.int16()),
        "raw": pa.array([b"\x00\xff", b"", b"abc", None], pa.binary()),
        "ratio": pa.array([0.5, -1.25, 1e300, None], pa.float64()),
        "small_ratio": pa.array([0.5, -1.25, 2.0, None], pa.float32()),
        "flag": pa.array([True, False, True, None]),
        "spot": pa.array([{"x": 1, "name": "a"}, {"x": None, "name": "b"}, None, None], point),
        "marks": pa.array([[1, 2], [], [3], None], pa.list_(pa.int32())),
        "spots": pa.array([[{"x": 1, "name": "a"}], [], None, None], pa.list_(point)),
        "events": pa.array(
            [[{"at": NOON, "spot": {"x": 1, "name": "a"}}], [], None, None], pa.list_(event)
        ),
        "grid": pa.array([[[1], [2, 3]], [], [[]], None], pa.list_(pa.list_(pa.int32()))),
        "counts": pa.array(
            [[("a", 1)], [("b", 2), ("c", None)], None, None], pa.map_(pa.string(), pa.int64())
        ),
    }
    for name, values in columns.items():
        plain = plain.append_column(name, values)
    required = pa.field("must", pa.int32(), nullable=False)
    return plain.append_column(required, pa.array([first, 1, 2, 3], pa.int32()))


def millisecond_files() -> tuple[SourceFile, ...]:
    """Return timestamps in milliseconds, as many systems write them."""
    times = pa.array([NOON.replace(microsecond=5000)] * 4, pa.timestamp("ms", tz="UTC"))
    return (_single_file("at", times),)


def fixed_binary_files() -> tuple[SourceFile, ...]:
    """Return binary values of a fixed length."""
    values = pa.array([b"abcd", b"efgh", None, b"0000"], pa.binary(4))
    return (_single_file("code", values),)


def null_in_list_files() -> tuple[SourceFile, ...]:
    """Return a list column with a null element."""
    marks = pa.array([[1, 2], [None], [], None], pa.list_(pa.int32()))
    return (_single_file("marks", marks),)


def int96_files() -> tuple[SourceFile, ...]:
    """Return timestamps in the deprecated form that Spark 3 writes by default."""
    times = pa.array([NOON] * 4, pa.timestamp("us", tz="UTC"))
    return (_single_file("at", times, use_deprecated_int96_timestamps=True),)


def evolving_files() -> tuple[SourceFile, ...]:
    """Return files that gain a column, widen an integer and order their columns differently."""
    old = plain_rows(first=0, count=4)
    wide = plain_rows(first=4, count=4)
    wide = wide.set_column(2, "n", wide["n"].cast(pa.int64()))
    wide = wide.append_column("extra", pa.array(["e", None, "f", "g"]))
    turned = plain_rows(first=8, count=4).select(["v", "n", "id"])
    return tuple(
        SourceFile(
            path=f"p={place}/part.parquet",
            rows=rows,
            partition={"p": str(place)},
            partition_path=f"p={place}",
        )
        for place, rows in enumerate((old, wide, turned))
    )


def empty_and_grouped_files() -> tuple[SourceFile, ...]:
    """Return a file without rows beside one of 300 row groups of seven rows."""
    many = plain_rows(first=100, count=2_100)
    return (
        SourceFile(
            path="p=1/a-empty.parquet",
            rows=plain_rows(first=0, count=0),
            partition={"p": "1"},
            partition_path="p=1",
        ),
        SourceFile(
            path="p=1/b-grouped.parquet",
            rows=many,
            partition={"p": "1"},
            partition_path="p=1",
            options={"row_group_size": 7, "compression": "zstd", "data_page_version": "2.0"},
        ),
        SourceFile(
            path="p=2/empty.parquet",
            rows=plain_rows(first=0, count=0),
            partition={"p": "2"},
            partition_path="p=2",
        ),
    )


def naive_timestamp_files() -> tuple[SourceFile, ...]:
    """Return a column of timestamps without a time zone."""
    times = pa.array([NOON.replace(tzinfo=None)] * 4, pa.timestamp("us"))
    return (_single_file("local_at", times),)


def _single_file(name: str, values: pa.Array, **options: Any) -> SourceFile:
    """Return one file of four plain rows with one more column."""
    rows = plain_rows(first=0, count=4).append_column(name, values)
    return SourceFile(path="part.parquet", rows=rows, options=options)
