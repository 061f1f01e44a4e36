"""Whole tables on a server of S3 with a disk, without Spark: rows against a dictionary."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from framework.engine.fsck.table_check import check_table
from framework.engine.prepare import PlanningContext, Prepared, Request, prepare
from framework.engine.runner import run
from framework.engine.tasks import InProcessTasks, Tasks
from framework.errors import RetryableError, SourceDriftError
from framework.hudi.storage.locations import open_storage
from framework.hudi.storage.store_settings import STORAGE_VARIABLE
from framework.hudi.timeline.timeline import load_timeline
from framework.vocabulary import KeyScope, TableType, WriteOperation
from tests.support.load_model import KEY, Player, Setting
from tests.support.meddling import WRITING, Meddling
from tests.support.storage_suite import tree
from tests.support.versity import Versity
from tests.support.writing import rows_of, run_spec

pytestmark = [pytest.mark.lake, pytest.mark.timeout(1200)]

_DAYS = ("a", "b")
_MODES = ("metadata_only", "full_record", "mixed")
_TASKS = InProcessTasks(2)
_WRITERS = 8


@pytest.fixture
def source(versity: Versity, bucket: str) -> str:
    """Return a data set of two days in a bucket of its own."""
    del bucket  # it makes this process reach the server
    folder = f"s3a://{versity.server.new_bucket()}/raw x"
    for day in _DAYS:
        for file in range(2):
            ids = [10 * file + number for number in range(4)]
            put_rows(folder, f"day={day}/c%20d+e#{file}.parquet", ids, "old")
    return folder


def put_rows(folder: str, name: str, ids: list[int], v: str, *, ts: int = 1, **more: str) -> None:
    """Write a Parquet file of rows."""
    same = {"ts": ts, "v": v, **more}
    columns = {"id": ids, **{name: [value] * len(ids) for name, value in same.items()}}
    with open_storage(folder).create(name) as out:
        pq.write_table(pa.table(columns), out)


def a_document(table: str, source: str, *, mode: str, kind: TableType) -> dict[str, Any]:
    """Return the spec of a bootstrap and of loads."""
    rules = [{"partition": "day=b", "mode": "full_record", "reason": "both kinds"}]
    return {
        "version": 1,
        "table": {
            "name": "a.loaded",
            "location": table,
            "type": kind.value,
            "partition_by": {"day": "string"},
            "record_key": {"columns": ["id"], "unique_within": "partition"},
            "ordering": {"columns": ["ts"]},
        },
        "bootstrap": {
            "path": source,
            "layout": "hive",
            "mode": "metadata_only" if mode == "mixed" else mode,
            **({"rules": rules} if mode == "mixed" else {}),
        },
        "maintenance": {"enabled": False},
    }


@pytest.mark.parametrize("kind", list(TableType))
@pytest.mark.parametrize("mode", _MODES)
def test_table_is_adopted_and_loaded_by_every_operation(
    kind: TableType, mode: str, bucket: str, source: str, tmp_path: Path
) -> None:
    """The rows of now and of each instant; the source, in another bucket, stays as it is."""
    table, before = f"s3a://{bucket}/lake/t", tree(open_storage(source))
    run_spec(a_document(table, source, mode=mode, kind=kind), tmp_path)
    setting = Setting(kind=kind, scope=KeyScope.PARTITION, partitioned=True, automatic=False)
    player = Player(setting, setting.lake(tmp_path, table))
    for row in rows_of(table):
        known = {name: row[name] for name in ("id", "day", "ts", "v")}
        player.rows[player.key(known, "")] = {**known, KEY: None}, row["_hoodie_commit_time"]
    assert len(player.rows) == 16
    player.play([(operation, rows(number)) for number, operation in enumerate(_OPERATIONS)])
    assert len(player.history) == len(_OPERATIONS)
    player.check_history(player.in_process)
    assert check_table(table, _TASKS, deep=True).findings == ()
    assert tree(open_storage(source)) == before


_OPERATIONS = (
    WriteOperation.UPSERT,
    WriteOperation.DELETE,
    WriteOperation.INSERT,
    WriteOperation.BULK_INSERT,
    WriteOperation.UPSERT,
    WriteOperation.INSERT_OVERWRITE,
    WriteOperation.UPSERT,
    WriteOperation.DELETE_PARTITION,
    WriteOperation.UPSERT,
)


def rows(number: int) -> list[dict[str, Any]]:
    """Return some rows of a load: new ones in both days, and such as the source has."""
    inserts = _OPERATIONS[number] in {WriteOperation.INSERT, WriteOperation.BULK_INSERT}
    ids = (20 + number, 30 + number) if inserts else (number, number + 1, 10, 20 + number)
    days = ("b", None) if _OPERATIONS[number] is WriteOperation.DELETE_PARTITION else ("a", "b")
    return [{"id": each, "day": day, "ts": 2} for each in ids for day in days]


def prepared(document: Mapping[str, Any], folder: Path) -> Prepared:
    """Return the plan of a spec."""
    spec = folder / "s3.pipeline.yml"
    spec.write_text(json.dumps(document))
    scratch = Path(mkdtemp(dir=folder))
    return prepare(Request(path=spec), PlanningContext(tasks=_TASKS, scratch=scratch))


def executed(document: Mapping[str, Any], folder: Path, tasks: Tasks = _TASKS) -> str:
    """Run a spec, and return the case of its plan."""
    plan = prepared(document, folder).plan
    run(plan, tasks)
    return plan.case.value


def _stop() -> None:
    """Do what Ctrl-C does."""
    raise KeyboardInterrupt


def test_interrupted_bootstrap_is_resumed_with_the_files_that_it_has_written(
    bucket: str, source: str, tmp_path: Path
) -> None:
    """They are not written again, and nothing of the run is left."""
    table = f"s3a://{bucket}/lake/t"
    document = a_document(table, source, mode="mixed", kind=TableType.COPY_ON_WRITE)
    meddling = Meddling(after=WRITING, act=_stop, statuses=1)
    with pytest.raises(KeyboardInterrupt):
        executed(document, tmp_path, meddling)
    assert meddling.acted == 1
    written = times(table)
    assert written
    assert open_storage(table).stat(".hoodie/hoodie.properties") is None
    time.sleep(1.1)  # the store's times are whole seconds
    assert executed(document, tmp_path) == "resume"
    assert {name: at for name, at in times(table).items() if name in written} == written
    assert len(rows_of(table)) == 16
    assert check_table(table, _TASKS, deep=True).findings == ()


def times(table: str) -> dict[str, int]:
    """Return when each base file was created."""
    entries = [each for day in _DAYS for each in open_storage(table).list(f"day={day}")]
    return {each.path: each.mtime_ns for each in entries if each.name.endswith(".parquet")}


def change(source: str, versity: Versity) -> None:
    """Replace a file of the source by one of the same size."""
    name, bucket = "day=a/c%20d+e#0.parquet", source.removeprefix("s3a://").split("/")[0]
    put_rows(f"s3a://{bucket}/other", "f", [0, 1, 2, 5], "old")
    with open_storage(f"s3a://{bucket}/other").open_input("f") as changed:
        data = changed.read()
    entry = open_storage(source).stat(name)
    assert entry is not None
    assert entry.size == len(data)
    versity.server.put(bucket, f"raw x/{name}", data)


def test_source_that_changes_between_plan_and_commit_is_drift(
    bucket: str, source: str, versity: Versity, tmp_path: Path
) -> None:
    """By its ETag, also within a second; no table is made."""
    table = f"s3a://{bucket}/lake/t"
    document = a_document(table, source, mode="metadata_only", kind=TableType.COPY_ON_WRITE)
    plan = prepared(document, tmp_path).plan
    change(source, versity)
    with pytest.raises(SourceDriftError):
        run(plan, _TASKS)
    assert open_storage(table).stat(".hoodie/hoodie.properties") is None


def test_source_file_that_changed_after_its_adoption_is_reported(
    bucket: str, source: str, versity: Versity, tmp_path: Path
) -> None:
    """By fsck."""
    table = f"s3a://{bucket}/lake/t"
    run_spec(
        a_document(table, source, mode="metadata_only", kind=TableType.COPY_ON_WRITE), tmp_path
    )
    assert check_table(table, _TASKS).findings == ()
    change(source, versity)
    assert [each.condition for each in check_table(table, _TASKS).findings] == ["source/drifted"]


def _upsert(stores: str, table: str, folder: str, writer: int) -> int:
    """Load rows of one writer; return how often other writers were in the way."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(STORAGE_VARIABLE, stores)
        document = a_document(table, "", mode="", kind=TableType.MERGE_ON_READ)
        del document["bootstrap"]
        document["source"] = {"path": f"{table}-new-{writer}", "format": "parquet"}
        document["write"] = {"operation": "upsert"}
        for waits in range(1000):
            try:
                run_spec(document, Path(folder))
            except RetryableError:
                time.sleep(0.2)
            else:
                return waits
    raise AssertionError("never done")


def test_eight_writers_publish_one_after_the_other(
    bucket: str, source: str, versity: Versity, tmp_path: Path
) -> None:
    """Each instant has one winner, and the rows of all are there once."""
    table = f"s3a://{bucket}/lake/t"
    run_spec(
        a_document(table, source, mode="metadata_only", kind=TableType.MERGE_ON_READ), tmp_path
    )
    for writer in range(_WRITERS):
        put_rows(f"{table}-new-{writer}", "f.parquet", [0, 100 + writer], "new", day="a", ts=2)
    folders = [mkdtemp(dir=tmp_path) for _ in range(_WRITERS)]
    stores = versity.server.environment[STORAGE_VARIABLE]
    with ProcessPoolExecutor(_WRITERS, get_context("spawn")) as pool:
        waits = list(
            pool.map(_upsert, [stores] * _WRITERS, [table] * _WRITERS, folders, range(_WRITERS))
        )
    assert any(waits), "no two writers met"
    found = sorted(row["id"] for row in rows_of(table) if row["v"] == "new")
    assert found == [0, *range(100, 100 + _WRITERS)]
    assert len(rows_of(table)) == 16 + _WRITERS
    assert len(load_timeline(open_storage(table)).completed) == 1 + _WRITERS
    assert check_table(table, _TASKS, deep=True).findings == ()
