"""A few bad rows, for people."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np
from pyspark.sql.functions import col, expr, lit

from framework.engine.results import REDACTED, FailedRow
from framework.hudi.table.layout import META_COLUMNS, MetaField
from framework.spark.checking.predicates import bad_sql
from framework.spark.reading.adopted import FILE, ROW
from framework.spark.reading.columns import quoted
from framework.spark.reading.jvm import Jvm

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from pyspark.sql import DataFrame, Row

    from framework.plan.quality.model import Check
    from framework.spark.checking.places import Placed

__all__ = ["bad_rows", "place_in_source", "query_rows"]

_COLUMNS: Final = 12
_TEXT: Final = 200
_NAMED: Final = (
    MetaField.RECORD_KEY.value,
    MetaField.PARTITION_PATH.value,
    MetaField.FILE_NAME.value,
)


def bad_rows(
    placed: Placed, check: Check, limit: int, redacted: Collection[str]
) -> tuple[FailedRow, ...]:
    """Return at most `limit` rows that fail a predicate, with the columns that it names.

    Takes the jobs that Spark needs for so many rows.
    """
    if limit < 1:
        return ()
    frame = placed.frame
    jvm = Jvm(frame.sparkSession)
    with jvm.speaking():
        is_bad = expr(bad_sql(check))
    bad = frame.where(is_bad)
    mentioned = jvm.mentioned(frame.select(is_bad))
    names = [name for name in frame.columns if name in set(mentioned) - {FILE, ROW}]
    shown = names[:_COLUMNS]
    texts = [expr(f"cast({name} as string)") for name in quoted(shown)]
    meta = [col(name) if name in frame.columns else lit(None).alias(name) for name in _NAMED]
    rows = bad.select(*meta, col(FILE), col(ROW), *texts).limit(limit).collect()
    return tuple(_row(each, shown, placed, redacted) for each in rows)


def query_rows(frame: DataFrame, limit: int, redacted: Collection[str]) -> tuple[FailedRow, ...]:
    """Return at most `limit` rows of a query, with their first columns."""
    if limit < 1:
        return ()
    chosen = [name for name in dict.fromkeys(frame.columns) if name not in META_COLUMNS][:_COLUMNS]
    names = chosen or frame.columns[:_COLUMNS]
    numbered = frame.toDF(*(f"c{at}" for at in range(len(frame.columns))))
    places = [frame.columns.index(name) for name in names]
    rows = numbered.select(*(expr(f"cast(c{at} as string)") for at in places)).limit(limit)
    return tuple(FailedRow(values=_values(each, names, redacted)) for each in rows.collect())


def _row(row: Row, names: Sequence[str], placed: Placed, redacted: Collection[str]) -> FailedRow:
    """Return one bad row; where its own file is not known, the file that it is written to.

    With redacted columns the key is not shown, for it may be made of them.
    """
    key, partition, written, file, place = row[:5]
    return FailedRow(
        file=placed.origins.get(file, "") if file else written or "",
        row=place if file not in placed.gone else place_in_source(place, placed.gone[file]),
        partition=partition or "",
        key=REDACTED if redacted and key is not None else key,
        values=_values(row[5:], names, redacted),
    )


def place_in_source(place: int, gone: str) -> int:
    """Return where a row was before the rows whose places the file `gone` holds were left out."""
    left_out = np.fromfile(gone, np.int64)
    before = left_out - np.arange(left_out.size)  # rows that stay, before each
    return place + int(np.searchsorted(before, place, side="right"))


def _values(
    texts: Sequence[str | None], names: Sequence[str], redacted: Collection[str]
) -> dict[str, str | None]:
    """Return columns with their texts."""
    hidden = {name.lower() for name in redacted}
    return {
        name: _shown(text, hides=name.lower() in hidden)
        for name, text in zip(names, texts, strict=True)
    }


def _shown(text: str | None, *, hides: bool) -> str | None:
    """Return a text as it is shown: hidden, or cut where it is long."""
    if text is None or len(text) <= _TEXT:
        return REDACTED if hides and text is not None else text
    return REDACTED if hides else f"{text[:_TEXT]}…"
