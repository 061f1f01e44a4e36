"""Conversion of Parquet values written in Spark's old calendar, as Spark reads them (ADR 0017)."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache, partial
from importlib.resources import files
from typing import Any, Final, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from framework.errors import CorruptFileError, Where

__all__ = [
    "FIRST_SAFE_DAY",
    "FIRST_SAFE_SECOND",
    "GREGORIAN",
    "SPARK_FAILS_BEFORE",
    "LegacyCalendar",
    "LegacyZone",
    "gregorian_days",
    "is_marked",
    "legacy_marks",
    "legacy_zone",
]


FIRST_SAFE_DAY: Final = -141_427
"""1582-10-15: from this day on, days have the same number in both calendars."""

FIRST_SAFE_SECOND: Final = -1_800_000_000
"""In 1912: from here on, timestamps are equal in all zones."""

SPARK_FAILS_BEFORE: Final = -2_208_988_800
"""1900-01-01: Spark 3 refuses earlier timestamps in files that do not name their calendar."""

_DAY: Final = 86_400
_ZONES: Final = files(__package__).joinpath("legacy_zones.json")
# The form Java accepts besides its zone names; it treats anything else as GMT.
_OFFSET: Final = re.compile(r"GMT([+-])(\d{1,2})(?::?([0-5]\d))?")
_NO_JAVA_NAME: Final = re.compile(r"Z|(?:UTC|UT|GMT)?[+-][\d:]+")
_MOST_HOURS: Final = 23

_VERSION: Final = b"org.apache.spark.version"
_DATETIME: Final = b"org.apache.spark.legacyDateTime"
_INT96: Final = b"org.apache.spark.legacyINT96"
_ZONE: Final = b"org.apache.spark.timeZone"
_PER_SECOND: Final = {"s": 1, "ms": 1_000, "us": 1_000_000, "ns": 1_000_000_000}
GREGORIAN: Final[Mapping[str, str]] = {_VERSION.decode(): "3.1.0"}
"""The footer entry with which Spark 3, by default, reads early days unchanged.

It is the earliest version of Spark whose files are entirely Gregorian.
"""
_Rows = TypeVar("_Rows", pa.Table, pa.RecordBatch)


@dataclass(frozen=True, slots=True, kw_only=True)
class LegacyZone:
    """A time zone in Spark's old calendar.

    Attributes:
        offset: its offset from UTC before 1582-10-15, in seconds.
        starts: times in seconds since the epoch, ascending; the first is 1582-10-15.
        differences: seconds to add from each of `starts` on.
    """

    offset: int
    starts: np.ndarray
    differences: np.ndarray

    def gregorian(self, values: np.ndarray, per_second: int) -> np.ndarray:
        """Return timestamps, in units of `per_second` since the epoch, as Spark reads them."""
        seconds = values // per_second
        days = (seconds + self.offset) // _DAY
        early = (gregorian_days(days) - days) * _DAY + self.differences[0]
        at = np.searchsorted(self.starts, seconds, side="right") - 1
        late = self.differences[at.clip(min=0)]
        return np.asarray(values + np.where(at < 0, early, late) * per_second)


def gregorian_days(days: np.ndarray) -> np.ndarray:
    """Convert days since 1970-01-01 of the old calendar to Gregorian days of the same date.

    29 February in a year that is not a Gregorian leap year becomes 1 March. `days` is int64.
    """
    # Years that start in March, counted from -4800, so that leap days come last.
    years = (4 * (days + 2_472_670) + 3) // 1461 - 4800
    return np.where(days < FIRST_SAFE_DAY, days - (years // 100 - years // 400 - 2), days)


def legacy_zone(name: str) -> LegacyZone | None:
    """Return the time zone of the name that Spark wrote into a footer.

    Before the year 1, where Spark uses Java, the differences of that year apply. As in Java, a text
    that is not a zone name, such as `+02:00`, means GMT. None if it may be the name of a zone that
    is unknown here.
    """
    found = _zones().get(name)
    if found is None and (match := _OFFSET.fullmatch(name)) and int(match[2]) <= _MOST_HOURS:
        seconds = int(match[2]) * 3600 + int(match[3] or 0) * 60
        return _fixed(seconds if match[1] == "+" else -seconds)
    if found is None and _NO_JAVA_NAME.fullmatch(name):
        return _fixed(0)
    return found


def _fixed(offset: int) -> LegacyZone:
    """Return the zone with a constant offset from UTC, in seconds."""
    start = FIRST_SAFE_DAY * _DAY - offset
    return LegacyZone(offset=offset, starts=np.array([start]), differences=np.array([0]))


@cache
def _zones() -> Mapping[str, LegacyZone]:
    """Return Java's zones by name."""
    found = {}
    for offset, steps, names in json.loads(_ZONES.read_text(encoding="utf-8")):
        starts, differences = np.array(steps, np.int64).T
        zone = LegacyZone(offset=offset, starts=starts, differences=differences)
        found.update(dict.fromkeys(names, zone))
    return found


def is_marked(pairs: Mapping[bytes, bytes] | None) -> bool:
    """Return whether the key-values of a footer name the calendar of its days."""
    return _VERSION in (pairs or {})


def legacy_marks(pairs: Mapping[bytes, bytes] | None) -> tuple[bool, bool]:
    """Return whether days, and INT96 values, are in the old calendar, by Spark's rule."""
    found = pairs or {}
    version = found.get(_VERSION)
    if version is None:
        return False, False
    return version < b"3.0.0" or _DATETIME in found, version < b"3.1.0" or _INT96 in found


@dataclass(frozen=True, slots=True, kw_only=True)
class LegacyCalendar:
    """The columns of a file that hold days of the old calendar.

    Attributes:
        has_days: whether DATE and 64-bit TIMESTAMP with a time zone are.
        has_int96: whether INT96 is.
        zone: name of the time zone they were written in, None if the file does not name it.
        leaves: for each column of the file, whether its leaves are INT96, in order.
        file: for errors.
    """

    has_days: bool
    has_int96: bool
    zone: str | None
    leaves: Mapping[str, tuple[bool, ...]]
    file: str

    @classmethod
    def of(cls, parquet: pq.ParquetFile, file: str) -> LegacyCalendar | None:
        """Return the calendar of a file, None if all its days are Gregorian.

        Decides as Spark does. A file that does not name a Spark version is Gregorian, as the
        Parquet format specifies, although Spark uses a setting there.
        """
        pairs = parquet.metadata.metadata or {}
        has_days, has_int96 = legacy_marks(pairs)
        if not (has_days or has_int96):
            return None
        zone = pairs.get(_ZONE)
        return cls(
            has_days=has_days,
            has_int96=has_int96,
            zone=None if zone is None else zone.decode(),
            leaves=_leaves(parquet),
            file=file,
        )

    def gregorian(self, rows: _Rows) -> _Rows:
        """Return rows of some of the file's columns with Gregorian days.

        Raises:
            CorruptFileError: `file/time-zone-unknown`.
        """
        for at, field in enumerate(rows.schema):
            column = rows.column(at)
            changed = self._column(column, self.leaves[field.name])
            if changed is not column:
                rows = rows.set_column(at, field, changed)
        return rows

    def _column(self, column: Any, leaves: tuple[bool, ...]) -> Any:
        """Return one column; the same object if nothing changes."""
        if not _has_days(column.type):
            return column
        if isinstance(column, pa.ChunkedArray):
            chunks = [self._array(chunk, iter(leaves)) for chunk in column.chunks]
            return pa.chunked_array(chunks, column.type)
        return self._array(column, iter(leaves))

    def _array(self, array: Any, leaves: Iterator[bool]) -> Any:
        """Return an array, consuming its `leaves`."""
        kind = array.type
        if pa.types.is_struct(kind):
            fields = range(kind.num_fields)
            children = [self._array(array.field(at), leaves) for at in fields]
            mask = array.is_null() if array.null_count else None
            return pa.StructArray.from_arrays(children, fields=[*kind], mask=mask)
        if pa.types.is_nested(kind):  # a list or a map keeps its own buffers
            own = 1 if pa.types.is_fixed_size_list(kind) else 2
            values = self._array(array.values, leaves)
            return pa.Array.from_buffers(
                kind, len(array), array.buffers()[:own], offset=array.offset, children=[values]
            )
        return self._leaf(array, is_int96=next(leaves))

    def _leaf(self, array: Any, *, is_int96: bool) -> Any:
        kind = array.type
        if pa.types.is_date32(kind) and self.has_days:
            return _mapped(array, pa.int32(), FIRST_SAFE_DAY, gregorian_days)
        if not pa.types.is_timestamp(kind):
            return array
        if (is_int96 and self.has_int96) or (not is_int96 and kind.tz and self.has_days):
            per_second = _PER_SECOND[kind.unit]
            moments = partial(self._moments, per_second=per_second)
            return _mapped(array, pa.int64(), FIRST_SAFE_SECOND * per_second, moments)
        return array

    def _moments(self, values: np.ndarray, per_second: int) -> np.ndarray:
        """Convert timestamps, some of them early enough for the time zone to matter."""
        zone = None if self.zone is None else legacy_zone(self.zone)
        if zone is None:
            unknown = "does not name its time zone" if self.zone is None else "names a zone"
            raise CorruptFileError(
                "file/time-zone-unknown",
                f"Spark wrote timestamps before 1912 in its old calendar, and the file {unknown}"
                + (f" that is unknown: '{self.zone}'" if self.zone else ""),
                where=Where(file=self.file),
                remedy="Read the file with Spark in the time zone of the machine that wrote it, and"
                " write it again with spark.sql.parquet.datetimeRebaseModeInWrite=CORRECTED and"
                " int96RebaseModeInWrite=CORRECTED.",
            )
        return zone.gregorian(values, per_second)


def _mapped(
    array: Any, plain: pa.DataType, safe: int, change: Callable[[np.ndarray], np.ndarray]
) -> Any:
    """Return an array with its values before `safe` changed; `plain` is their storage type."""
    nulls = array.is_null().to_numpy(zero_copy_only=False)
    values = array.view(plain).fill_null(0).to_numpy(zero_copy_only=False).astype(np.int64)
    early = values < safe
    if not early.any():
        return array
    values = values.copy()
    values[early] = change(values[early])
    return pa.array(values, pa.int64(), mask=nulls).cast(plain).view(array.type)


def _has_days(kind: pa.DataType) -> bool:
    """Return whether a column of this type can hold a date or timestamp."""
    if isinstance(kind, pa.BaseExtensionType):
        return False
    if pa.types.is_nested(kind):
        return any(_has_days(kind.field(at).type) for at in range(kind.num_fields))
    return bool(pa.types.is_date32(kind) or pa.types.is_timestamp(kind))


def _leaves(parquet: pq.ParquetFile) -> dict[str, tuple[bool, ...]]:
    """Return, for each column of a file, whether its leaves are INT96."""
    schema = parquet.metadata.schema
    kinds = (schema.column(at).physical_type == "INT96" for at in range(len(schema)))
    fields = parquet.schema_arrow
    return {f.name: tuple(next(kinds) for _ in range(_count(f.type))) for f in fields}


def _count(kind: pa.DataType) -> int:
    """Return the number of leaves of a type."""
    if isinstance(kind, pa.BaseExtensionType):
        return _count(kind.storage_type)
    if pa.types.is_nested(kind):
        return sum(_count(kind.field(at).type) for at in range(kind.num_fields))
    return 1
