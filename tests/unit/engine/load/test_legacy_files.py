"""Files in Spark's old calendar: adopted and loaded, every row keeps the date that was meant."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from framework.hudi.table.calendar import GREGORIAN
from tests.support.legacy import JULIAN, LATE, MEANT, UTC_MARKS, write_legacy
from tests.support.writing import rows_of, run_spec

MODES = ["metadata_only", "full_record"]
MOMENT = pa.timestamp("us", tz="UTC")


@dataclass(frozen=True, kw_only=True)
class Archive:
    """A table that is adopted from old files and loaded from others."""

    folder: Path
    mode: str
    key: str = "id"
    partition: str | None = None

    @property
    def location(self) -> Path:
        """The table's."""
        return self.folder / "table"

    def table(self) -> dict[str, Any]:
        """Return the section of the table."""
        parts = {"partition_by": {self.partition: "date"}} if self.partition else {}
        return {
            "name": "a.old",
            "location": str(self.location),
            "record_key": {"columns": [self.key], "unique_within": "table"},
            "ordering": "commit_time",
            **parts,
        }

    def adopt(self) -> None:
        """Adopt what is in `source`."""
        layout = "hive" if self.partition else "none"
        source = str(self.folder / "source")
        bootstrap = {"path": source, "layout": layout, "mode": self.mode}
        run_spec({"version": 1, "table": self.table(), "bootstrap": bootstrap}, self.folder)

    def upsert(self) -> None:
        """Load what is in `landing`."""
        loading = {"source": {"path": str(self.folder / "landing")}}
        write = {"write": {"operation": "upsert"}}
        run_spec({"version": 1, "table": self.table(), **loading, **write}, self.folder)

    def rows(self) -> list[dict[str, Any]]:
        """Return the rows by id, without meta columns but the key."""
        found = sorted(rows_of(str(self.location)), key=lambda row: row["id"])
        kept = "_hoodie_record_key"
        return [{k: v for k, v in r.items() if k == kept or k[0] != "_"} for r in found]

    def newest(self) -> Path:
        """Return the base file that was written last."""
        found = self.location.rglob("*.parquet")
        return max(found, key=lambda path: path.stem.rpartition("_")[2])


def at_noon(day: date) -> datetime:
    """Return noon of a day in UTC."""
    return datetime(day.year, day.month, day.day, 12, tzinfo=UTC)


def a_row(number: int, day: date) -> dict[str, Any]:
    """Return a row that has a day at every depth."""
    inner = {"d": day, "at": at_noon(day)}
    return {"id": number, "d": day, "at": at_noon(day), "s": inner, "l": [inner, None]}


def of_days(*days: date) -> pa.Table:
    """Return rows with these days, numbered from 0."""
    inner = pa.struct([("d", pa.date32()), ("at", MOMENT)])
    plain = [("id", pa.int64()), ("d", pa.date32()), ("at", MOMENT)]
    schema = pa.schema([*plain, ("s", inner), ("l", pa.list_(inner))])
    return pa.Table.from_pylist([a_row(n, day) for n, day in enumerate(days)], schema)


def without_keys(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return rows without their keys."""
    return [{k: v for k, v in row.items() if k != "_hoodie_record_key"} for row in rows]


@pytest.mark.parametrize("mode", MODES)
def test_table_of_legacy_files_before_and_after_upserts_has_the_dates_meant(
    tmp_path: Path, mode: str
) -> None:
    """Rows that upserts leave alone stay, those that they bring from such files are right."""
    archive = Archive(folder=tmp_path, mode=mode)
    write_legacy(tmp_path / "source" / "a.parquet", of_days(JULIAN, JULIAN, LATE))
    archive.adopt()
    assert without_keys(archive.rows()) == [a_row(0, MEANT), a_row(1, MEANT), a_row(2, LATE)]
    write_legacy(tmp_path / "landing" / "1.parquet", of_days(JULIAN).set_column(0, "id", [[1]]))
    archive.upsert()
    archive.upsert()
    assert without_keys(archive.rows()) == [a_row(0, MEANT), a_row(1, MEANT), a_row(2, LATE)]
    pq.write_table(of_days(JULIAN).set_column(0, "id", [[2]]), tmp_path / "landing" / "2.parquet")
    archive.upsert()
    assert without_keys(archive.rows()) == [a_row(0, MEANT), a_row(1, MEANT), a_row(2, JULIAN)]
    assert GREGORIAN.items() <= footer(archive.newest()).items()


@pytest.mark.parametrize("mode", MODES)
def test_int96_of_legacy_files_keeps_its_date(tmp_path: Path, mode: str) -> None:
    """Timestamps in 96 bits are rebased by their own mark."""
    archive = Archive(folder=tmp_path, mode=mode)
    moments = pa.array([at_noon(JULIAN).replace(tzinfo=None)] * 2, pa.timestamp("us"))
    rows = pa.table({"id": [0, 1], "t": moments})
    marks = {k: v for k, v in UTC_MARKS.items() if "DateTime" not in k}
    write_legacy(tmp_path / "source" / "a.parquet", rows, marks, int96=True)
    archive.adopt()
    pq.write_table(
        pa.table({"id": [1], "t": pa.array([at_noon(LATE)], MOMENT)}),
        landing := tmp_path / "landing.parquet",
    )
    (tmp_path / "landing").mkdir()
    landing.rename(tmp_path / "landing" / "1.parquet")
    archive.upsert()
    assert [row["t"] for row in archive.rows()] == [at_noon(MEANT), at_noon(LATE)]


@pytest.mark.parametrize("mode", MODES)
def test_key_of_a_legacy_date_is_made_of_the_date_meant(tmp_path: Path, mode: str) -> None:
    """The same day in a file of the new calendar finds the row."""
    archive = Archive(folder=tmp_path, mode=mode, key="d")
    write_legacy(tmp_path / "source" / "a.parquet", of_days(JULIAN, LATE))
    archive.adopt()
    before = [row["_hoodie_record_key"] for row in archive.rows()]
    assert before == [str(MEANT), str(LATE)]
    (tmp_path / "landing").mkdir()
    pq.write_table(of_days(MEANT).set_column(0, "id", [[7]]), tmp_path / "landing" / "1.parquet")
    archive.upsert()
    assert [(row["id"], row["d"]) for row in archive.rows()] == [(1, LATE), (7, MEANT)]


@pytest.mark.parametrize("mode", MODES)
def test_partition_column_of_legacy_dates_is_compared_by_the_date_meant(
    tmp_path: Path, mode: str
) -> None:
    """A file that also has its folder's day has it in its own calendar; loads find the folder."""
    archive = Archive(folder=tmp_path, mode=mode, partition="d")
    rows = of_days(JULIAN, JULIAN)
    write_legacy(tmp_path / "source" / f"d={MEANT}" / "a.parquet", rows)
    archive.adopt()
    write_legacy(tmp_path / "landing" / "1.parquet", of_days(JULIAN).set_column(0, "id", [[2]]))
    archive.upsert()
    assert [row["d"] for row in archive.rows()] == [MEANT] * 3
    assert [path.name for path in archive.location.glob("d=*")] == [f"d={MEANT}"]


def test_upsert_of_a_base_file_that_is_marked_legacy_writes_it_whole(tmp_path: Path) -> None:
    """Column chunks of a base file by another writer in the old calendar are not taken over."""
    archive, plain = Archive(folder=tmp_path, mode="full_record"), ["id", "d"]
    write_legacy(tmp_path / "source" / "a.parquet", of_days(MEANT, MEANT, LATE).select(plain), {})
    archive.adopt()
    base = archive.newest()
    remarked(base)
    assert archive.rows()[0]["d"] != MEANT
    before = archive.rows()
    (tmp_path / "landing").mkdir()
    more = of_days(LATE).set_column(0, "id", [[2]]).select(plain)
    pq.write_table(more, tmp_path / "landing" / "1.parquet")
    archive.upsert()
    assert archive.newest() != base
    assert archive.rows() == before


def footer(path: Path) -> dict[str, str]:
    """Return the key-values of a file."""
    found = pq.read_metadata(path).metadata or {}
    return {key.decode(): value.decode() for key, value in found.items()}


def remarked(path: Path) -> None:
    """Have a base file's footer say that its days are of the old calendar; its size stays.

    It is another writer's then, so its seal gets another name.
    """
    data = path.read_bytes()
    version = GREGORIAN["org.apache.spark.version"].encode()
    assert data.count(version) == 1
    path.write_bytes(data.replace(version, b"2.4.0").replace(b"lakestrap.seal", b"another.entry."))
    assert footer(path)["org.apache.spark.version"] == "2.4.0"
