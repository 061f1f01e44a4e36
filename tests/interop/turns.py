"""A table that we and Apache Hudi write in turns, and what it is to hold."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq

from framework.spark import read
from framework.vocabulary import KeyScope, WriteOperation
from tests.interop.canonical import canonical_rows
from tests.interop.judge import Judge
from tests.interop.printed import printed_options
from tests.support.writing import Lake, load, rows_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["SCHEMA", "Row", "Turns"]

SCHEMA = pa.schema(
    [
        ("id", pa.int64()),
        ("day", pa.string()),
        ("ts", pa.int64()),
        ("v", pa.string()),
        ("tags", pa.list_(pa.string())),
        ("at", pa.timestamp("us", "UTC")),
    ]
)

Row = dict[str, Any]


@dataclass
class Turns:
    """A table and what it is to hold, by key; every row that comes is later than those before.

    Without `spark` we read the table with the engine alone.
    """

    lake: Lake
    judge: Judge
    spark: SparkSession | None
    rows: dict[Any, Row] = field(default_factory=dict)
    turn: int = 0
    schema: pa.Schema = SCHEMA

    def some(self, ids: Iterable[int], *, day: str | None = None) -> list[Row]:
        """Return rows with these ids, each in its day or in `day`, with values of this turn."""
        self.turn += 1
        return [
            {
                "id": each,
                "day": day or f"d{each % 3}",
                "ts": self.turn,
                "v": f"turn {self.turn}",
                "tags": [f"t{each}", "all"],
                "at": self.turn * 1_000_000,
            }
            for each in ids
        ]

    def ours(self, operation: WriteOperation, rows: list[Row]) -> None:
        """Load rows ourselves; then the judge reads the table, and so do we."""
        self.load(operation, rows)
        self.compare()

    def load(self, operation: WriteOperation, rows: list[Row]) -> None:
        """Load rows ourselves, without reading."""
        load(self.lake, operation, pa.Table.from_pylist(rows, self.schema))
        if operation is WriteOperation.INSERT_OVERWRITE:
            days = {row["day"] for row in rows}
            self.rows = {key: row for key, row in self.rows.items() if row["day"] not in days}
        self._remember(operation, rows)

    def theirs(self, rows: list[Row], **options: str) -> None:
        """Let the judge upsert rows under the options that we print; then both read the table."""
        self.under({**printed_options(self.lake.location), **options}, rows)
        self.compare()

    def under(
        self,
        options: Mapping[str, str],
        rows: list[Row],
        operation: WriteOperation = WriteOperation.UPSERT,
    ) -> None:
        """Let the judge upsert or delete rows with its own options, without reading."""
        batch = self.lake.folder / f"theirs-{self.turn}.parquet"
        pq.write_table(pa.Table.from_pylist(rows, self.schema), batch)
        kind = {"hoodie.datasource.write.operation": operation.value}
        self.judge.upsert(self.lake.location, batch, {**options, **kind})
        self._remember(operation, rows)

    @property
    def location(self) -> Path:
        """The table's, for one on this machine."""
        return self.lake.folder / "table"

    def _remember(self, operation: WriteOperation, rows: list[Row]) -> None:
        for row in rows:
            if operation is WriteOperation.DELETE:
                self.rows.pop(self._key(row), None)
            else:
                self.rows[self._key(row)] = row

    def _key(self, row: Row) -> Any:
        whole = self.lake.scope is KeyScope.TABLE
        return row["id"] if whole else (row["id"], row["day"])

    def compare(self) -> None:
        """Read the table, let the judge read it, and compare both with what it is to hold."""
        table = pa.Table.from_pylist(list(self.rows.values()), self.schema)
        expected = canonical_rows([tuple(row.values()) for row in table.to_pylist()])
        assert canonical_rows(self._read()) == expected
        assert self.judge.rows(self.lake.location, self.schema.names) == expected

    def _read(self) -> list[tuple[Any, ...]]:
        names = self.schema.names
        if self.spark is None:
            return [tuple(row[name] for name in names) for row in rows_of(self.lake.location)]
        return [tuple(row) for row in read(self.spark, self.lake.location).select(*names).collect()]
