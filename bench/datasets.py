"""The source data sets of the benches: hive-partitioned Parquet, snappy, created once.

The partition column is only in the path, as in most lakes.
`python bench/datasets.py --sets lineitem,wide,many --scale 1` creates them ahead of time.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pyarrow import feather

__all__ = ["DataSet", "data_set", "prepare"]

YEARS = range(1992, 1999)
FILES_PER_YEAR = 10
WIDE_FILES, WIDE_ROWS, WIDE_REGIONS = 64, 39_062, 8
MANY_PARTITIONS, MANY_FILES, MANY_ROWS = 3_500, 3, 200
GROUPS_IN_ALL, FIRST_DAY = 250_000, date(2015, 1, 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class DataSet:
    """One source data set; `partition_type` is the type declared in specs."""

    name: str
    path: Path
    keys: tuple[str, ...]
    partition: str
    partition_type: str
    measure: str
    point: Mapping[str, int]

    def facts(self) -> dict[str, Any]:
        """Return the arguments of a side's bootstrap, as JSON-able data."""
        return {
            "source": str(self.path.resolve()),
            "keys": list(self.keys),
            "partition": self.partition,
            "partition_type": self.partition_type,
            "rows_per_file": pq.read_metadata(self.files[0]).num_rows,
        }

    @property
    def files(self) -> list[Path]:
        """The Parquet files, sorted."""
        return sorted(self.path.rglob("*.parquet"))


def data_set(name: str, *, scale: int, data_dir: Path) -> DataSet:
    """Describe a set: `lineitem` at a scale, `wide`, `many`, `tiny-<files>` or `groups-<files>`."""
    if name == "lineitem":
        return DataSet(
            name=f"lineitem-sf{scale}",
            path=data_dir / f"lineitem-sf{scale}",
            keys=("l_orderkey", "l_linenumber"),
            partition="ship_year",
            partition_type="int",
            measure="l_quantity",
            point={"l_orderkey": 3_000_000, "l_linenumber": 1},
        )
    if name.startswith("tiny-"):
        return DataSet(
            name=name,
            path=data_dir / name,
            keys=("id",),
            partition="bucket",
            partition_type="int",
            measure="d0",
            point={"id": 42},
        )
    kinds = {"wide": ("region", "int"), "many": ("day", "date"), "groups": ("day", "date")}
    partition, kind = kinds[name.partition("-")[0]]
    return DataSet(
        name=name,
        path=data_dir / name,
        keys=("id",),
        partition=partition,
        partition_type=kind,
        measure="d0",
        point={"id": 1_234_567},
    )


def prepare(name: str, *, scale: int, data_dir: Path) -> DataSet:
    """Return a data set, creating it if it is missing."""
    described = data_set(name, scale=scale, data_dir=data_dir)
    if not described.path.is_dir():
        unfinished = described.path.with_name(f"{described.path.name}.unfinished")
        shutil.rmtree(unfinished, ignore_errors=True)
        unfinished.mkdir(parents=True)
        MAKERS[name.partition("-")[0]](unfinished, int(name.partition("-")[2] or scale))
        unfinished.rename(described.path)
    return described


def _make_lineitem(path: Path, scale: int) -> None:
    """Write lineitem by the year of `l_shipdate`, in the order of generation."""
    raw = path.with_name(f"{path.name}.raw")
    shutil.rmtree(raw, ignore_errors=True)
    command = ["parquet", "-s", str(scale), "-T", "lineitem", "-p", str(4 * scale)]
    generator = Path(sys.executable).with_name("tpchgen-cli")
    subprocess.run([str(generator), *command, "-o", str(raw)], check=True, stdout=sys.stderr)
    parts = sorted(raw.rglob("*.parquet"), key=lambda part: int(part.stem.split(".")[-1]))
    _partition_lineitem(parts, path)
    shutil.rmtree(raw)


def _partition_lineitem(parts: Sequence[Path], path: Path) -> None:
    """Split each part's rows by year, then each year into ten even files."""
    for part in parts:
        _spill_years(part)
    for year in YEARS:
        spilled = [feather.read_table(part.with_suffix(f".{year}")) for part in parts]
        rows = pa.concat_tables(spilled)
        folder = path / f"ship_year={year}"
        folder.mkdir()
        step = -(-rows.num_rows // FILES_PER_YEAR)
        for place in range(FILES_PER_YEAR):
            _write(rows.slice(place * step, step), folder / f"part-{place:05d}.parquet")


def _spill_years(part: Path) -> None:
    """Write one file beside `part` for each year of its rows."""
    read = pq.read_table(part)
    texts = {pa.string_view(): pa.string()}
    plain = pa.schema([(field.name, texts.get(field.type, field.type)) for field in read.schema])
    rows = read.cast(plain)
    years = pc.year(rows["l_shipdate"])
    for year in YEARS:
        spilled = rows.filter(pc.equal(years, year))
        feather.write_feather(spilled, part.with_suffix(f".{year}"), compression="uncompressed")


def _make_wide(path: Path, scale: int) -> None:
    """Write about 2.5 million rows of 52 columns in 64 files, `id` increasing."""
    del scale
    random = np.random.default_rng(7)
    for number in range(WIDE_FILES):
        folder = path / f"region={number * WIDE_REGIONS // WIDE_FILES}"
        folder.mkdir(exist_ok=True)
        rows = _wide_rows(random, number * WIDE_ROWS)
        _write(rows, folder / f"part-{number:05d}.parquet")


def _wide_rows(random: np.random.Generator, first: int) -> pa.Table:
    """Return one file's rows: an id, 15 doubles, 15 integers, 15 texts, dates, times, flags."""
    columns: dict[str, pa.Array] = {"id": pa.array(np.arange(first, first + WIDE_ROWS))}
    words = pa.array([f"word-{number:04d}" for number in range(5_000)])
    for place in range(15):
        columns[f"d{place}"] = pa.array(np.round(random.normal(100, 30, WIDE_ROWS), 4))
        columns[f"i{place}"] = pa.array(random.integers(0, 10 ** (2 + place % 6), WIDE_ROWS))
        columns[f"s{place}"] = words.take(pa.array(random.integers(0, 5_000, WIDE_ROWS)))
    days = pa.array(random.integers(10_000, 20_000, WIDE_ROWS).astype("int32"))
    columns["day"] = days.cast(pa.date32())
    instants = pa.array(random.integers(10**15, 2 * 10**15, WIDE_ROWS))
    columns["at"] = instants.cast(pa.timestamp("us", tz="UTC"))
    for place in range(4):
        columns[f"f{place}"] = pa.array(random.integers(0, 2, WIDE_ROWS).astype(bool))
    return pa.table(columns)


def _make_many(path: Path, scale: int) -> None:
    """Write 3,500 daily partitions of three files with 200 rows each."""
    del scale
    random = np.random.default_rng(11)
    for place in range(MANY_PARTITIONS):
        folder = path / f"day={FIRST_DAY + timedelta(days=place)}"
        folder.mkdir()
        for number in range(MANY_FILES):
            start = (place * MANY_FILES + number) * MANY_ROWS
            _write(_small_rows(random, start), folder / f"part-{number:05d}.parquet")


def _make_tiny(path: Path, files: int) -> None:
    """Write files of one row, 100 to a partition."""
    for number in range(files):
        folder = path / f"bucket={number // 100}"
        folder.mkdir(exist_ok=True)
        _write(_one_row(number), folder / f"part-{number:06d}.parquet")


def _make_groups(path: Path, files: int) -> None:
    """Write files of one row, evenly over daily partitions: 3,500 for 250,000 files."""
    days = max(1, files * MANY_PARTITIONS // GROUPS_IN_ALL)
    for number in range(files):
        folder = path / f"day={FIRST_DAY + timedelta(days=number * days // files)}"
        folder.mkdir(exist_ok=True)
        _write(_one_row(number), folder / f"part-{number:06d}.parquet")


def _one_row(number: int) -> pa.Table:
    return pa.table({"id": [number], "d0": [float(number)], "s0": [f"name-{number % 997}"]})


def _small_rows(random: np.random.Generator, first: int) -> pa.Table:
    """Return 200 rows with a few ordinary columns."""
    ids = np.arange(first, first + MANY_ROWS)
    return pa.table(
        {
            "id": ids,
            "d0": np.round(random.normal(100, 30, MANY_ROWS), 4),
            "i0": random.integers(0, 1_000, MANY_ROWS),
            "s0": [f"name-{number % 997}" for number in ids],
        }
    )


def _write(rows: pa.Table, path: Path) -> None:
    """Write one file as Spark would: snappy, timestamps in microseconds, no Arrow schema."""
    pq.write_table(rows, path, compression="snappy", store_schema=False)


MAKERS: Mapping[str, Callable[[Path, int], None]] = {
    "lineitem": _make_lineitem,
    "wide": _make_wide,
    "many": _make_many,
    "tiny": _make_tiny,
    "groups": _make_groups,
}


def main() -> None:
    """Create the sets named on the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sets", default="lineitem,wide,many")
    parser.add_argument("--scale", type=int, default=1)
    parser.add_argument("--data", type=Path, default=Path(__file__).with_name("data"))
    options = parser.parse_args()
    for name in options.sets.split(","):
        made = prepare(name, scale=options.scale, data_dir=options.data)
        size = sum(path.stat().st_size for path in made.files)
        print(f"{made.path}: {len(made.files)} files, {size / 1e6:.1f} MB")


if __name__ == "__main__":
    main()
