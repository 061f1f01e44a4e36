"""Loads from specs: what is loaded, what is refused, and what a table holds afterwards."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from framework.engine.runner import RunResult
from framework.errors import (
    AuditFailedError,
    CorruptFileError,
    FrameworkError,
    NotYetBuiltError,
    PlanError,
    SourceDriftError,
    UnsupportedTableError,
)
from tests.support.torn import tear
from tests.support.writing import rows_of, run_spec

Row = dict[str, Any]


@dataclass(frozen=True, kw_only=True)
class Shop:
    """A folder with a landing place for files, and a table that they are loaded into."""

    folder: Path

    def land(self, name: str, rows: Sequence[Row] | pa.Table) -> Path:
        """Write a file into the landing place."""
        path = self.folder / "landing" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        pq.write_table(rows if isinstance(rows, pa.Table) else pa.Table.from_pylist(rows), path)
        return path

    def spec(self, operation: str = "upsert", **changes: Any) -> dict[str, Any]:
        """Return the spec; `changes` go into its sections, as `write={…}`."""
        document: dict[str, Any] = {
            "version": 1,
            "table": {
                "name": "shop.orders",
                "location": str(self.folder / "table"),
                "partition_by": {"day": "string"},
                "record_key": {"columns": ["id"], "unique_within": "table"},
                "ordering": {"columns": ["ts"]},
            },
            "source": {"path": str(self.folder / "landing")},
            "write": {"operation": operation},
        }
        for section, values in changes.items():
            if values is None:
                document.pop(section)
            else:
                document[section] = {**document.get(section, {}), **values}
        return document

    def run(
        self, operation: str = "upsert", run_id: str | None = None, **changes: Any
    ) -> RunResult:
        """Run the spec."""
        return run_spec(self.spec(operation, **changes), self.folder, run_id=run_id)

    def rows(self) -> dict[int, str]:
        """Return `day v` of each row by id."""
        found = rows_of(str(self.folder / "table"))
        assert len({row["id"] for row in found}) == len(found)
        return {row["id"]: f"{row['day']} {row['v']}" for row in found}

    def files(self) -> Mapping[str, bytes]:
        """Return every file of the table, but for what a run has of its own."""
        table = self.folder / "table"
        paths = [path for path in table.rglob("*") if path.is_file()]
        return {str(path.relative_to(table)): path.read_bytes() for path in paths}


@pytest.fixture
def shop(tmp_path: Path) -> Shop:
    """A shop with three orders that are loaded."""
    found = Shop(folder=tmp_path)
    found.land("a.parquet", [an_order(n) for n in (1, 2, 3)])
    found.run("insert")
    return found


def an_order(number: int, *, day: str = "mon", ts: int = 1, v: str = "first") -> Row:
    """Return an order."""
    return {"id": number, "day": day, "ts": ts, "v": v}


def account_of(result: RunResult) -> dict[str, int]:
    """Return what became of the input's rows, without what there was none of."""
    account: Any = result.proof["account"]
    return {name: count for name, count in account.items() if count}


def refusal(shop: Shop, kind: type[FrameworkError], *args: Any, **changes: Any) -> FrameworkError:
    """Return the error of a run, which leaves the table byte for byte as it was."""
    before = shop.files()
    with pytest.raises(kind) as caught:
        shop.run(*args, **changes)
    assert shop.files() == before
    return caught.value


def test_load_new_files_alone_are_loaded(shop: Shop) -> None:
    """A second run takes the file that came meanwhile, a third has nothing to do."""
    shop.land("b.parquet", [an_order(2, ts=2, v="second"), an_order(4)])
    assert account_of(shop.run()) == {"input": 2, "inserted": 1, "updated": 1}
    assert shop.rows() == {1: "mon first", 2: "mon second", 3: "mon first", 4: "mon first"}
    assert shop.run().instant is None


def test_load_changed_file_counts_as_new(shop: Shop) -> None:
    """A file of another size or time is loaded again."""
    shop.land("a.parquet", [an_order(1, v="again")])
    assert account_of(shop.run()) == {"input": 1, "updated": 1}


def test_load_of_everything_forgets_nothing(shop: Shop) -> None:
    """`load: all` takes files that were loaded before."""
    assert account_of(shop.run(source={"load": "all"})) == {"input": 3, "updated": 3}


def test_load_of_a_known_run_id_does_nothing(shop: Shop) -> None:
    """The same id twice publishes once, whatever has come meanwhile."""
    shop.land("b.parquet", [an_order(4)])
    assert shop.run(run_id="monday").instant is not None
    shop.land("c.parquet", [an_order(5)])
    assert shop.run(run_id="monday").instant is None
    assert shop.run(run_id="tuesday").instant is not None


def test_upsert_older_row_does_not_win(shop: Shop) -> None:
    """The greater ordering value stays, of equal ones the later row."""
    rows = [an_order(1, ts=0, v="old"), an_order(2, v="tie"), an_order(3, ts=2, v="x")]
    shop.land("b.parquet", [*rows, an_order(3, ts=3, v="new"), an_order(3, ts=2, v="y")])
    assert account_of(shop.run()) == {"input": 5, "updated": 3, "dropped": 2}
    assert shop.rows() == {1: "mon first", 2: "mon tie", 3: "mon new"}


def test_upsert_row_in_another_partition_moves(shop: Shop) -> None:
    """A key is in one partition at a time; an older row moves nothing."""
    shop.land("b.parquet", [an_order(1, day="tue", ts=2, v="moved"), an_order(2, day="tue", ts=0)])
    assert account_of(shop.run()) == {"input": 2, "inserted": 1, "moved": 1, "superseded": 1}
    assert shop.rows() == {1: "tue moved", 2: "mon first", 3: "mon first"}


def test_delete_needs_the_key_alone(shop: Shop) -> None:
    """Rows are deleted wherever they are; a key that is not there is no fault."""
    shop.land("b.parquet", [{"id": 1}, {"id": 9}])
    assert account_of(shop.run("delete")) == {"input": 2, "deleted": 1, "absent": 1}
    assert shop.rows() == {2: "mon first", 3: "mon first"}


def test_insert_overwrite_replaces_the_partitions_of_its_rows(shop: Shop) -> None:
    """Their previous rows are removed; other partitions are unchanged."""
    shop.land("b.parquet", [an_order(7, day="tue")])
    shop.run("insert")
    shop.land("c.parquet", [an_order(8)])
    shop.run("insert_overwrite")
    assert shop.rows() == {7: "tue first", 8: "mon first"}


def test_delete_partition_takes_no_source(shop: Shop) -> None:
    """Partitions are named by path or glob; one that matches nothing is refused."""
    shop.land("b.parquet", [an_order(7, day="tue")])
    shop.run("insert")
    result = shop.run("delete_partition", source=None, write={"partitions": ["day=m*"]})
    assert result.files == 0
    assert shop.rows() == {7: "tue first"}


def test_bulk_insert_fills_no_small_file(shop: Shop) -> None:
    """An insert rewrites the small file, a bulk insert makes a new one."""
    shop.land("b.parquet", [an_order(4)])
    assert shop.run("insert").rows == 4
    shop.land("c.parquet", [an_order(5)])
    assert shop.run("bulk_insert").rows == 1


@pytest.mark.parametrize("operation", ["insert", "bulk_insert"])
def test_insert_of_a_key_that_is_there_is_refused(shop: Shop, operation: str) -> None:
    """The message says which key is taken, and by which row of which file."""
    shop.land("b.parquet", [an_order(9), an_order(2, day="tue")])
    error = refusal(shop, AuditFailedError, operation)
    assert error.condition == "audit/taken-keys"
    assert "for example 2, in row 1 of day=mon/" in error.message


def test_insert_of_a_key_twice_is_refused(shop: Shop) -> None:
    """Two rows with one key are reported with their files and rows."""
    shop.land("b.parquet", [an_order(7), an_order(8)])
    shop.land("c.parquet", [an_order(8, day="tue")])
    error = refusal(shop, AuditFailedError, "insert")
    assert error.condition == "audit/duplicate-keys"
    assert isinstance(error, AuditFailedError)
    samples: Any = error.report["samples"]
    assert [row["row"] for row in samples[0]["rows"]] == [1, 0]


def test_load_of_a_row_without_key_is_refused(shop: Shop) -> None:
    """A null key is reported with its file and row."""
    path = shop.land("b.parquet", [an_order(7), {**an_order(8), "id": None}])
    error = refusal(shop, AuditFailedError)
    assert error.condition == "audit/null-keys"
    assert error.where.file == str(path)


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([{"id": 1, "day": "mon", "v": "x"}], "column 'ts' is missing"),
        ([{**an_order(1), "note": "x"}], "column 'note' is new"),
        ([{**an_order(1), "v": 5}], "column 'v' is int64, but string in the table"),
    ],
)
def test_load_of_other_columns_is_refused(shop: Shop, rows: list[Row], message: str) -> None:
    """Nothing is added, left out or cast without being asked for."""
    shop.land("b.parquet", rows)
    error = refusal(shop, PlanError)
    assert error.condition == "input/schema-differs"
    assert message in error.message


def test_load_with_new_columns_reads_older_rows_with_nulls(shop: Shop) -> None:
    """`add_columns` lets the table grow; rows that are there have nothing in it."""
    shop.land("b.parquet", [{**an_order(4), "note": "x"}])
    shop.run(write={"schema_evolution": "add_columns"})
    notes = {row["id"]: row["note"] for row in rows_of(str(shop.folder / "table"))}
    assert notes == {1: None, 2: None, 3: None, 4: "x"}


def test_load_with_wider_columns_keeps_older_values(tmp_path: Path) -> None:
    """`widen` lets a column grow; values that are there stay."""
    shop = Shop(folder=tmp_path)
    narrow = pa.table({"id": [1], "day": ["mon"], "ts": pa.array([1], pa.int32()), "v": ["a"]})
    shop.land("a.parquet", narrow)
    shop.run("insert")
    shop.land("b.parquet", [an_order(2, ts=1 << 40)])
    assert "wider than the table's" in refusal(shop, PlanError, "insert").message
    shop.run("insert", write={"schema_evolution": "widen"})
    assert {row["ts"] for row in rows_of(str(tmp_path / "table"))} == {1, 1 << 40}


def test_load_of_a_damaged_file_is_refused(shop: Shop) -> None:
    """A file that is not Parquet is reported by name."""
    path = shop.folder / "landing" / "b.parquet"
    path.write_bytes(b"PAR1 nothing PAR1")
    error = refusal(shop, CorruptFileError)
    assert (error.condition, error.where.file) == ("input/corrupt-file", str(path))


def test_load_of_a_file_with_a_bad_page_names_column_and_row_group(shop: Shop) -> None:
    """Behind a sound footer."""
    shop.land("b.parquet", [an_order(2)])
    path = shop.folder / "landing" / "b.parquet"
    column = pq.read_schema(path).get_field_index("v")
    tear(path, column, 0, "data header")
    error = refusal(shop, CorruptFileError)
    assert (error.condition, error.where.file) == ("input/corrupt-file", str(path))
    assert "column 'v' of row group 0: " in error.message


def test_load_of_another_format_needs_spark(shop: Shop) -> None:
    """Without Spark a CSV source is refused by name."""
    error = refusal(shop, NotYetBuiltError, source={"format": "csv", "load": "all"})
    assert error.condition == "input/needs-spark"


def test_load_of_a_missing_source_is_refused(shop: Shop) -> None:
    """A folder that is not there is a fault of the spec."""
    error = refusal(shop, PlanError, source={"path": str(shop.folder / "nowhere")})
    assert error.condition == "source/missing"


@pytest.mark.parametrize(
    ("table", "condition"),
    [
        ({"type": "merge_on_read"}, "plan/immutable-field"),
        ({"record_key": {"columns": ["v"], "unique_within": "table"}}, "plan/immutable-field"),
        ({"partition_by": {"v": "string"}}, "plan/immutable-field"),
        ({"ordering": "commit_time"}, "plan/table-differs"),
    ],
)
def test_load_by_another_spec_is_refused(
    shop: Shop, table: Mapping[str, Any], condition: str
) -> None:
    """What made the table cannot be changed by a later run."""
    shop.land("b.parquet", [an_order(4)])
    assert refusal(shop, PlanError, table=table).condition == condition


@pytest.mark.parametrize(
    ("entry", "condition"),
    [
        ("hoodie.table.version=8", "table/version"),
        ("hoodie.table.metadata.partitions=files", "table/metadata-table"),
        ("hoodie.compaction.payload.class=com.example.Payload", "merge/payload-class"),
        ("hoodie.populate.meta.fields=false", "table/property-not-supported"),
        ("hoodie.table.cdc.enabled=true", "table/property-not-supported"),
        ("hoodie.table.base.file.format=ORC", "table/property-not-supported"),
        (
            "hoodie.datasource.write.drop.partition.columns=true",
            "table/property-not-supported",
        ),
    ],
)
def test_load_into_a_table_of_another_kind_is_refused(
    shop: Shop, entry: str, condition: str
) -> None:
    """Tables that a commit of ours would break are left alone."""
    shop.land("b.parquet", [an_order(4)])
    properties = shop.folder / "table/.hoodie/hoodie.properties"
    properties.write_text(f"{properties.read_text()}{entry}\n")
    assert refusal(shop, UnsupportedTableError).condition == condition


def test_load_beside_another_writer_is_refused(shop: Shop) -> None:
    """A pending instant of another writer stops the run."""
    shop.land("b.parquet", [an_order(4)])
    (shop.folder / "table/.hoodie/20990101000000000.commit.requested").touch()
    assert refusal(shop, FrameworkError).condition == "table/foreign-pending"


@pytest.mark.parametrize("operation", ["delete", "delete_partition"])
def test_load_that_deletes_from_no_table_is_refused(tmp_path: Path, operation: str) -> None:
    """There is nothing to delete where no table is."""
    shop = Shop(folder=tmp_path)
    shop.land("a.parquet", [an_order(1)])
    changes: dict[str, Any] = {}
    if operation == "delete_partition":
        changes = {"source": None, "write": {"partitions": ["day=mon"]}}
    assert refusal(shop, PlanError, operation, **changes).condition == "load/no-table"


def test_load_into_a_bootstrapped_table_leaves_its_skeletons(tmp_path: Path) -> None:
    """The same spec begins the table, then loads; a skipped partition takes no rows."""
    shop = Shop(folder=tmp_path)
    for day, number in (("mon", 1), ("tue", 2), ("wed", 3)):
        folder = tmp_path / f"raw/day={day}"
        folder.mkdir(parents=True)
        pq.write_table(pa.table({"id": [number], "ts": [1], "v": ["raw"]}), folder / "0.parquet")
    rules = [{"partition": "day=wed", "mode": "skip", "reason": "not yet"}]
    bootstrap = {"path": str(tmp_path / "raw"), "layout": "hive", "rules": rules}
    shop.land("a.parquet", [an_order(2, day="tue", ts=2, v="new"), an_order(4, day="mon")])
    assert shop.run(bootstrap=bootstrap).instant == "00000000000001"
    assert account_of(shop.run(bootstrap=bootstrap)) == {"input": 2, "inserted": 1, "updated": 1}
    assert shop.rows() == {1: "mon raw", 2: "tue new", 4: "mon first"}
    shop.land("b.parquet", [an_order(5, day="wed")])
    error = refusal(shop, PlanError, bootstrap=bootstrap)
    assert error.condition == "load/skipped-partition"


def test_load_with_automatic_keys_numbers_rows_once(tmp_path: Path) -> None:
    """Keys have instant, file and row; rows with a key are updated or deleted by it."""
    shop = Shop(folder=tmp_path)
    shop.land("a.parquet", [an_order(1), an_order(1)])
    shop.land("b.parquet", [an_order(1)])
    first = shop.run("insert", table={"record_key": "auto"})
    found = {row["_hoodie_record_key"] for row in rows_of(str(tmp_path / "table"))}
    assert found == {f"{first.instant}_{key}" for key in ("0_0", "0_1", "1_0")}
    known = f"{first.instant}_0_1"
    shop.land("c.parquet", [{**an_order(2, ts=2), "_hoodie_record_key": known}])
    assert account_of(shop.run(table={"record_key": "auto"})) == {"input": 1, "updated": 1}
    shop.land("d.parquet", [{"_hoodie_record_key": known}])
    assert account_of(shop.run("delete", table={"record_key": "auto"})) == {
        "input": 1,
        "deleted": 1,
    }
    assert len(rows_of(str(tmp_path / "table"))) == 2


def test_load_whose_file_goes_away_is_refused(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file that disappears after its listing stops the run, which may be retried."""
    path = shop.land("b.parquet", [an_order(4)])
    original = run_spec.__globals__["run"]

    def gone(*args: Any, **options: Any) -> Any:
        path.unlink()
        return original(*args, **options)

    monkeypatch.setitem(run_spec.__globals__, "run", gone)
    assert refusal(shop, SourceDriftError).condition == "input/drift"
    assert not path.exists()
