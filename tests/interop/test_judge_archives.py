"""Apache Hudi archives every commit of ours; what the table remembers of them stays known."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from framework.engine.reading.table_memory import read_memory
from framework.errors import CorruptFileError
from framework.hudi.storage.locations import open_storage
from framework.hudi.timeline.timeline import load_timeline
from tests.interop.judge import Judge
from tests.interop.printed import printed_options
from tests.support.writing import run_spec

pytestmark = pytest.mark.interop

ARCHIVE_SOON = {
    "hoodie.keep.min.commits": "2",
    "hoodie.keep.max.commits": "3",
    "hoodie.cleaner.commits.retained": "1",
    "hoodie.clean.commits.retained": "1",
}
SCHEMA = pa.schema([("id", pa.int64()), ("v", pa.string()), ("day", pa.string())])
WRITES = 6


def _file(path: Path, ids: range, day: str, value: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    rows = [{"id": each, "v": value, "day": day} for each in ids]
    pq.write_table(pa.Table.from_pylist(rows, SCHEMA), path)


def _document(folder: Path, kind: str) -> Mapping[str, Any]:
    """Return a spec that adopts two days, leaves one outside, and inserts what lands."""
    return {
        "version": 1,
        "table": {
            "name": "shop.orders",
            "location": str(folder / "table"),
            "type": kind,
            "partition_by": {"day": "string"},
            "record_key": {"columns": ["id"], "unique_within": "partition"},
            **({"ordering": "commit_time"} if kind == "merge_on_read" else {}),
        },
        "bootstrap": {
            "path": str(folder / "source"),
            "layout": "hive",
            "mode": "metadata_only",
            "rules": [{"partition": "day=d3", "mode": "skip", "reason": "not ours"}],
        },
        "source": {"path": str(folder / "landing")},
        "write": {"operation": "insert"},
    }


def archived_table(judge: Judge, folder: Path, kind: str) -> tuple[Mapping[str, Any], Path]:
    """Return spec and location of a table whose commits of ours Apache Hudi has archived."""
    for day in ("d1", "d2", "d3"):
        _file(folder / f"source/day={day}/a.parquet", range(4), day, "adopted")
    _file(folder / "landing/one.parquet", range(10, 14), "d1", "landed")
    spec, location = _document(folder, kind), folder / "table"
    assert run_spec(spec, folder).instant is not None
    assert run_spec(spec, folder, run_id="monday").instant is not None
    batch = folder / "theirs.parquet"
    _file(batch, range(2), "d1", "theirs")
    options = {**printed_options(location), **ARCHIVE_SOON}
    for _ in range(WRITES):
        judge.upsert(location, batch, options)
    active = load_timeline(open_storage(str(location))).completed
    assert not [each for each in active if b"lakestrap" in (location / each.path).read_bytes()]
    return spec, location


@pytest.mark.taking_turns
@pytest.mark.parametrize("kind", ["copy_on_write", "merge_on_read"])
def test_memory_of_a_table_outlives_its_archived_commits(
    kind: str, judge: Judge, tmp_path: Path
) -> None:
    """Loaded files stay loaded, run ids stay taken, a skipped partition stays closed."""
    spec, location = archived_table(judge, tmp_path, kind)
    assert len(judge.rows(location, ["id", "v", "day"])) == 12
    assert run_spec(spec, tmp_path).instant is None
    _file(tmp_path / "landing/two.parquet", range(20, 22), "d2", "landed")
    assert run_spec(spec, tmp_path, run_id="monday").instant is None
    assert run_spec(spec, tmp_path, run_id="tuesday").instant is not None
    assert len(judge.rows(location, ["id", "v", "day"])) == 14
    storage = open_storage(str(location))
    memory = read_memory(storage, load_timeline(storage))
    assert memory is not None
    assert memory.facts is not None
    assert memory.facts.skipped == ("day=d3",)


@pytest.mark.full
def test_load_into_a_table_that_lost_its_state_is_refused(judge: Judge, tmp_path: Path) -> None:
    """Only the archive says that the table has one; nothing is loaded a second time."""
    spec, location = archived_table(judge, tmp_path, "copy_on_write")
    shutil.rmtree(location / ".hoodie/.lakestrap/state")
    with pytest.raises(CorruptFileError) as lost:
        run_spec(spec, tmp_path)
    assert lost.value.condition == "state/lost"
