"""Runs that quarantined rows, in this process: a checker on Arrow, and a shop with orders."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from framework.engine.audit.subject import InputRows, Judged, Looking, QuarantineWork, WrittenRows
from framework.engine.audit.verdicts import outcome_of
from framework.engine.places import canonical
from framework.engine.prepare import PlanningContext, Prepared, Request, prepare
from framework.engine.quarantine.datasets import waiting
from framework.engine.quarantine.quarantined_batch import (
    QuarantinedBatch,
    gathering_place,
    name_batch,
)
from framework.engine.quarantine.record import ORIGINAL_FILE, ORIGINAL_ROW, read_record
from framework.engine.release import finish_release, prepare_release
from framework.engine.results import CheckResult
from framework.engine.runner import RunResult, run
from framework.engine.tasks import InProcessTasks
from framework.hudi.timeline.clock import SystemClock
from framework.plan.quality.model import Check
from framework.plan.release import FILE, INSTANT, ROW, RULES, RUN_ID
from tests.support.writing import rows_of

__all__ = ["ArrowChecker", "Shop", "hand_made", "published_run", "rows_in_quarantine"]

_TEST = re.compile(r"(\w+) (<|>=|is not null)(?: (-?\d+))?")


class ArrowChecker:
    """The engine's checker for predicates such as `n >= 3` and `v is not null`, with no session.

    It trusts that rows which were taken out are not written; files hold all columns.
    """

    def understand(self, schema: pa.Schema, checks: Sequence[Check]) -> None:
        """Take every check."""
        del schema, checks

    def find_bad(self, rows: InputRows, checks: Sequence[Check], folder: str) -> Mapping[str, int]:
        """Write the places of bad rows."""
        found = []
        for number, path in zip(rows.numbers, rows.paths, strict=True):
            table = pq.read_table(path, partitioning=None)
            bad = [_bad(table, each.text) for each in checks]
            masks = [
                sum(1 << at for at, b in enumerate(each) if b) for each in zip(*bad, strict=True)
            ]
            found += [
                {"number": number, "row": row, "mask": mask}
                for row, mask in enumerate(masks)
                if mask
            ]
        _write_as_spark(pa.Table.from_pylist(found, schema=_PLACES), Path(folder))
        return {}

    def quarantine(self, rows: InputRows, work: QuarantineWork) -> None:
        """Write rows with the metadata of each."""
        places = pq.read_table(work.positions).to_pylist()
        paths = dict(zip(rows.numbers, rows.paths, strict=True))
        tables = {n: pq.read_table(path, partitioning=None) for n, path in paths.items()}
        parts = [
            _quarantined_row(tables[each["number"]], each, rows.schema, work) for each in places
        ]
        _write_as_spark(pa.concat_tables(parts), Path(work.folder))

    def judge(self, rows: WrittenRows, how: Looking) -> Judged:
        """Let all that is written pass."""
        del rows
        return Judged(
            results=tuple(
                CheckResult(check=each, outcome=outcome_of(each, 0, 1), rows=1)
                for each in how.quality.checks
            )
        )


_PLACES = pa.schema([("number", pa.int64()), ("row", pa.int64()), ("mask", pa.int64())])


def _bad(table: pa.Table, text: str) -> list[bool]:
    """Return which rows do not meet a predicate; null does not."""
    found = _TEST.fullmatch(text)
    assert found, text
    column = table[found[1]]
    if found[3] is None:
        return [not valid for valid in column.is_valid().to_pylist()]
    test = pc.less if found[2] == "<" else pc.greater_equal
    return [each is not True for each in test(column, int(found[3])).to_pylist()]


def _quarantined_row(
    table: pa.Table, place: Mapping[str, Any], schema: pa.Schema, work: QuarantineWork
) -> pa.Table:
    """Return one row as it is quarantined."""
    row = table.slice(place["row"], 1)
    columns = {
        name: row[name] if name in row.schema.names else pa.nulls(1, schema.field(name).type)
        for name in schema.names
    }
    first = place.get(ORIGINAL_FILE) or work.origins[place["number"]]
    original_row = place.get(ORIGINAL_ROW)
    added = {
        RULES: [[name for at, name in enumerate(work.rules) if place["mask"] & (1 << at)]],
        RUN_ID: [work.run_id],
        INSTANT: [work.instant],
        FILE: [first],
        ROW: pa.array([place["row"] if original_row is None else original_row], pa.int64()),
    }
    return pa.table({**columns, **added})


def _write_as_spark(table: pa.Table, folder: Path) -> None:
    """Write a folder that must not exist, with what Spark leaves beside its files."""
    folder.mkdir(parents=True)
    for number, start in enumerate(range(0, table.num_rows, 2)):
        name = f"part-{number:05}-c000.snappy.parquet"
        pq.write_table(table.slice(start, 2), folder / name)
        (folder / f".{name}.crc").write_bytes(b"crc")
    (folder / "_SUCCESS").touch()


@dataclass(frozen=True, kw_only=True)
class Shop:
    """A table of orders, whose amounts must be known and at least `least`; two per file.

    Attributes:
        folder: holds everything.
        kind: the table's type.
        least: the minimum of the check `large`.
        operation: how later runs write; "" for a table that only a bootstrap begins.
        ordering: whether `n` orders versions.
        place: where rows are quarantined, "" for the table's own place.
        name: of the table's folder.
        is_bounded: whether no more than a tenth of an input may be quarantined.
        more: further entries of the section `write`.
    """

    folder: Path
    kind: str = "copy_on_write"
    least: int = 0
    operation: str = "upsert"
    ordering: bool = True
    place: str = ""
    name: str = "table"
    is_bounded: bool = False
    more: Mapping[str, Any] = field(default_factory=dict)

    @property
    def table(self) -> Path:
        """The table's folder."""
        return self.folder / self.name

    @property
    def spec(self) -> Path:
        """The spec, written anew."""
        path = self.folder / f"{self.name}.pipeline.yml"
        path.write_text(json.dumps(self.document))
        return path

    @property
    def document(self) -> dict[str, Any]:
        """The spec as JSON."""
        quarantining: dict[str, Any] = {"on_fail": "quarantine"}
        known = {"name": "known", "expect": "n is not null", **quarantining}
        large = {"name": "large", "expect": f"n >= {self.least}", **quarantining}
        quality: dict[str, Any] = {"checks": [known, large], "redact": ["v"]}
        place: dict[str, Any] = {"location": self.place} if self.place else {}
        if self.is_bounded:
            large["max_failed"], place["max_ratio"] = "10%", 0.1
        if place:
            quality["quarantine"] = place
        ordering = {"ordering": {"columns": ["n"]}} if self.ordering else {}
        begun: dict[str, Any] = {
            "source": {"path": str(self.folder / "landing")},
            "write": {"operation": self.operation, **self.more},
        }
        if not self.operation:
            begun = {"bootstrap": {"path": str(self.folder / "landing"), "layout": "none"}}
            begun["bootstrap"]["mode"] = "metadata_only"
        return {
            "version": 1,
            "table": {
                "name": "shop.orders",
                "location": str(self.table),
                "type": self.kind,
                "record_key": {"columns": ["id"], "unique_within": "table"},
                **ordering,
            },
            **begun,
            "quality": quality,
        }

    def land(self, name: str, rows: Mapping[int, int | None]) -> Path:
        """Write a file of rows, `n` by `id`, into the landing folder."""
        path = self.folder / "landing" / f"{name}.parquet"
        path.parent.mkdir(exist_ok=True)
        ids, numbers = pa.array(rows.keys(), pa.int64()), pa.array(rows.values(), pa.int64())
        pq.write_table(
            pa.table({"id": ids, "n": numbers, "v": [f"v{each}" for each in rows]}), path
        )
        return path

    def run(self) -> RunResult:
        """Run the spec."""
        with ExitStack() as stack:
            return _execute(prepare(Request(path=self.spec), _planning(stack)))

    def waiting(self) -> tuple[QuarantinedBatch, ...]:
        """Return the data sets that wait."""
        return waiting(str(self.table))

    def prepare(self, batch: QuarantinedBatch, stack: ExitStack) -> Prepared:
        """Plan a release."""
        return prepare_release(Request(path=self.spec), batch, _planning(stack))

    def release(self, *, dies: bool = False) -> RunResult:
        """Release the oldest data set; `dies` ends it between the commit and the tidying."""
        with ExitStack() as stack:
            done = _execute(self.prepare(self.waiting()[0], stack))
        if not dies:
            self.finish()
        return done

    def release_with(self, *, least: int, dies: bool = False) -> RunResult:
        """Release under another bound."""
        return replace(self, least=least).release(dies=dies)

    def released(self) -> tuple[str, str]:
        """Return an instant whose rows were released, and the instant that did so."""
        return next(iter(read_record(str(self.table)).released.items()))

    def finish(self) -> None:
        """Remove what was released."""
        finish_release(str(self.table), SystemClock())

    def rows(self) -> dict[int, int | None]:
        """Return what the table holds, `n` by `id`; a key that is there twice is a fault."""
        found = [(row["id"], row["n"]) for row in rows_of(str(self.table))]
        assert len(dict(found)) == len(found)
        return dict(found)

    def lying(self, place: Path | None = None) -> set[str]:
        """Return the names at the place of quarantined rows."""
        place = place or Path(self.place or f"{self.table}.quarantine")
        return {path.name for path in place.iterdir()} if place.exists() else set()


def _planning(stack: ExitStack) -> PlanningContext:
    """Return a planning context whose scratch folder goes with the stack."""
    scratch = Path(stack.enter_context(TemporaryDirectory()))
    return PlanningContext(tasks=InProcessTasks(1), scratch=scratch)


def _execute(prepared: Prepared) -> RunResult:
    """Execute a plan with checks on Arrow."""
    if not prepared.plan.has_changes:
        return RunResult.unchanged(prepared.plan)
    return run(prepared.plan, InProcessTasks(1), checker=ArrowChecker())


def published_run(table: Path) -> tuple[str, str]:
    """Return the last instant of a table, and the run that made it."""
    return list(read_record(str(table)).runs.items())[-1]


def hand_made(
    place: Path, table: Path, instant: str, run_id: str, rows: pa.Table | None = None
) -> QuarantinedBatch:
    """Quarantine rows as a run does that is about to publish, and return their record."""
    columns = rows if rows is not None else pa.table({"id": [1, 2, 3]})
    count = columns.num_rows
    added = {
        RULES: pa.array([["odd"] if row % 2 else ["odd", "even"] for row in range(count)]),
        RUN_ID: [run_id] * count,
        INSTANT: [instant] * count,
        FILE: ["a.parquet"] * count,
        ROW: pa.array(range(count), pa.int64()),
    }
    whole = pa.table({**{name: columns[name] for name in columns.schema.names}, **added})
    _write_as_spark(whole, Path(gathering_place(str(place), str(table), run_id)))
    batch = QuarantinedBatch(
        table=canonical(str(table)),
        instant=instant,
        run_id=run_id,
        rows=count,
        by_rule={"odd": count, "even": (count + 1) // 2},
        at="2026-11-22T16:00:00Z",
        operation="upsert",
    )
    name_batch(str(place), batch)
    files = sorted((place / f"instant={instant}").glob("*.parquet"))
    size = sum(file.stat().st_size for file in files)
    return replace(batch, location=str(place), files=tuple(map(str, files)), bytes=size)


def rows_in_quarantine(
    batches: Sequence[QuarantinedBatch],
) -> Iterator[tuple[int, tuple[str, ...], str, int]]:
    """Yield id, rules, name of the first file and row there of each row of data sets."""
    for batch in batches:
        for file in batch.files:
            for row in pq.read_table(file, partitioning=None).to_pylist():
                assert (row[RUN_ID], row[INSTANT]) == (batch.run_id, batch.instant)
                yield row["id"], tuple(row[RULES]), Path(row[FILE]).name, row[ROW]
