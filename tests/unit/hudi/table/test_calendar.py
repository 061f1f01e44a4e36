"""Rows of files that Spark wrote in its old calendar come out with the dates that were meant."""

from __future__ import annotations

import io
from collections.abc import Mapping
from datetime import UTC, date, datetime, timedelta
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from framework.errors import CorruptFileError
from framework.hudi.table.calendar import GREGORIAN, LegacyCalendar, is_marked

EPOCH = date(1970, 1, 1)
LEGACY = {
    "org.apache.spark.version": "3.5.8",
    "org.apache.spark.legacyDateTime": "",
    "org.apache.spark.legacyINT96": "",
    "org.apache.spark.timeZone": "UTC",
}
JULIAN = date(1000, 3, 5)  # how the number of 1000-02-28 in the old calendar looks in the new one
MEANT = date(1000, 2, 28)
LATE = date(2024, 2, 29)


def read(rows: pa.Table, pairs: Mapping[str, str], *, groups: int = 8, int96: bool = False) -> Any:
    """Return rows after they were written with key-values and read as source files are."""
    sink = io.BytesIO()
    with pq.ParquetWriter(
        sink, rows.schema, store_schema=False, use_deprecated_int96_timestamps=int96
    ) as writer:
        writer.write_table(rows, row_group_size=groups)
        writer.add_key_value_metadata(dict(pairs))
    parquet = pq.ParquetFile(sink, coerce_int96_timestamp_unit="us")
    calendar = LegacyCalendar.of(parquet, "f.parquet")
    found = parquet.read()
    return found if calendar is None else calendar.gregorian(found)


def of_days(kind: pa.DataType, *days: date | None) -> pa.Array:
    """Return days as an array of dates, or of noons."""
    if pa.types.is_date(kind):
        return pa.array(days, kind)
    noons = [None if d is None else datetime(d.year, d.month, d.day, 12, tzinfo=UTC) for d in days]
    return pa.array(noons, pa.timestamp("us", tz="UTC")).cast(kind)


KINDS = [pa.date32(), pa.timestamp("us", tz="UTC"), pa.timestamp("ms", tz="UTC")]


@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_gregorian_of_flat_columns_keeps_the_date(kind: pa.DataType) -> None:
    """1000-02-28 stays what it is, nulls and late days beside it too."""
    rows = pa.table({"d": of_days(kind, JULIAN, None, LATE), "n": [1, 2, 3]})
    found = read(rows, LEGACY)
    assert found["d"].cast(pa.date32()).to_pylist() == [MEANT, None, LATE]
    assert found.schema.equals(rows.schema)
    assert found["n"].to_pylist() == [1, 2, 3]


def test_gregorian_of_int96_goes_by_its_own_mark() -> None:
    """INT96 follows `legacyINT96`, or a version before 3.1, and nothing else."""
    rows = pa.table({"t": of_days(pa.timestamp("us"), JULIAN)})
    no_days = {k: v for k, v in LEGACY.items() if "DateTime" not in k}
    old = {"org.apache.spark.version": "3.0.3", "org.apache.spark.timeZone": "UTC"}
    only_days = {k: v for k, v in LEGACY.items() if "INT96" not in k}
    for pairs, meant in ((LEGACY, MEANT), (no_days, MEANT), (old, MEANT), (only_days, JULIAN)):
        found = read(rows, pairs, int96=True)
        assert found["t"].cast(pa.date32()).to_pylist() == [meant]


def test_gregorian_of_int64_beside_int96_goes_by_its_own_mark() -> None:
    """A file marked for INT96 alone keeps its dates, and the other way round."""
    rows = pa.table({"d": of_days(pa.date32(), JULIAN)})
    pairs = {k: v for k, v in LEGACY.items() if "DateTime" not in k}
    assert read(rows, pairs)["d"].to_pylist() == [JULIAN]


@pytest.mark.parametrize(
    "pairs",
    [
        {},
        {"org.apache.spark.legacyDateTime": "", "org.apache.spark.timeZone": "UTC"},
        {"org.apache.spark.version": "3.5.8", "org.apache.spark.timeZone": "UTC"},
        GREGORIAN,
    ],
    ids=["no-spark", "no-version", "spark-3.5", "ours"],
)
def test_gregorian_of_a_file_without_marks_changes_nothing(pairs: Mapping[str, str]) -> None:
    """As in Spark the version decides whether the other keys are looked at."""
    rows = pa.table({"d": of_days(pa.date32(), JULIAN)})
    assert read(rows, pairs)["d"].to_pylist() == [JULIAN]


def test_gregorian_of_a_timestamp_without_zone_changes_nothing() -> None:
    """Spark has no files of such columns from before its new calendar."""
    rows = pa.table({"t": of_days(pa.timestamp("us"), JULIAN)})
    assert read(rows, LEGACY)["t"].cast(pa.date32()).to_pylist() == [JULIAN]


@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_gregorian_of_nested_columns_keeps_the_date(kind: pa.DataType) -> None:
    """Structs, lists, maps and what is in them, with nulls at each depth."""
    (early, late), (meant, _) = (of_days(kind, d, LATE).to_pylist() for d in (JULIAN, MEANT))
    inner = pa.struct([pa.field("n", pa.int32()), pa.field("d", kind)])
    columns = {
        "s": pa.array([{"n": 1, "d": early}, None, {"n": 2, "d": None}], inner),
        "l": pa.array([[early, late, None], None, []], pa.list_(kind)),
        "m": pa.array([[(early, early)], None, [(late, None)]], pa.map_(kind, kind)),
        "ls": pa.array([[{"n": 1, "d": early}, None], [], None], pa.list_(inner)),
        "ll": pa.array([[[early], None], [[]], None], pa.list_(pa.list_(kind))),
        "x": pa.array(["a", "b", "c"]),
    }
    rows = pa.table(columns)
    found = read(rows, LEGACY)
    said = repr(found.to_pylist())
    assert said == repr(rows.to_pylist()).replace(repr(early), repr(meant))
    assert repr(meant) in said


def test_gregorian_of_a_slice_of_rows_keeps_the_date() -> None:
    """Batches that begin in the middle of their arrays come out as the rows they are."""
    kind = pa.date32()
    days = [JULIAN + timedelta(days=n) for n in range(6)]
    rows = pa.table({"l": pa.array([[d, None] for d in days], pa.list_(kind)), "d": days})
    sink = io.BytesIO()
    with pq.ParquetWriter(sink, rows.schema, store_schema=False) as writer:
        writer.write_table(rows)
        writer.add_key_value_metadata(LEGACY)
    parquet = pq.ParquetFile(sink)
    calendar = LegacyCalendar.of(parquet, "f.parquet")
    assert calendar is not None
    whole = calendar.gregorian(parquet.read())
    batches = parquet.read().slice(2, 3).to_batches()
    found = pa.Table.from_batches([calendar.gregorian(batch) for batch in batches])
    assert found.to_pylist() == whole.to_pylist()[2:5]
    assert whole["d"][0].as_py() == MEANT


@pytest.mark.parametrize("zone", [None, "Mars/Olympus"])
def test_gregorian_of_early_timestamps_in_an_unknown_zone_is_refused(zone: str | None) -> None:
    """Where the answer would depend on the machine, there is an error; days do not need a zone."""
    pairs = {k: v for k, v in LEGACY.items() if "timeZone" not in k}
    pairs |= {} if zone is None else {"org.apache.spark.timeZone": zone}
    late = pa.table({"t": of_days(KINDS[1], LATE), "d": of_days(KINDS[0], JULIAN)})
    assert read(late, pairs)["d"].to_pylist() == [MEANT]
    with pytest.raises(CorruptFileError) as caught:
        read(pa.table({"t": of_days(KINDS[1], JULIAN)}), pairs)
    assert caught.value.condition == "file/time-zone-unknown"
    assert caught.value.where.file == "f.parquet"


def test_is_marked_of_files_of_spark_and_of_ours_is_true() -> None:
    """Other files leave it to a setting of Spark in which calendar they are."""
    for pairs, marked in (({}, False), (LEGACY, True), (dict(GREGORIAN), True)):
        sink = io.BytesIO()
        with pq.ParquetWriter(sink, pa.schema([("a", pa.int32())])) as writer:
            writer.add_key_value_metadata(pairs)
        assert is_marked(pq.read_metadata(sink).metadata) is marked
