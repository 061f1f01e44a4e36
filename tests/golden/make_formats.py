"""Make `formats/`: small Parquet files, each with one feature that some reader may stumble on.

    .venv/bin/python tests/golden/make_formats.py

Each file has the columns `id` (INT64, 0 to 5), `v` (a text), and what its feature needs. Where no
writer at hand makes a feature, the footer of a file is edited; its pages fit the new footer but
for `codec-lzo`. `make_formats_elsewhere.py` writes what DuckDB and polars write.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from framework.hudi.codecs.thrift_struct import (
    BINARY,
    I32,
    STRUCT,
    Struct,
    read_struct,
    write_struct,
)

FOLDER = Path(__file__).with_name("formats")
ROWS = 6
# Field ids of a schema element in parquet.thrift.
REPETITION, NAME, CHILDREN, CONVERTED, SCALE, PRECISION, LOGICAL = 3, 4, 5, 6, 7, 8, 10
MAP, ENUM, DECIMAL, BSON, INTERVAL = 1, 4, 5, 20, 21  # converted types
CHUNK_METADATA, PATH, CODEC = 3, 3, 4

NUMBERS = [1, -2, 3, 400000, None, 6]
FRACTIONS = [1.5, -2.25, 0.0, None, 4.5, 6.0]
WORDS = ["aa", "aab", None, "b", "", "aab"]
BLOBS = [b"abc", b"def", None, b"ghi", b"jkl", b"mno"]
DIGITS = [Decimal(f"{number}.25") for number in range(ROWS)]
LISTS = [[1, 2], [], None, [3], [4, 5], [6]]
NULL_IN_LISTS = [[1, None], *LISTS[1:]]
INTS = pa.list_(pa.field("element", pa.int32(), nullable=False))


def main() -> None:
    """Write all files anew."""
    FOLDER.mkdir(exist_ok=True)
    for make in (codecs, encodings, times, numbers, texts, edited_types, nested, names):
        make()


def codecs() -> None:
    """Write one file for each codec."""
    for codec in ("none", "snappy", "gzip", "brotli", "zstd"):
        write(f"codec-{codec}", compression=codec)
    write("codec-lz4-raw", compression="lz4")
    # what parquet-cpp wrote before Arrow 5: the codec says LZ4, the blocks have no Hadoop frame
    write("codec-lz4", lambda footer: set_codec(footer, 5), compression="lz4")
    write("codec-lzo", lambda footer: set_codec(footer, 3), compression="none")
    write("codec-unknown", lambda footer: set_codec(footer, 9), compression="none")


def encodings() -> None:
    """Write pages in each encoding, and pages of format v2."""
    arrays = {
        "float": pa.array(FRACTIONS, pa.float32()),
        "double": pa.array(FRACTIONS, pa.float64()),
        "int32": pa.array(NUMBERS, pa.int32()),
        "int64": pa.array(NUMBERS, pa.int64()),
        "fixed": pa.array(BLOBS, pa.binary(3)),
        "decimal": pa.array(DIGITS, pa.decimal128(30, 2)),
    }
    words = pa.array(WORDS)
    for kind, array in arrays.items():
        encoded(f"split-{kind}", array, "BYTE_STREAM_SPLIT")
    encoded("delta-int32", arrays["int32"], "DELTA_BINARY_PACKED")
    encoded("delta-int64", arrays["int64"], "DELTA_BINARY_PACKED")
    encoded("delta-length", words, "DELTA_LENGTH_BYTE_ARRAY")
    encoded("delta-text", words, "DELTA_BYTE_ARRAY")
    encoded("delta-fixed", arrays["fixed"], "DELTA_BYTE_ARRAY")
    encoded("rle-boolean", pa.array([True, False, None, True, True, False]), "RLE")
    write("pages-v2", x=words, data_page_version="2.0")
    write("bloom", x=words, bloom_filter_options={"x": True})


def times() -> None:
    """Write points in time of each unit, days, and times of day."""
    moments = [1_700_000_000_123_456_000 + 1_000_000 * number for number in range(ROWS - 1)]
    for unit, step in (("ns", 1), ("us", 1000), ("ms", 1_000_000)):
        counts = [moment // step for moment in moments]
        write(f"timestamp-{unit}", x=pa.array([*counts, None], pa.timestamp(unit, "UTC")))
        write(f"timestamp-{unit}-naive", x=pa.array([*counts, None], pa.timestamp(unit)))
    micros = pa.array([moment // 1000 for moment in [*moments, 0]], pa.timestamp("us", "UTC"))
    write("int96", x=micros, use_deprecated_int96_timestamps=True)
    for kind in (pa.time32("ms"), pa.time64("us"), pa.time64("ns")):
        write(f"time-{kind.unit}", x=pa.array([*range(ROWS - 1), None], kind))
    write("date", x=pa.array([dt.date(2024, 2, 29)] * ROWS))


def numbers() -> None:
    """Write integers, decimals and half floats as each type can store them."""
    unsigned = {8: pa.uint8(), 16: pa.uint16(), 32: pa.uint32(), 64: pa.uint64()}
    for bits, kind in unsigned.items():
        write(f"uint{bits}", x=pa.array([0, 1, None, 2**bits - 1, 5, 6], kind))
    for bits, signed in ((8, pa.int8()), (16, pa.int16())):
        write(f"int{bits}", x=pa.array([0, 1, None, -(2 ** (bits - 1)), 5, 6], signed))
    write("float16", x=pa.array(FRACTIONS, pa.float32()).cast(pa.float16()))
    write("decimal", x=pa.array(DIGITS, pa.decimal128(9, 2)))
    for width in (9, 18):
        array = pa.array(DIGITS, pa.decimal128(width, 2))
        write(f"decimal-int-{width}", x=array, store_decimal_as_integer=True)
    write("decimal-too-wide", x=pa.array(DIGITS, pa.decimal256(50, 2)))
    write("null", x=pa.nulls(ROWS))


def texts() -> None:
    """Write bytes of a fixed length, UUIDs and JSON."""
    write("fixed", x=pa.array([b"abc"] * ROWS, pa.binary(3)))
    write("uuid", x=pa.array([bytes([number] * 16) for number in range(ROWS)], pa.uuid()))
    write("json", x=pa.array(['{"a": 1}', None, "[]", "1", '""', "{}"], pa.json_()))


def edited_types() -> None:
    """Write plain bytes whose footer says what they are."""
    values = (5, -7, 100, 127, -1, 0)
    integers = [n.to_bytes(1 + place % 3, "big", signed=True) for place, n in enumerate(values)]
    for name, digits in (("decimal-bytes", 9), ("decimal-bytes-wide", 38)):
        decimal = {CONVERTED: (I32, DECIMAL), SCALE: (I32, 2), PRECISION: (I32, digits)}
        logical = {LOGICAL: (STRUCT, {5: (STRUCT, {1: (I32, 2), 2: (I32, digits)})})}
        retyped(name, pa.array(integers, pa.binary()), {**decimal, **logical})
    blobs = pa.array(BLOBS, pa.binary())
    retyped("enum", blobs, {CONVERTED: (I32, ENUM), **logical_type(4)})
    empty = pa.array([b"\x05\0\0\0\0"] * ROWS, pa.binary())
    retyped("bson", empty, {CONVERTED: (I32, BSON), **logical_type(13)})
    months = pa.array([bytes([number, 0, 0, 0] * 3) for number in range(ROWS)], pa.binary(12))
    retyped("interval", months, {CONVERTED: (I32, INTERVAL)})
    points = pa.array([b"\x01\x01\0\0\0" + bytes(16)] * ROWS, pa.binary())
    retyped("geometry", points, logical_type(17))
    retyped("geography", points, logical_type(18))
    retyped("type-unknown", blobs, logical_type(30))


def nested() -> None:
    """Write lists in old forms, maps with other keys, and a struct without fields."""
    write("list", x=pa.array(LISTS, pa.list_(pa.int32())))
    write("list-null", x=pa.array(NULL_IN_LISTS, pa.list_(pa.int32())))
    items = pa.list_(pa.field("item", pa.int32()))
    write("list-item", x=pa.array(LISTS, items), use_compliant_nested_type=False)
    write(
        "list-bag",
        lambda footer: rename(footer, list="bag", element="array"),
        x=pa.array(LISTS, INTS),
    )
    write(
        "list-two-level",
        lambda footer: drop(footer, "list", element="array"),
        x=pa.array(LISTS, INTS),
    )
    rows = table(x=pa.array([values or [] for values in LISTS], INTS))
    required = rows.cast(rows.schema.set(2, pa.field("x", INTS, nullable=False)))
    write("list-bare", bare_list, rows=required)
    for name, keys in (("map", ["a", "b"]), ("map-int", [1, 2]), ("map-binary", [b"a", b"b"])):
        pairs = [[(keys[0], 1), (keys[1], None)], [(keys[1], 3)], None, [(keys[0], 2)], None, None]
        kind = pa.map_(pa.scalar(keys[0]).type, pa.int32())
        write(name, x=pa.array(pairs, kind))
    write("struct", x=pa.StructArray.from_arrays([pa.array(range(ROWS), pa.int32())], names=["a"]))
    write("struct-empty", without_fields)


def names() -> None:
    """Write columns with names that Avro or Spark do not take."""
    odd = {"dot": "a.b", "space": "a b", "accent": "é", "comma": "a,b", "quote": "a`b", "case": "V"}
    for name, column in odd.items():
        write(f"name-{name}", **{column: pa.array(range(ROWS), pa.int32())})


def table(**columns: pa.Array) -> pa.Table:
    """Return the rows of a file."""
    ids = pa.array(range(ROWS), pa.int64())
    words = pa.array([f"text {number % 3}" for number in range(ROWS)])
    return pa.table({"id": ids, "v": words, **columns})


def encoded(name: str, array: pa.Array, encoding: str) -> None:
    """Write a column in one encoding."""
    write(name, x=array, column_encoding={"x": encoding}, use_dictionary=False)


def retyped(name: str, array: pa.Array, changes: Struct) -> None:
    """Write a column whose schema element is changed."""

    def change(footer: Struct) -> None:
        """Take its type away and put another there."""
        (element,) = (each for each in elements(footer) if each[NAME][1] == b"x")
        for field in (CONVERTED, SCALE, PRECISION, LOGICAL):
            element.pop(field, None)
        element.update(changes)

    write(name, change, x=array)


def write(
    name: str,
    change: Callable[[Struct], None] | None = None,
    *,
    rows: pa.Table | None = None,
    **options: Any,
) -> None:
    """Write one file without Arrow's own schema; arrays among the options are columns."""
    columns = {key: value for key, value in options.items() if isinstance(value, pa.Array)}
    others = {key: value for key, value in options.items() if key not in columns}
    file = FOLDER / f"{name}.parquet"
    defaults = {"store_schema": False, "compression": "snappy"}
    pq.write_table(rows or table(**columns), file, **{**defaults, **others})
    if change is None:
        return
    data = file.read_bytes()
    length = int.from_bytes(data[-8:-4], "little")
    footer, _ = read_struct(data[-8 - length : -8])
    change(footer)
    written = write_struct(footer)
    end = len(written).to_bytes(4, "little") + b"PAR1"
    file.write_bytes(data[: -8 - length] + written + end)


def elements(footer: Struct) -> list[Struct]:
    """Return the schema, root first."""
    found: list[Struct] = footer[2][1][1]
    return found


def chunks(footer: Struct) -> list[Struct]:
    """Return the metadata of all column chunks."""
    groups = footer[4][1][1]
    return [chunk[CHUNK_METADATA][1] for group in groups for chunk in group[1][1][1]]


def logical_type(number: int) -> Struct:
    """Return the field of a logical type without members."""
    return {LOGICAL: (STRUCT, {number: (STRUCT, {})})}


def set_codec(footer: Struct, codec: int) -> None:
    """Let all chunks be of this codec."""
    for chunk in chunks(footer):
        chunk[CODEC] = (I32, codec)


def rename(footer: Struct, **new: str) -> None:
    """Give nodes of the schema other names."""
    for element in elements(footer):
        name = element[NAME][1].decode()
        element[NAME] = (BINARY, new.get(name, name).encode())
    for chunk in chunks(footer):
        path = chunk[PATH][1][1]
        path[:] = [new.get(part.decode(), part.decode()).encode() for part in path]


def drop(footer: Struct, name: str, **new: str) -> None:
    """Take a repeated group away, so that its one child is repeated."""
    nodes = elements(footer)
    at = next(place for place, each in enumerate(nodes) if each[NAME][1].decode() == name)
    nodes[at + 1][REPETITION] = (I32, 2)
    del nodes[at]
    for chunk in chunks(footer):
        path = chunk[PATH][1][1]
        path[:] = [part for part in path if part.decode() != name]
    rename(footer, **new)


def bare_list(footer: Struct) -> None:
    """Make the list of a required column a repeated column without any group."""
    drop(footer, "list")
    nodes = elements(footer)
    nodes.remove(next(each for each in nodes if each[NAME][1] == b"x"))
    for chunk in chunks(footer):
        chunk[PATH][1][1][:] = chunk[PATH][1][1][-1:]
    rename(footer, element="x")


def without_fields(footer: Struct) -> None:
    """Append a group that has no field, and so no column chunk."""
    nodes = elements(footer)
    nodes.append({REPETITION: (I32, 1), NAME: (BINARY, b"x"), CHILDREN: (I32, 0)})
    nodes[0][CHILDREN] = (I32, nodes[0][CHILDREN][1] + 1)


if __name__ == "__main__":
    main()
