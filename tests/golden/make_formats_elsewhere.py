"""Make the files of `formats/` that DuckDB and polars write; see `make_formats.py`.

.venv-rivals/bin/python tests/golden/make_formats_elsewhere.py
"""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from importlib import import_module
from pathlib import Path

FOLDER = Path(__file__).with_name("formats")
ROWS = 6
DUCKDB = {
    "plain": ("", ""),
    "interval": (", to_months(range::INT) AS x", ""),
    "variant": (", range::VARIANT AS x", ""),
    "uuid": (", '00000000-0000-0000-0000-000000000001'::UUID AS x", ""),
    "json": (", '{}'::JSON AS x", ""),
    "enum": (", 'a'::ENUM('a', 'b') AS x", ""),
    "timetz": (", '01:02:03+01'::TIMETZ AS x", ""),
    "hugeint": (", range::HUGEINT AS x", ""),
    "bit": (", '101'::BIT AS x", ""),
    "decimal": (", (range + 0.25)::DECIMAL(30, 2) AS x", ""),
    "map": (", MAP {1: 'a'} AS x", ""),
    "geometry": (", 'POINT(1 2)'::GEOMETRY AS x", ""),
    "v2": (", (range * 1.5)::DOUBLE AS x", ", PARQUET_VERSION v2"),
    "brotli": ("", ", COMPRESSION brotli"),
    "lz4": ("", ", COMPRESSION lz4"),
}


def with_duckdb() -> None:
    """Write DuckDB's forms of types and codecs."""
    duckdb = import_module("duckdb")
    for name, (column, options) in DUCKDB.items():
        file = FOLDER / f"duckdb-{name}.parquet"
        rows = f"SELECT range AS id, 'text ' || (range % 3) AS v{column} FROM range({ROWS})"  # noqa: S608 - our words
        duckdb.sql(f"COPY ({rows}) TO '{file}' (FORMAT parquet{options})")


def with_polars() -> None:
    """Write polars' forms."""
    pl = import_module("polars")
    base = pl.DataFrame({"id": range(ROWS), "v": [f"text {n % 3}" for n in range(ROWS)]})
    columns = {
        "categorical": pl.Series("x", ["a", "b", "a", "b", "a", None], pl.Categorical),
        "duration": pl.Series("x", [dt.timedelta(seconds=n) for n in range(ROWS)]),
        "time": pl.Series("x", [dt.time(1, 2, 3)] * ROWS),
        "int128": pl.Series("x", range(ROWS), pl.Int128),
        "array": pl.Series("x", [[1, 2]] * ROWS, pl.Array(pl.Int32, 2)),
        "uint64": pl.Series("x", range(ROWS), pl.UInt64),
        "decimal": pl.Series("x", [Decimal("1.25")] * ROWS, pl.Decimal(30, 2)),
    }
    for name, series in columns.items():
        base.with_columns(series).write_parquet(FOLDER / f"polars-{name}.parquet")
    for codec in ("brotli", "lz4", "zstd"):
        base.write_parquet(FOLDER / f"polars-{codec}.parquet", compression=codec)


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    with_duckdb()
    with_polars()
