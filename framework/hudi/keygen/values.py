"""Java's text of Arrow values: what `String.valueOf` gives in each of Apache Hudi's writers."""

from __future__ import annotations

from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from framework.errors import CorruptFileError

__all__ = ["day_text", "texts_of"]

# Days since 1970-01-01 of 0000-01-01 and 9999-12-31: between them four digits tell the year.
_FIRST_PLAIN_DAY: Final = -719528
_LAST_PLAIN_DAY: Final = 2932896
_DAYS_OF_400_YEARS: Final = 146097


def texts_of(values: pa.Array) -> pa.Array:
    """Return the Java text of each value as a string array; nulls stay null.

    Arrow prints integers, booleans, decimals (exponent below 0.000001 as `BigDecimal` has it) and
    four-digit years as Java does.

    Raises:
        CorruptFileError: `key/value-out-of-range` for more text than one array can hold.
    """
    kind = values.type
    if pa.types.is_dictionary(kind):
        return texts_of(values.dictionary_decode())
    if pa.types.is_date32(kind):
        return _day_texts(values)
    try:
        return values if pa.types.is_string(kind) else pc.cast(values, pa.string())
    except pa.ArrowInvalid as error:
        raise CorruptFileError(
            "key/value-out-of-range",
            f"key column of type {kind} cannot be shown as text: {error}",
            remedy="Hand over fewer rows at a time.",
        ) from error


def day_text(day: int) -> str:
    """Return `LocalDate.toString` of a day since 1970-01-01: `-0001-12-31`, `+10000-01-01`."""
    cycle, rest = divmod(day - _FIRST_PLAIN_DAY, _DAYS_OF_400_YEARS)
    plain = str(np.datetime64(rest + _FIRST_PLAIN_DAY, "D"))
    year = int(plain[:4]) + 400 * cycle
    sign = "-" if year < 0 else "+" if year > 9999 else ""  # noqa: PLR2004 - four digits
    return f"{sign}{abs(year):04d}{plain[4:]}"


def _day_texts(days: pa.Array) -> pa.Array:
    """Return the texts of days; years beyond four digits are printed one by one."""
    numbers = days.view(pa.int32())
    if not len(days) or days.null_count == len(days):
        return pa.nulls(len(days), pa.string())
    range_ = pc.min_max(numbers).as_py()
    if range_["min"] >= _FIRST_PLAIN_DAY and range_["max"] <= _LAST_PLAIN_DAY:
        return pc.cast(days, pa.string())
    encoded = numbers.dictionary_encode()
    labels = pa.array([day_text(day) for day in encoded.dictionary.to_pylist()], pa.string())
    return pc.take(labels, encoded.indices)
