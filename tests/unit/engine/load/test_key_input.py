"""Input that is read in pieces: nothing depends on where it is cut."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from framework.engine.load import dedup, key_input
from framework.engine.load.dedup import Bucket, read_batches, taken_rows
from framework.engine.load.key_input import Part
from framework.engine.runner import RunResult, run
from framework.engine.tasks import InProcessTasks
from framework.errors import AuditFailedError
from framework.hudi.storage.memory import MemoryStorage
from framework.hudi.storage.port import Storage
from framework.vocabulary import KeyScope, PartitionType, WriteOperation
from tests.support.writing import Lake, a_load_plan, rows_of

ROWS = 100


@pytest.fixture
def in_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let tasks hold seven rows."""
    monkeypatch.setattr(key_input, "_CHUNK_ROWS", 7)


def a_lake(folder: Path, **more: Any) -> Lake:
    """Return a table."""
    folder.mkdir()
    return Lake(folder=folder, scope=KeyScope.TABLE, ordering="ts", **more)


def land(lake: Lake, name: str, ids: Sequence[int | None]) -> Path:
    """Write a file of small row groups."""
    rows = [{"id": n, "day": "abc"[at % 3], "ts": at, "v": f"{at}"} for at, n in enumerate(ids)]
    schema = pa.schema(
        [("id", pa.int64()), ("day", pa.string()), ("ts", pa.int64()), ("v", pa.string())]
    )
    path = lake.folder / name
    pq.write_table(pa.Table.from_pylist(rows, schema), path, row_group_size=5)
    return path


def rows_without_meta(lake: Lake) -> list[tuple[Any, ...]]:
    """Return the table's rows with their keys."""
    names = ("_hoodie_record_key", "id", "day", "ts", "v")
    return sorted(tuple(row[name] for name in names) for row in rows_of(lake.location))


def test_rows_in_pieces_make_the_same_table(tmp_path: Path, request: pytest.FixtureRequest) -> None:
    """Keys that occur twice are found over all pieces, and the later row stays."""
    ids = [*range(ROWS), 3, 50, 99]
    found = []
    for name in ("whole", "pieces"):
        lake = a_lake(tmp_path / name)
        files = [str(land(lake, "a.parquet", ids)), str(land(lake, "b.parquet", [7, 200]))]
        if name == "pieces":
            request.getfixturevalue("in_pieces")
        plan: Any = run_load(lake, WriteOperation.UPSERT, *files)
        assert plan.proof["account"]["input"] == len(ids) + 2
        found.append(rows_without_meta(lake))
    assert found[0] == found[1]
    assert len(found[0]) == ROWS + 1


@pytest.mark.parametrize("partition", [{"day": PartitionType.STRING}, {}])
def test_rows_too_large_to_move_at_once_make_the_same_table(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, partition: dict[str, Any]
) -> None:
    """A column of texts holds two gigabytes; here no bytes at all are moved at once."""
    ids = [*range(ROWS), 3, 50, 99]
    found = []
    for limit in (key_input._MOVED_BYTES, 0):  # noqa: SLF001
        monkeypatch.setattr(key_input, "_MOVED_BYTES", limit)
        lake = a_lake(tmp_path / str(limit), partition=partition)
        run_load(lake, WriteOperation.UPSERT, str(land(lake, "a.parquet", ids)))
        found.append(rows_without_meta(lake))
    assert found[0] == found[1]
    assert len(found[0]) == ROWS


@pytest.mark.usefixtures("in_pieces")
def test_automatic_keys_count_on_over_the_pieces_of_a_file(tmp_path: Path) -> None:
    """The number is the place in the file, whatever was read together."""
    lake = replace(a_lake(tmp_path / "lake"), record_key=())
    land(lake, "a.parquet", list(range(ROWS)))
    result = run_load(lake, WriteOperation.INSERT, str(lake.folder / "a.parquet"))
    expected = {(f"{result.instant}_0_{n}", n) for n in range(ROWS)}
    assert {(row[0], row[1]) for row in rows_without_meta(lake)} == expected


@pytest.mark.usefixtures("in_pieces")
def test_row_without_a_key_is_reported_with_its_place_in_the_file(tmp_path: Path) -> None:
    """Not by its place in the piece."""
    lake = a_lake(tmp_path / "lake")
    land(lake, "a.parquet", [*range(40), None, *range(41, 60)])
    with pytest.raises(AuditFailedError) as caught:
        run_load(lake, WriteOperation.INSERT, str(lake.folder / "a.parquet"))
    assert caught.value.condition == "audit/null-keys"
    assert "40" in str(caught.value.report)


def run_load(lake: Lake, operation: WriteOperation, *files: str) -> RunResult:
    """Load files as they are."""
    return run(a_load_plan(lake, operation, files), InProcessTasks(1))


@pytest.mark.property
@settings(deadline=None)
@given(
    counts=st.lists(st.integers(1, 5), min_size=1, max_size=6),
    chosen=st.lists(st.integers(0, 1_000), max_size=12),
)
def test_taken_rows_are_those_of_the_places(counts: list[int], chosen: list[int]) -> None:
    """In any order, also repeated; parts without one of them are not read."""
    storage = MemoryStorage("taken")
    storage.forget()
    total = sum(counts)
    parts, at = [], 0
    with storage.create("rows", durable=False) as out:
        schema = pa.schema([("a", pa.int64()), ("b", pa.int64())])
        with pa.ipc.new_file(out, schema) as writer:
            for number, count in enumerate(counts):
                values = pa.array(range(at, at + count), pa.int64())
                writer.write_batch(pa.record_batch([values, values], schema=schema))
                parts.append(Part(f"p{number % 2}", count, "rows", number))
                at += count
    rows = np.array([place % total for place in chosen], np.int64)
    read: list[int] = []

    def watched(storage: Storage, parts: Sequence[Any], names: Sequence[str]) -> Any:
        read.extend(part.batch for part in parts)
        return read_batches(storage, parts, names)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(dedup, "read_batches", watched)
        found = taken_rows(storage, Bucket(parts=parts), ["b"], rows)
    assert ([] if found is None else found["b"].to_pylist()) == rows.tolist()
    ends = np.cumsum(counts)
    assert read == sorted({int(np.searchsorted(ends, row, side="right")) for row in rows})
