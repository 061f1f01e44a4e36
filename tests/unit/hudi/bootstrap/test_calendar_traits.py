"""What a footer shows of the calendar of a file's days."""

from __future__ import annotations

import io
from collections.abc import Mapping
from datetime import date, datetime
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from framework.hudi.bootstrap.fingerprint import read_footer
from framework.hudi.table.calendar import GREGORIAN
from framework.vocabulary import SourceTrait
from tests.support.legacy import UTC_MARKS

LEGACY, EARLY = SourceTrait.LEGACY_CALENDAR, SourceTrait.EARLY_DAYS
DAY, MOMENT = pa.date32(), pa.timestamp("us", tz="UTC")
OLD = {"org.apache.spark.version": "2.4.8"}


def traits(
    columns: Mapping[str, pa.Array], pairs: Mapping[str, str], **options: Any
) -> dict[SourceTrait, str]:
    """Return the traits of a file with these columns and key-values that concern the calendar."""
    rows, sink = pa.table(dict(columns)), io.BytesIO()
    with pq.ParquetWriter(sink, rows.schema, store_schema=False, **options) as writer:
        writer.write_table(rows, row_group_size=1)
        writer.add_key_value_metadata(dict(pairs))
    found = read_footer(pa.BufferReader(sink.getvalue()), sink.tell(), "f").traits
    return {trait: column for trait, column in found.items() if trait in {LEGACY, EARLY}}


def days(*values: date | None) -> dict[str, pa.Array]:
    """Return columns of which the last has these days, deep in a list."""
    deep = pa.array([[{"d": value}] for value in values], pa.list_(pa.struct([("d", DAY)])))
    return {"n": pa.array([-(2**31)] * len(values), pa.int32()), "l": deep}


def moments(kind: pa.DataType, text: str) -> dict[str, pa.Array]:
    """Return a column with a moment."""
    return {"t": pa.array([datetime.fromisoformat(text), None], pa.timestamp("us")).cast(kind)}


@pytest.mark.parametrize("pairs", [UTC_MARKS, OLD])
def test_calendar_traits_of_a_file_in_the_old_calendar_name_a_column(
    pairs: Mapping[str, str],
) -> None:
    """By the marks alone, whatever the days are."""
    assert traits(days(date(2024, 1, 1)), pairs) == {LEGACY: "l.list.element.d"}
    assert traits({"n": pa.array([1])}, pairs) == {}
    int96 = {"use_deprecated_int96_timestamps": True}
    now = moments(pa.timestamp("us"), "2024-01-01")
    assert traits(now, pairs, **int96) == {LEGACY: "t"}
    only_days = {k: v for k, v in UTC_MARKS.items() if "INT96" not in k}
    assert traits(now, only_days, **int96) == {}


@pytest.mark.parametrize("pairs", [GREGORIAN, {"org.apache.spark.version": "3.5.8"}])
def test_calendar_traits_of_a_file_that_says_it_is_gregorian_are_none(
    pairs: Mapping[str, str],
) -> None:
    """Spark reads it with any settings."""
    assert traits(days(date(1000, 1, 1)), pairs) == {}


def test_calendar_traits_of_early_days_in_any_row_group_name_the_column() -> None:
    """One day is enough, and the first one that matters is 1582-10-14."""
    late, first = date(2024, 1, 1), date(1582, 10, 15)
    assert traits(days(late, first, None), {}) == {}
    assert traits(days(late, date(1582, 10, 14), first), {}) == {EARLY: "l.list.element.d"}
    assert traits(days(None), {}) == {}


@pytest.mark.parametrize("unit", ["ms", "us"])
def test_calendar_traits_of_early_moments_name_the_column(unit: Any) -> None:
    """Before 1900 in UTC; a timestamp without a time zone means the same in both calendars."""
    kind = pa.timestamp(unit, tz="UTC")
    assert traits(moments(kind, "1899-12-31T23:59:59.999"), {}) == {EARLY: "t"}
    assert traits(moments(kind, "1900-01-01"), {}) == {}
    assert traits(moments(pa.timestamp(unit), "1000-01-01"), {}) == {}
    assert traits(moments(kind, "1000-01-01"), {}, write_statistics=False) == {}
