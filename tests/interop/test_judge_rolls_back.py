"""Apache Hudi rolls back what a dead run of ours left, and no row of it ever shows."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from framework.hudi.table.layout import PROPERTIES
from tests.interop.cases import CASES, Case
from tests.interop.judge import Judge, JudgeError
from tests.interop.queries import Query, expected_rows
from tests.interop.upserts import upsert_for, write_batch, writer_options

BY_NAME = {case.name: case for case in CASES}
INSTANT = "00000000000001"
WRITES_UNTIL_ARCHIVED = 5
ARCHIVE_SOON = {
    "hoodie.keep.min.commits": "2",
    "hoodie.keep.max.commits": "3",
    "hoodie.cleaner.commits.retained": "1",
    "hoodie.clean.commits.retained": "1",
}


@pytest.mark.interop
@pytest.mark.taking_turns
@pytest.mark.parametrize("name", ["mixed", "merge-on-read"])
def test_next_write_by_the_judge_removes_a_dead_run(
    name: str,
    judge: Judge,
    table_copy: Callable[[Case], Path],
    tmp_path: Path,
) -> None:
    """Only the judge's rows are there, now and when its timeline has moved past our instant."""
    case = BY_NAME[name]
    location = table_copy(case)
    _make_dead(location)
    upsert = upsert_for(case, index="SIMPLE")
    batch = write_batch(case, upsert, tmp_path / "batch.parquet")
    query = Query(name="data", columns=tuple(case.schema.names))
    expected = expected_rows(case, upsert.batch, query)
    options = {
        **writer_options(case, "SIMPLE"),
        **ARCHIVE_SOON,
        "hoodie.datasource.write.table.type": case.table_type.upper(),
    }
    for _ in range(WRITES_UNTIL_ARCHIVED):
        judge.upsert(location, batch, options)
    assert not list((location / ".hoodie").glob(f"{INSTANT}*"))
    assert judge.rows(location, query.columns) == expected
    assert not list(location.rglob(f"*_{INSTANT}.parquet"))


@pytest.mark.interop
@pytest.mark.taking_turns
def test_a_dead_bootstrap_without_properties_is_refused_by_the_judge_and_untouched(
    judge: Judge, table_copy: Callable[[Case], Path], tmp_path: Path
) -> None:
    """Where no table was published, a Hudi job neither reads, nor writes, nor deletes."""
    case = BY_NAME["hive"]
    location = table_copy(case)
    _make_dead(location)
    (location / PROPERTIES).unlink()
    before = sorted(location.rglob("*"))
    batch = write_batch(case, upsert_for(case, index="SIMPLE"), tmp_path / "batch.parquet")
    with pytest.raises(JudgeError, match=r"hoodie\.properties|TableNotFound"):
        judge.rows(location)
    with pytest.raises(JudgeError, match=r"hoodie\.properties"):
        judge.upsert(location, batch, writer_options(case, "SIMPLE"))
    assert sorted(location.rglob("*")) == before


def _make_dead(location: Path) -> None:
    """Turn an adopted table into what a run leaves that was killed just before it published."""
    written = [path.relative_to(location) for path in location.rglob(f"*_{INSTANT}.parquet")]
    in_table = [path.as_posix() for path in written if path.parts[0] != ".hoodie"]
    hoodie = location / ".hoodie"
    for completed in (*hoodie.glob(f"{INSTANT}.commit"), *hoodie.glob(f"{INSTANT}.deltacommit")):
        completed.unlink()
    markers = hoodie / ".temp" / INSTANT
    markers.mkdir(parents=True)
    (markers / "MARKERS.type").write_text("TIMELINE_SERVER_BASED")
    lines = [f"{path}.marker.CREATE\n" for path in in_table]
    (markers / "MARKERS0").write_text("".join(lines))
