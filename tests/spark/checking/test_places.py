"""Bad rows are reported with their source file and row, however that file is written.

Files that lose no row become skeletons, files that lose some are written without them, and those of
some partitions are written in full anyway. The lakes are those of the reader tests.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from framework.engine.results import AuditReport
from framework.errors import PlanError
from framework.spark import read, run
from framework.vocabulary import Outcome
from tests.support.checks import Gate, gate_report, good_rows, quarantined_in
from tests.support.source_lakes import LAKES, SourceLake, hive_lake, mixed_lake, things

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

QUICK: Final = {"plain", "positional", "odd", "typed", "mixed", "widened"}
NUMBERS: Final = {"typed": "k_long"}
"""Columns that identify rows, if not `id`."""

Taken = Callable[[int], bool]


def is_taken(number: int) -> bool:
    """Whether a row is quarantined: some files lose none, some one, and some all but one."""
    return number % 7 in {3, 4}


def is_warned(number: int) -> bool:
    """Whether a row that stays is warned of."""
    return number % 2 == 1


NOT_TAKEN: Final = "pmod({n}, 7) NOT IN (3, 4)"
EVEN: Final = "pmod({n}, 2) = 0"


def run_lake(
    spark: SparkSession, lake: SourceLake, folder: Path, number: str = "id", taken: str = NOT_TAKEN
) -> tuple[AuditReport, list[dict[str, Any]]]:
    """Adopt a lake with two checks; return the gate's report and the quarantined rows."""
    source, table = folder / "source", folder / "table"
    lake.write(source)
    document = lake.spec(source, table)
    document["quality"] = {
        "samples": 1000,
        "checks": [
            {"name": "taken", "expect": taken.format(n=number), "on_fail": "quarantine"},
            {"name": "even_id", "expect": EVEN.format(n=number), "on_fail": "warn"},
        ],
    }
    spec = folder / "lake.pipeline.yml"
    spec.write_text(json.dumps(document, ensure_ascii=False))
    return gate_report(spark, spec), quarantined_in(folder / "table.quarantine")


def places(
    lake: SourceLake, number: str, wanted: Callable[[int], bool]
) -> list[tuple[str, int, int]]:
    """Return file, row and number of rows of a lake."""
    return sorted(
        (path, row, value)
        for path, rows in lake.files.items()
        for row, value in enumerate(rows[number].to_pylist())
        if wanted(value)
    )


@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=[] if n in QUICK else pytest.mark.full) for n in LAKES]
)
def test_quarantined_rows_and_samples_have_their_place_in_the_source(
    spark: SparkSession, tmp_path: Path, name: str
) -> None:
    """Each of them, and the table has the others."""
    lake, number = LAKES[name](), NUMBERS.get(name, "id")
    report, quarantined = run_lake(spark, lake, tmp_path, number)
    found = [(row["_lakestrap_file"], row["_lakestrap_row"], row[number]) for row in quarantined]
    assert sorted(found) == places(lake, number, is_taken)
    warning = next(each for each in report.checks if each.check.name == "even_id")
    samples = [
        (row.file.removeprefix(f"{tmp_path}/source/"), row.row, int(row.values[number] or 0))
        for row in warning.samples
    ]
    kept = places(lake, number, lambda n: is_warned(n) and not is_taken(n))
    assert sorted(samples) == kept
    assert warning.failed == len(kept)
    rows = read(spark, tmp_path / "table").select(number, "_hoodie_record_key").collect()
    stay = [value for _, _, value in places(lake, number, lambda n: not is_taken(n))]
    assert sorted(row[0] for row in rows) == sorted(stay)
    assert len({row[1] for row in rows}) == len(rows)
    if lake.layout != "none":
        for sample in warning.samples:
            path = sample.file.removeprefix(f"{tmp_path}/source/")
            assert path.startswith(f"{sample.partition}/")


def test_rows_left_out_do_not_shift_the_keys_of_rows_that_are_numbered(
    spark: SparkSession, tmp_path: Path
) -> None:
    """Automatic keys of a file that loses rows are as many as its rows, and none comes twice."""
    lake = replace(hive_lake(), key=())
    run_lake(spark, lake, tmp_path)
    rows = read(spark, tmp_path / "table").collect()
    assert len({row["_hoodie_record_key"] for row in rows}) == len(rows)
    assert {row["_hoodie_record_key"].split("_")[0] for row in rows} == {"00000000000001"}


@pytest.mark.parametrize(
    ("taken", "left"),
    [
        pytest.param("{n} >= 10", range(10, 13), id="all of one file"),
        pytest.param("{n} < 0", range(0), id="all of the table"),
        pytest.param("{n} >= 0", range(13), id="none"),
    ],
)
@pytest.mark.parametrize("mode", ["metadata_only", "full_record"])
def test_files_that_lose_all_of_their_rows_or_have_none_are_part_of_the_table(
    spark: SparkSession, tmp_path: Path, taken: str, left: range, mode: str
) -> None:
    """A file without rows stays one; where all go, the table is there and has its columns."""
    gate = Gate(folder=tmp_path, operation=mode, table={"partition_by": {"p": "int"}})
    for folder, rows in {"p=1": things(0, 10), "p=2": things(10, 3), "p=3": things(0, 0)}.items():
        (gate.source / folder).mkdir(parents=True)
        pq.write_table(rows, gate.source / folder / "f.parquet", store_schema=False)
    document = gate.document({"name": "c", "expect": taken.format(n="id"), "on_fail": "quarantine"})
    document["table"].pop("ordering")
    spec = gate.written(document)
    result = run(spark, spec)
    frame = read(spark, gate.location)
    assert sorted(row.id for row in frame.collect()) == list(left)
    assert {"id", "n", "name", "p"} <= set(frame.columns)
    assert [row["id"] for row in quarantined_in(gate.quarantine)] == [
        n for n in range(13) if n not in left
    ]
    assert result.rows == len(left)
    assert run(spark, spec).instant is None


@dataclass(frozen=True, kw_only=True)
class Typed:
    """Two values of a type, the second bad, and the predicate that says so."""

    kind: Any
    values: tuple[Any, Any]
    predicate: str


TYPES: Final = {
    "money": Typed(
        kind=pa.decimal128(9, 2),
        values=(Decimal("1.50"), Decimal("-0.01")),
        predicate="money >= 0",
    ),
    "at": Typed(
        kind=pa.timestamp("us", "UTC"),
        values=(datetime(2026, 1, 1, tzinfo=UTC), datetime(2025, 12, 31, 23, 59, tzinfo=UTC)),
        predicate="at >= '2026-01-01 00:00:00'",
    ),
    "on_day": Typed(
        kind=pa.date32(),
        values=(date(2026, 1, 1), date(2025, 1, 1)),
        predicate="year(on_day) = 2026",
    ),
    "tags": Typed(
        kind=pa.list_(pa.string()), values=(["a"], ["b", None]), predicate="tags[0] = 'a'"
    ),
    "attributes": Typed(
        kind=pa.map_(pa.string(), pa.int32()),
        values=([("k", 1)], [("q", 2)]),
        predicate="map_contains_key(attributes, 'k')",
    ),
    "place": Typed(
        kind=pa.struct([("x", pa.int64()), ("y", pa.string())]),
        values=({"x": 1, "y": "z"}, {"x": -1, "y": None}),
        predicate="place.x > 0",
    ),
    "bytes": Typed(kind=pa.binary(), values=(b"\x00\xff", b"\x01"), predicate="bytes = X'00FF'"),
    "flag": Typed(kind=pa.bool_(), values=(True, False), predicate="flag"),
    "order": Typed(kind=pa.int32(), values=(1, -1), predicate="`order` > 0"),
    "_own": Typed(kind=pa.float32(), values=(1.5, -1.5), predicate="_own > 0"),
}
"""Columns of many types, two with names that SQL has a use for."""


@pytest.mark.parametrize("operation", ["metadata_only", "upsert"])
def test_rows_with_values_of_every_type_are_found_quarantined_and_shown(
    spark: SparkSession, tmp_path: Path, operation: str
) -> None:
    """Each column is bad in one row of its own; what is quarantined is what came in."""
    gate = Gate(folder=tmp_path, operation=operation)
    gate.begin()
    names = list(TYPES)
    columns = {
        name: pa.array([one.values[int(at == row)] for row in range(len(names))], one.kind)
        for at, (name, one) in enumerate(TYPES.items())
    }
    size = len(names)
    rows = pa.table(
        {
            "id": pa.array(range(100, 100 + size), pa.int64()),
            "day": ["a"] * size,
            "ts": pa.array([2] * size, pa.int64()),
            "amount": [1.0] * size,
            **columns,
        }
    )
    gate.put("one", rows)
    checks = [
        {"name": f"c{at}", "expect": one.predicate, "on_fail": ["quarantine", "warn"][at % 2]}
        for at, one in enumerate(TYPES.values())
    ]
    document = gate.document(*checks)
    if operation == "upsert":
        document["write"]["schema_evolution"] = "add_columns"
    report = gate_report(spark, gate.written(document))
    assert [each.outcome for each in report.checks] == [
        [Outcome.QUARANTINED, Outcome.WARNED][at % 2] for at in range(size)
    ]
    assert [each.failed for each in report.checks] == [1] * size
    warned = [each for each in report.checks if each.outcome is Outcome.WARNED]
    assert [sorted(each.samples[0].values) for each in warned] == [[n] for n in names[1::2]]
    quarantined = quarantined_in(gate.quarantine)
    assert [row["_lakestrap_row"] for row in quarantined] == list(range(0, size, 2))
    came = rows.to_pylist()
    for row in quarantined:
        assert {n: row[n] for n in names} == {n: came[row["_lakestrap_row"]][n] for n in names}


@pytest.mark.parametrize("operation", ["metadata_only", "insert"])
@pytest.mark.parametrize(
    ("name", "condition"),
    [
        *((name, "schema/name-not-avro") for name in ("a b", "x.y", "é", "back`tick")),
        *((name, "schema/reserved-column") for name in ("_lakestrap_x", "_LAKESTRAP_row")),
    ],
)
def test_column_that_no_reader_could_name_is_refused_before_a_check_sees_it(
    spark: SparkSession, tmp_path: Path, operation: str, name: str, condition: str
) -> None:
    """So is one that is named like the places of quarantined rows."""
    gate = Gate(folder=tmp_path, operation=operation)
    rows = pa.Table.from_pylist(good_rows(range(3)))
    gate.put("one", rows.append_column(name, rows["id"]))
    quoted = "`" + name.replace("`", "``") + "`"
    spec = gate.spec({"name": "c", "expect": f"{quoted} > 0", "on_fail": "quarantine"})
    with pytest.raises(PlanError) as caught:
        run(spark, spec)
    assert caught.value.condition == condition
    assert name in caught.value.message
    assert not gate.location.exists()


def test_maximum_number_of_checks_that_take_rows_out_report_their_own_rows(
    spark: SparkSession, tmp_path: Path
) -> None:
    """The highest bit too, with rows that give way beside them; one more is refused by its line."""
    gate = Gate(
        folder=tmp_path, operation="metadata_only", bootstrap={"on_duplicate": "rewrite_files"}
    )
    count = 62
    rows = [{"id": n, "day": "a", "ts": 1, "amount": float(n)} for n in range(count + 1)]
    gate.put("one", [*rows, rows[count]])
    checks = [
        {"name": f"c{n}", "expect": f"id <> {n}", "on_fail": ["quarantine", "drop"][n % 2]}
        for n in range(count)
    ]
    with pytest.raises(PlanError) as caught:
        gate.run(spark, *checks, {**checks[0], "name": "more"})
    assert caught.value.condition == "quality/too-many"
    gate.run(spark, *checks)
    assert list(gate.amounts(spark)) == [count]
    found = {row["id"]: row["_lakestrap_rules"] for row in quarantined_in(gate.quarantine)}
    assert found == {n: [f"c{n}"] for n in range(0, count, 2)} | {count: ["duplicate-key"]}
    assert gate.fates() == [{"input": count + 2, "published": 1, "quarantined": 32, "dropped": 31}]


def test_mixed_modes_report_places_of_both_kinds_of_files(
    spark: SparkSession, tmp_path: Path
) -> None:
    """A warning about every row reports every row of the lake once."""
    lake = mixed_lake()
    report, quarantined = run_lake(spark, lake, tmp_path, taken="{n} >= 0")
    assert quarantined == []
    warning = next(each for each in report.checks if each.check.name == "even_id")
    samples = {(row.file.removeprefix(f"{tmp_path}/source/"), row.row) for row in warning.samples}
    assert samples == {(path, row) for path, row, _ in places(lake, "id", is_warned)}
