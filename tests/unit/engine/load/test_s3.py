"""Whole tables on a server of S3, in this process: bootstraps, and loads of both table types."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest

from framework.hudi.storage.locations import open_storage
from framework.hudi.storage.store_settings import STORAGE_VARIABLE, settings_text
from framework.hudi.table.layout import LAKESTRAP, LEASE, TEMP
from framework.vocabulary import TableType, WriteOperation
from tests.support.s3_server import S3Server, running_s3
from tests.support.scenes import a_document, a_scene, adopt, with_spec
from tests.support.storage_suite import tree
from tests.support.writing import Lake, load, rows_of

pytestmark = pytest.mark.long


@pytest.fixture(scope="module")
def server() -> Iterator[S3Server]:
    """Run one server for the module."""
    with running_s3() as found:
        yield found


@pytest.fixture
def location(server: S3Server, monkeypatch: pytest.MonkeyPatch) -> str:
    """Return a place in a new bucket."""
    monkeypatch.setenv(STORAGE_VARIABLE, settings_text({"s3": server.settings}))
    return f"s3a://{server.new_bucket()}/lake/table"


@pytest.mark.parametrize("kind", list(TableType))
def test_table_on_s3_is_loaded_and_read(tmp_path: Path, location: str, kind: TableType) -> None:
    """Insert, upsert, delete and overwrite; only the table and its memory are left."""
    lake = Lake(folder=tmp_path, at=location, type=kind)
    rows = [{"id": n, "day": "mon", "v": "first"} for n in range(4)]
    load(lake, WriteOperation.INSERT, rows)
    load(
        lake, WriteOperation.UPSERT, [{"id": 1, "day": "mon", "v": "second"}, {**rows[0], "id": 9}]
    )
    load(lake, WriteOperation.DELETE, [rows[2]])
    load(lake, WriteOperation.INSERT_OVERWRITE, [{"id": 5, "day": "tue", "v": "third"}])
    found = {row["id"]: row["v"] for row in rows_of(location)}
    assert found == {0: "first", 1: "second", 3: "first", 9: "first", 5: "third"}
    keys = tree(open_storage(location))
    assert [k for k in keys if k.startswith((TEMP, LEASE, f"{LAKESTRAP}/dead"))] == []


def test_bootstrap_onto_s3_reads_as_its_source(tmp_path: Path, location: str) -> None:
    """Skeletons in the store and a source on the disk, one partition rewritten."""
    files = {
        f"p={p}/a.parquet": pa.table({"id": [p * 10, p * 10 + 1], "v": ["x", "y"]}) for p in (1, 2)
    }
    rule = {"partition": "p=2", "mode": "full_record", "reason": "both kinds in one instant"}
    scene = a_scene(tmp_path / "lake", files, a_document(rules=[rule]))
    adopt(with_spec(scene, location=location))
    found = sorted((row["id"], row["v"], row["p"]) for row in rows_of(location))
    assert found == [(10, "x", 1), (11, "y", 1), (20, "x", 2), (21, "y", 2)]
