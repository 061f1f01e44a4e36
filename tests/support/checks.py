"""Builders for gates: a table, incoming rows, checks, and the result.

Bad rows have an `amount` below 0. Existing rows have `ts` 1, incoming rows have 2.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from framework.engine.events import Audited, Event
from framework.engine.prepare import PlanningContext, Request, prepare
from framework.engine.reading.load_history import history
from framework.engine.results import AuditReport
from framework.engine.runner import RunResult
from framework.engine.runner import run as execute_spec
from framework.errors import AuditFailedError
from framework.spark import read, run
from framework.spark.checking.checker import SparkChecker
from framework.spark.loading.preview import SparkInput
from framework.spark.tasks import SparkTasks
from framework.vocabulary import TableType, WriteOperation
from tests.support.scenes import snapshot
from tests.support.writing import rows_of, run_spec

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = [
    "AIMS",
    "BOOTSTRAPS",
    "COLUMNS",
    "DELETES",
    "Gate",
    "Rows",
    "gate_report",
    "good_rows",
    "quarantined_in",
]

BOOTSTRAPS = ("metadata_only", "full_record")
"""Modes of a bootstrap, beside the operations of loads."""

DELETES = (WriteOperation.DELETE.value, WriteOperation.DELETE_PARTITION.value)
"""Operations that write no rows; what they leave is checked `over: table`."""

AIMS = tuple(
    (operation, kind)
    for operation in (*BOOTSTRAPS, *(each.value for each in WriteOperation))
    for kind in TableType
)
"""All operations that a gate can check."""

COLUMNS = pa.schema(
    [("id", pa.int64()), ("day", pa.string()), ("ts", pa.int64()), ("amount", pa.float64())]
)

Rows = list[dict[str, Any]]


def good_rows(
    ids: Sequence[int], day: str | None = None, *, bad: Sequence[int] = (), ts: int = 2
) -> Rows:
    """Return rows by turns of day `a` and `b`, or all of one day; `bad` are ids of bad ones."""
    return [
        {
            "id": n,
            "day": day or "ab"[n % 2],
            "ts": ts,
            "amount": -float(n) if n in bad else float(n),
        }
        for n in ids
    ]


@dataclass(frozen=True, kw_only=True)
class Gate:
    """A table and what comes into it.

    Attributes:
        folder: holds all, and is the test's own.
        operation: one of `BOOTSTRAPS`, or a value of `WriteOperation`.
        type: of the table.
        partitions: those that `delete_partition` takes away.
        table: further entries of the spec's section `table`.
        bootstrap: likewise of the section `bootstrap`.
    """

    folder: Path
    operation: str
    type: str = TableType.COPY_ON_WRITE.value
    partitions: tuple[str, ...] = ("day=a",)
    table: Mapping[str, Any] = field(default_factory=dict)
    bootstrap: Mapping[str, Any] = field(default_factory=dict)

    @property
    def source(self) -> Path:
        """Where rows come from."""
        return self.folder / "source"

    @property
    def location(self) -> Path:
        """The table's."""
        return self.folder / "table"

    @property
    def quarantine(self) -> Path:
        """Where rows are quarantined."""
        return self.folder / "table.quarantine"

    @property
    def is_bootstrap(self) -> bool:
        """Whether the table begins here."""
        return self.operation in BOOTSTRAPS

    @property
    def over(self) -> str:
        """Which rows can be looked at: a delete writes none, so it is those that it leaves."""
        return "table" if self.operation in DELETES else "written"

    def begin(self, bad: Sequence[int] = ()) -> None:
        """Make the table that loads go into, with ten rows; a bootstrap begins with none."""
        if self.is_bootstrap:
            return
        self.put("seed", good_rows(range(10), bad=bad, ts=1))
        run_spec(self.document(operation="insert"), self.folder)
        (self.source / "seed.parquet").unlink()

    def put(self, name: str, rows: Rows | pa.Table, **options: Any) -> Path:
        """Write rows as `name`.parquet; a bootstrap's are spread over folders of days."""
        table = rows if isinstance(rows, pa.Table) else pa.Table.from_pylist(rows, COLUMNS)
        parts = {"": table}
        if self.is_bootstrap and "day" in table.column_names:
            days = sorted(set(table["day"].to_pylist()))
            parts = {
                f"day={day}/": table.filter(pa.compute.equal(table["day"], day)).drop(["day"])
                for day in days
            }
        for folder, part in parts.items():
            path = self.source / f"{folder}{name}.parquet"
            path.parent.mkdir(parents=True, exist_ok=True)
            pq.write_table(part, path, store_schema=False, **options)
        return self.source / f"{name}.parquet"

    def document(
        self,
        *checks: Mapping[str, Any],
        operation: str | None = None,
        quality: Mapping[str, Any] | None = None,
    ) -> dict[str, Any]:
        """Return the spec with these checks; `quality` are further entries of that section."""
        operation = operation or self.operation
        found: dict[str, Any] = {
            "version": 1,
            "table": {
                "name": "shop.orders",
                "location": str(self.location),
                "type": self.type,
                "partition_by": {"day": "string"},
                "record_key": {"columns": ["id"], "unique_within": "table"},
                "ordering": {"columns": ["ts"]},
                **self.table,
            },
        }
        if operation in BOOTSTRAPS:
            begin = {"path": str(self.source), "layout": "hive", "mode": operation}
            found["bootstrap"] = {**begin, **self.bootstrap}
        else:
            found["write"] = {"operation": operation}
        if operation == WriteOperation.DELETE_PARTITION:
            found["write"]["partitions"] = list(self.partitions)
        elif operation not in BOOTSTRAPS:
            found["source"] = {"path": str(self.source)}
        section = {**(quality or {}), **({"checks": list(checks)} if checks else {})}
        return {**found, **({"quality": section} if section else {})}

    def spec(self, *checks: Mapping[str, Any], **quality: Any) -> Path:
        """Write the spec with these checks and return it; JSON is YAML."""
        return self.written(self.document(*checks, quality=quality))

    def written(self, document: Mapping[str, Any]) -> Path:
        """Write a spec and return it."""
        path = self.folder / "orders.pipeline.yml"
        path.write_text(json.dumps(document, indent=1))
        return path

    def run(self, spark: SparkSession, *checks: Mapping[str, Any], **quality: Any) -> RunResult:
        """Run it with these checks."""
        return run(spark, self.spec(*checks, **quality))

    def refused(
        self, spark: SparkSession, *checks: Mapping[str, Any], **quality: Any
    ) -> AuditFailedError:
        """Run it with checks that must refuse; table, source and quarantine must be as before."""
        spec = self.spec(*checks, **quality)
        before = self.seen()
        with pytest.raises(AuditFailedError) as caught:
            run(spark, spec)
        assert self.seen() == before
        return caught.value

    def seen(self) -> dict[str, object]:
        """Return everything in the folder, except the spec."""
        found = snapshot(self.folder)
        return {path: state for path, state in found.items() if not path.endswith(".pipeline.yml")}

    def amounts(self, spark: SparkSession) -> dict[int, float | None]:
        """Return the amount of each row of the table, by id; no id comes twice."""
        rows = [(row.id, row.amount) for row in read(spark, self.location).collect()]
        assert len({number for number, _ in rows}) == len(rows)
        return dict(sorted(rows))

    def ids(self) -> list[int]:
        """Return the ids of the table's rows by a reader without Spark; not of skeletons."""
        return sorted(row["id"] for row in rows_of(str(self.location)))

    def fates(self) -> list[dict[str, int]]:
        """Return what each commit says of its input, oldest first."""
        return [each.audit["fate"] for each in history(str(self.location)) if "fate" in each.audit]


def gate_report(spark: SparkSession, spec: Path) -> AuditReport:
    """Run a spec and return its gate's report, whether it refused or not."""
    heard: list[AuditReport] = []

    def listen(event: Event) -> None:
        if isinstance(event, Audited):
            heard.append(event.report)

    tasks = SparkTasks(spark)
    with TemporaryDirectory() as scratch, suppress(AuditFailedError):
        plan = prepare(Request(path=spec), PlanningContext(tasks=tasks, scratch=Path(scratch))).plan
        checker, reader = SparkChecker(spark), SparkInput(spark)
        execute_spec(plan, tasks, reader=reader, checker=checker, events=listen)
    return heard[-1]


def quarantined_in(place: Path) -> list[dict[str, Any]]:
    """Return quarantined rows below a folder, by file and row; `file` is the name alone."""
    files = [path for path in sorted(place.rglob("*.parquet")) if not path.name.startswith(".")]
    rows = [row for path in files for row in pq.read_table(path, partitioning=None).to_pylist()]
    return sorted(rows, key=lambda row: (row["_lakestrap_file"], row["_lakestrap_row"]))
