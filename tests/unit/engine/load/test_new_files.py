"""Loads that write their rows straight into new files: when they do, and what they write."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from framework.engine.events import StageFinished
from framework.engine.load import new_files, new_files_task
from framework.engine.tasks import InProcessTasks
from framework.errors import AuditFailedError
from framework.hudi.filegroup.base_file import read_key_footer
from framework.hudi.storage.locations import open_storage
from framework.vocabulary import KeyScope, MissingColumns, TableType, WriteOperation
from tests.support.storage_suite import tree
from tests.support.writing import Lake, load, rows_of

pytestmark = pytest.mark.long

_STRAIGHT = "a new table: rows go straight into new files"


def some_orders(first: int, count: int, days: int = 3) -> pa.Table:
    """Return orders with numbers from `first` on, spread over days."""
    ids = np.arange(first, first + count)
    return pa.table(
        {
            "id": ids,
            "day": pa.array([f"d{number % days}" for number in ids], pa.string()),
            "state": pa.array([("open", "paid")[number % 2] for number in ids], pa.string()),
            "note": pa.array([f"note {number}" for number in ids], pa.string()),
        }
    )


def tag_summary(lake: Lake, *parts: Any, tasks: int = 1, **changes: Any) -> str | None:
    """Bulk insert parts, and return the summary of the step that looks keys up."""
    seen: list[object] = []
    load(
        lake,
        WriteOperation.BULK_INSERT,
        *parts,
        tasks=InProcessTasks(tasks),
        events=seen.append,
        **changes,
    )
    found = [each for each in seen if isinstance(each, StageFinished) and each.stage == "tag"]
    return found[0].summary


def values(lake: Lake) -> Counter[tuple[Any, ...]]:
    """Return the rows of a table without meta columns, each with how often it occurs."""
    columns = ("id", "day", "state", "note")
    return Counter(tuple(row[name] for name in columns) for row in rows_of(lake.location))


def expected(*parts: pa.Table) -> Counter[tuple[Any, ...]]:
    """Return the same of an input."""
    return Counter(tuple(row.values()) for part in parts for row in part.to_pylist())


@pytest.mark.parametrize("kind", TableType)
@pytest.mark.parametrize("scope", KeyScope)
def test_bulk_insert_into_a_new_table_writes_each_row_once_into_new_files(
    tmp_path: Path, kind: TableType, scope: KeyScope
) -> None:
    """The rows are those of the input, each with the key, partition and file name it is in."""
    lake = Lake(folder=tmp_path, type=kind, scope=scope)
    parts = some_orders(0, 50), some_orders(50, 30)
    assert tag_summary(lake, *parts) == _STRAIGHT
    assert values(lake) == expected(*parts)
    for row in rows_of(lake.location):
        assert row["_hoodie_record_key"] == str(row["id"])
        assert row["_hoodie_partition_path"] == f"day={row['day']}"
        assert (lake.folder / "table" / f"day={row['day']}" / row["_hoodie_file_name"]).exists()


def test_bulk_insert_into_a_table_that_exists_looks_its_keys_up(tmp_path: Path) -> None:
    """Only a new table has no keys."""
    lake = Lake(folder=tmp_path)
    load(lake, WriteOperation.INSERT, some_orders(0, 5))
    assert tag_summary(lake, some_orders(5, 5)) != _STRAIGHT
    assert values(lake) == expected(some_orders(0, 10))


def test_upsert_into_a_new_table_chooses_among_rows_with_one_key(tmp_path: Path) -> None:
    """Such rows must be compared, so they do not go straight into files."""
    lake = Lake(folder=tmp_path)
    load(lake, WriteOperation.UPSERT, some_orders(0, 5), some_orders(2, 5))
    assert values(lake) == expected(some_orders(0, 7))


@pytest.mark.parametrize(("target", "goes"), [(1_000, "straight"), (1 << 20, "compared")])
def test_bulk_insert_of_several_tasks_goes_straight_only_if_files_are_large_enough(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, target: int, goes: str
) -> None:
    """Each task has files of its own, so that with few rows they would be small."""
    monkeypatch.setattr(new_files, "ROWS_PER_TASK", 10)
    lake = Lake(folder=tmp_path)
    parts = [some_orders(first, 40) for first in range(0, 160, 40)]
    found = tag_summary(lake, *parts, tasks=2, target_file_size=target)
    assert (found == _STRAIGHT) is (goes == "straight")
    assert values(lake) == expected(*parts)


def test_bulk_insert_of_several_tasks_completes_files_at_their_target_size(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Several files of each partition come from each task; no name or number occurs twice."""
    monkeypatch.setattr(new_files, "ROWS_PER_TASK", 10)
    monkeypatch.setattr(new_files_task, "_HELD_ROWS", 25)
    lake = Lake(folder=tmp_path)
    parts = [some_orders(first, 100) for first in range(0, 400, 100)]
    assert tag_summary(lake, *parts, tasks=2, target_file_size=500) == _STRAIGHT
    assert values(lake) == expected(*parts)
    rows = rows_of(lake.location)
    assert len({row["_hoodie_commit_seqno"] for row in rows}) == len(rows)
    files = Counter((row["_hoodie_partition_path"], row["_hoodie_file_name"]) for row in rows)
    assert len(files) > 12
    assert set(Counter(path for path, _ in files)) == {f"day=d{n}" for n in range(3)}


def test_bulk_insert_with_too_many_open_rows_completes_the_largest_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The bytes that a task holds stay bounded, whatever the number of partitions."""
    monkeypatch.setattr(new_files_task, "_HELD_ROWS", 10)
    monkeypatch.setattr(new_files_task, "_OPEN_ROWS", 30)
    lake = Lake(folder=tmp_path)
    parts = [some_orders(first, 20, days=2) for first in range(0, 100, 20)]
    tag_summary(lake, *parts)
    assert values(lake) == expected(*parts)
    files = {row["_hoodie_file_name"] for row in rows_of(lake.location)}
    assert len(files) > 2


def test_bulk_insert_of_rows_larger_than_the_bound_holds_a_part_of_them_at_a_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A piece of the input whose values are huge is split before it is moved."""
    monkeypatch.setattr(new_files_task, "_HELD_BYTES", 200)
    lake = Lake(folder=tmp_path)
    part = some_orders(0, 60)
    tag_summary(lake, part)
    assert values(lake) == expected(part)
    name = next(key for key in tree(open_storage(lake.location)) if key.endswith(".parquet"))
    assert pq.ParquetFile(Path(lake.location) / name).num_row_groups > 2


def test_bulk_insert_of_texts_that_are_dictionaries_in_some_files_writes_equal_values(
    tmp_path: Path,
) -> None:
    """The first file decides what is read as a dictionary; others may lack the column."""
    first = some_orders(0, 3_000)
    second = some_orders(3_000, 500)
    numbers = pa.array([f"state {number}" for number in range(500)])
    second = second.set_column(2, "state", numbers)
    third = some_orders(3_500, 40).drop_columns(["state"])
    lake = Lake(folder=tmp_path)
    summary = tag_summary(lake, first, second, third, missing=MissingColumns.SET_NULL)
    assert summary == _STRAIGHT
    empty = third.add_column(2, "state", pa.nulls(40, pa.string()))
    assert values(lake) == expected(first, second, empty)


def test_bulk_insert_with_one_key_in_two_files_names_the_rows_of_the_input(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The gate finds it in what two tasks wrote; the report names where it comes from."""
    monkeypatch.setattr(new_files, "ROWS_PER_TASK", 10)
    lake = Lake(folder=tmp_path)
    parts = some_orders(0, 30), some_orders(30, 30), some_orders(27, 1)
    with pytest.raises(AuditFailedError) as caught:
        tag_summary(lake, *parts, tasks=2, target_file_size=500)
    assert caught.value.condition == "audit/duplicate-keys"
    report: Any = caught.value.report
    assert [sample["key"] for sample in report["samples"]] == ["27"]
    places = [(Path(row["file"]).name, row["row"]) for row in report["samples"][0]["rows"]]
    assert places == [("00000.parquet", 27), ("00002.parquet", 0)]
    assert not [key for key in tree(open_storage(lake.location)) if key.endswith(".commit")]


def test_bulk_insert_of_rows_without_a_key_names_them(tmp_path: Path) -> None:
    """Such rows are counted, and nothing is published."""
    part = some_orders(0, 5)
    part = part.set_column(0, "id", pa.array([0, None, 2, None, 4], pa.int64()))
    lake = Lake(folder=tmp_path)
    with pytest.raises(AuditFailedError) as caught:
        tag_summary(lake, some_orders(10, 5), part)
    assert caught.value.condition == "audit/null-keys"
    report: Any = caught.value.report
    assert [(Path(s["file"]).name, s["row"]) for s in report["samples"]] == [
        ("00001.parquet", 1),
        ("00001.parquet", 3),
    ]


def test_bulk_insert_straight_into_files_gives_each_a_filter_and_bounds_of_its_keys(
    tmp_path: Path,
) -> None:
    """A later upsert finds keys by them, so they must be right."""
    lake = Lake(folder=tmp_path, partition={}, scope=KeyScope.TABLE)
    tag_summary(lake, some_orders(0, 40), some_orders(40, 40))
    storage = open_storage(lake.location)
    (name,) = [key for key in tree(storage) if key.endswith(".parquet")]
    footer = read_key_footer(storage, name)
    keys = pa.array([str(number) for number in range(80)])
    held: Any = footer.might_contain(keys)
    assert held.all()
    other: Any = footer.might_contain(pa.array([str(number) for number in range(80, 500)]))
    assert not other.any()
    assert (footer.least, footer.greatest) == ("0", "9")


def test_bulk_insert_with_automatic_keys_gives_each_row_another(tmp_path: Path) -> None:
    """The numbers are those of the input's files and rows."""
    lake = Lake(folder=tmp_path, record_key=())
    parts = some_orders(0, 30), some_orders(0, 30)
    assert tag_summary(lake, *parts) == _STRAIGHT
    assert values(lake) == expected(*parts)
    keys = [row["_hoodie_record_key"] for row in rows_of(lake.location)]
    assert len(set(keys)) == 60


@st.composite
def limits(draw: st.DrawFn) -> dict[str, int]:
    """Draw the limits of a task's memory."""
    return {"_HELD_ROWS": draw(st.integers(1, 50)), "_OPEN_ROWS": draw(st.integers(1, 60))}


@settings(max_examples=15, deadline=None)
@given(
    sizes=st.lists(st.integers(0, 40), min_size=1, max_size=5),
    days=st.integers(1, 6),
    most=limits(),
    shape=st.tuples(st.integers(1, 3), st.integers(200, 4_000)),
)
def test_bulk_insert_within_any_limits_leaves_the_rows_of_the_input(
    tmp_path_factory: pytest.TempPathFactory,
    sizes: Sequence[int],
    days: int,
    most: dict[str, int],
    shape: tuple[int, int],
) -> None:
    """Whatever the limits, no row is lost or doubled, and the commit counts them."""
    starts = np.cumsum([0, *sizes]).tolist()
    parts = [some_orders(at, size, days) for at, size in zip(starts, sizes, strict=False)]
    lake = Lake(folder=tmp_path_factory.mktemp("bulk"))
    tasks, file_size = shape
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(new_files, "ROWS_PER_TASK", 10)
        for name, value in most.items():
            patch.setattr(new_files_task, name, value)
        tag_summary(lake, *parts, tasks=tasks, target_file_size=file_size)
    assert values(lake) == expected(*parts)
    (commit,) = (Path(lake.location) / ".hoodie").glob("*.commit")
    stats = json.loads(commit.read_text())["partitionToWriteStats"]
    assert sum(each["numInserts"] for path in stats.values() for each in path) == sum(sizes)
