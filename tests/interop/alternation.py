"""A table that both sides load and service in turns: their loads and services, and the checks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from framework.engine.fsck.findings import Severity
from framework.engine.fsck.table_check import check_table
from framework.engine.tasks import InProcessTasks
from framework.hudi.storage.locations import open_storage
from framework.hudi.timeline.instant import Action, Instant
from framework.hudi.timeline.timeline import load_timeline
from framework.plan.services.undo import undoable
from framework.vocabulary import KeyScope, TableType, WriteOperation
from tests.interop.judge import KEEP_VERSION_6, Judge
from tests.interop.judge_calls import declare
from tests.interop.printed import printed_options
from tests.interop.support import adopt
from tests.interop.turns import SCHEMA, Row, Turns
from tests.support.writing import Lake

__all__ = ["Alternation"]

WITHOUT_SHOW_CLEANS = "0.15.0"
NO_SERVICE: Mapping[str, str] = {
    "hoodie.clean.automatic": "false",
    "hoodie.archive.automatic": "false",
    "hoodie.compact.inline": "false",
}
SHOWN: Mapping[str, frozenset[Action]] = {
    "show_commits": frozenset({Action.COMMIT, Action.DELTACOMMIT, Action.REPLACECOMMIT}),
    "show_rollbacks": frozenset({Action.ROLLBACK}),
    "show_savepoints": frozenset({Action.SAVEPOINT}),
    "show_cleans": frozenset({Action.CLEAN}),
}
"""Procedures of Apache Hudi, and the actions of the completed instants that each lists."""
MORE_THAN_ALL = 1000


@dataclass(frozen=True, kw_only=True)
class Alternation:
    """The table, and what each side does to it; `numbers` makes each load another one."""

    turns: Turns
    numbers: Iterator[int] = field(default_factory=count)

    @classmethod
    def on(cls, judge: Judge, folder: Path, kind: TableType, *, adopts: bool) -> Alternation:
        """Return a table of 24 rows in three days with two files each, adopted or loaded."""
        lake = Lake(folder=folder, scope=KeyScope.PARTITION, type=kind, ordering="ts")
        turns = Turns(lake=lake, judge=judge, spark=None)
        halves = [turns.some(range(12)), turns.some(range(12, 24))]
        if adopts:
            adopt(_adoption(lake, halves), folder)
            turns.rows = {(row["id"], row["day"]): row for half in halves for row in half}
        else:
            for half in halves:
                turns.load(WriteOperation.BULK_INSERT, half)
        return cls(turns=turns)

    @property
    def judge(self) -> Judge:
        """The release of Apache Hudi."""
        return self.turns.judge

    @property
    def location(self) -> str:
        """The table's."""
        return str(self.turns.location)

    @property
    def is_merge_on_read(self) -> bool:
        """Whether the table has log files to compact."""
        return self.turns.lake.type is TableType.MERGE_ON_READ

    @property
    def newest(self) -> str:
        """The newest completed instant of data."""
        return undoable(self.instants())[0].requested_time

    def instants(self) -> tuple[Instant, ...]:
        """Return the active timeline as we list it."""
        return load_timeline(open_storage(self.location)).instants

    def load_ours(self) -> None:
        """Upsert and delete ourselves."""
        self.upsert_ours()
        self.turns.load(WriteOperation.DELETE, self._deleted())

    def load_theirs(self, **services: str) -> None:
        """Let the judge delete and upsert, the latter with services."""
        options = {**printed_options(self.turns.location), **NO_SERVICE}
        self.turns.under(options, self._deleted(), WriteOperation.DELETE)
        self.upsert_theirs(**services)

    def upsert_ours(self) -> None:
        """Upsert rows ourselves."""
        self.turns.load(WriteOperation.UPSERT, self._upserted())

    def upsert_theirs(self, **services: str) -> None:
        """Let the judge upsert rows, with services."""
        options = {**printed_options(self.turns.location), **NO_SERVICE, **services}
        self.turns.under(options, self._upserted())

    def check(self) -> None:
        """Compare the rows and the instants that both sides see; the table is not damaged."""
        self.turns.compare()
        instants = self.instants()
        ours = sorted([each.requested_time, each.action, each.state.upper()] for each in instants)
        assert sorted(self.judge.ask("timeline", location=self.location)) == ours
        self._check_lists(instants)
        report = check_table(self.location, InProcessTasks(1), deep=True)
        assert [each for each in report.findings if each.severity is Severity.ERROR] == []

    def _check_lists(self, instants: tuple[Instant, ...]) -> None:
        """Compare what each procedure lists with our timeline."""
        name, statements = declare(self.turns.location)
        for procedure, actions in SHOWN.items():
            if procedure == "show_cleans" and self.judge.version == WITHOUT_SHOW_CLEANS:
                continue
            statements.append(f"call {procedure}(table => '{name}', limit => {MORE_THAN_ALL})")
            rows = self.judge.ask("sql", statements=statements, conf=dict(KEEP_VERSION_6))["rows"]
            done = [each for each in instants if each.is_completed and each.action in actions]
            assert sorted(row[0] for row in rows) == [each.requested_time for each in done], rows
            statements = []

    def _upserted(self) -> list[Row]:
        """Return two rows of the first files, mostly known ones, and a new one."""
        number = next(self.numbers)
        return self.turns.some([number % 12, (number + 5) % 12, 100 + number])

    def _deleted(self) -> list[Row]:
        return self.turns.some([(next(self.numbers) + 8) % 12])


def _adoption(lake: Lake, halves: list[list[Row]]) -> dict[str, Any]:
    """Write rows as a source of one file for each half and day; return the spec that adopts it."""
    source = lake.folder / "source"
    schema = pa.schema([each for each in SCHEMA if each.name != "day"])
    for number, half in enumerate(halves):
        for day in sorted({row["day"] for row in half}):
            path = source / f"day={day}" / f"part-{number}.parquet"
            path.parent.mkdir(parents=True, exist_ok=True)
            rows = [row for row in half if row["day"] == day]
            pq.write_table(pa.Table.from_pylist(rows, schema), path, store_schema=False)
    return {
        "version": 1,
        "table": {
            "name": "a.loaded",
            "location": lake.location,
            "type": lake.type,
            "partition_by": {"day": "string"},
            "record_key": {"columns": ["id"], "unique_within": "partition"},
            "ordering": {"columns": ["ts"]},
        },
        "bootstrap": {"path": str(source), "layout": "hive", "mode": "metadata_only"},
    }
