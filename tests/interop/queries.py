"""The queries that every judge runs on an adopted table, with what each must return."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from tests.interop.canonical import canonical_rows
from tests.interop.cases import Case
from tests.interop.sources import Row
from tests.interop.upserts import sql_literal

__all__ = ["META", "Query", "expected_rows", "judged_row", "queries_for"]

META = ("_hoodie_record_key", "_hoodie_partition_path")
"""The meta columns whose values the source alone decides."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Query:
    """A projection and an optional filter, as SQL text and as a predicate over a row."""

    name: str
    columns: tuple[str, ...]
    where: str | None = None
    keeps: Callable[[Row], bool] | None = None


def judged_row(case: Case, row: Row) -> Row:
    """Return a row with its record key, as a filter may ask for it."""
    return {**row, "_hoodie_record_key": case.record_key(row)}


def queries_for(case: Case) -> Iterator[Query]:
    """Yield all projections, then filters on data, meta columns, both, and the partition."""
    data = tuple(case.schema.names)
    yield Query(name="none", columns=())
    yield Query(name="meta only", columns=META)
    yield Query(name="data only", columns=("v", "id"))
    yield Query(name="one meta, one data", columns=("v", "_hoodie_record_key"))
    yield Query(name="both", columns=(*META, *data))
    yield Query(name="on data", columns=data, where="n = 3", keeps=lambda row: row["n"] == 3)
    yield from _meta_filters(case, data)
    yield from _partition_filters(case, data)


def _meta_filters(case: Case, data: tuple[str, ...]) -> Iterator[Query]:
    """Yield a filter on a meta column alone, and one that also touches data."""
    path = str(case.rows[0]["_hoodie_partition_path"])
    yield Query(
        name="on meta",
        columns=("id", *META),
        where=f"_hoodie_partition_path = {sql_literal(path)}",
        keeps=lambda row: row["_hoodie_partition_path"] == path,
    )
    yield Query(
        name="on both",
        columns=(*data, "_hoodie_record_key"),
        where="n >= 1 and _hoodie_record_key like '%1%'",
        keeps=lambda row: row["n"] >= 1 and "1" in row["_hoodie_record_key"],
    )


def _partition_filters(case: Case, data: tuple[str, ...]) -> Iterator[Query]:
    """Yield a filter on the first partition column; for the default partition, IS NULL."""
    for column in list(case.partition_by)[:1]:
        value = case.files[-1].partition[column]
        text = f"{column} is null" if value is None else f"{column} = {sql_literal(value)}"
        yield Query(
            name="on partition",
            columns=(*data, "_hoodie_partition_path"),
            where=text,
            keeps=lambda row, column=column, value=value: row[column] == value,  # type: ignore[misc]
        )


def expected_rows(case: Case, rows: Sequence[Row], query: Query) -> list[list[object]]:
    """Return the canonical rows that a query must give on a table of these rows."""
    judged = (judged_row(case, row) for row in rows)
    kept = (row for row in judged if query.keeps is None or query.keeps(row))
    return canonical_rows([tuple(row[name] for name in query.columns) for row in kept])
