"""A source in an object store, its table on this machine: from the plan to the last source file."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from framework.engine.fsck.table_check import check_table
from framework.engine.inspect.hudi_writer_options import OptionsForm, hudi_options
from framework.engine.services.materialize import observe_materialize, run_materialize
from framework.engine.tasks import InProcessTasks
from framework.errors import SourceDriftError
from framework.hudi.bootstrap.fingerprint import Fingerprint
from framework.hudi.bootstrap.index import BootstrapIndex
from framework.hudi.bootstrap.source_file import check_folder_unchanged, check_unchanged
from framework.hudi.storage.locations import open_storage
from framework.hudi.storage.store_settings import STORAGE_VARIABLE
from framework.hudi.table.properties import read_properties
from tests.support.s3_proxy import proxied
from tests.support.s3_server import S3Server, running_s3
from tests.support.scenes import Scene, a_document, a_scene, adopt, execute, plan, with_spec
from tests.support.stitching import pieces_of, read_table

pytestmark = pytest.mark.long

TASKS = InProcessTasks(2)
FILES = {
    f"p={p}/{name}.parquet": pa.table({"id": [100 * p + n, 100 * p + n + 1], "v": ["a", "é"]})
    for p in (1, 2)
    for n, name in ((0, "a b"), (10, "c%20d+e#f"))
}


@pytest.fixture(scope="module")
def server() -> Iterator[S3Server]:
    """Run one server for the module."""
    with running_s3() as found:
        yield found


@pytest.fixture
def bucket(server: S3Server, monkeypatch: pytest.MonkeyPatch) -> str:
    """Return a new bucket; the spec's references are set, the process has no settings."""
    monkeypatch.setenv(STORAGE_VARIABLE, "")
    monkeypatch.setenv("LAKE_KEY", "test")
    monkeypatch.setenv("RUN_PIPELINE_SECRET_LAKE", "testtest")
    return server.new_bucket()


def in_store(
    server: S3Server, bucket: str, folder: Path, *, endpoint: str = "", **bootstrap: Any
) -> Scene:
    """Return a scene whose source is a copy in the bucket of its local one."""
    scene = a_scene(folder, FILES, a_document(**bootstrap))
    for name in FILES:
        server.put(bucket, f"raw x/{name}", (scene.source / name).read_bytes())
    document = {
        **scene.document,
        "storage": {
            "s3": {
                "endpoint": endpoint or server.endpoint,
                "region": "us-east-1",
                "path_style": True,
                "allow_http": True,
                "access_key_id": "${env.LAKE_KEY}",
                "secret_access_key": "${secret.lake}",
            }
        },
    }
    return with_spec(
        Scene(folder=scene.folder, source=scene.source, location=scene.location, document=document),
        path=f"s3://{bucket}/raw x/",
    )


@pytest.mark.parametrize("mode", ["metadata_only", "full_record"])
def test_adopted_table_has_the_rows_of_its_source(
    server: S3Server, bucket: str, tmp_path: Path, mode: str
) -> None:
    """The same rows as from the local copy, in files that name what Hadoop resolves."""
    scene = in_store(server, bucket, tmp_path, mode=mode)
    root = f"s3a://{bucket}/raw x"
    assert plan(scene).plan.source == root
    done = adopt(scene)
    assert done is not None
    assert done.rows == 8
    modes = {f"p={p}": mode for p in (1, 2)}
    rows = read_table(scene, pieces_of(scene, modes), instant=done.instant or "", root=root)
    assert sorted(row["id"] for row in rows) == [100, 101, 110, 111, 200, 201, 210, 211]
    assert check_table(str(scene.location), TASKS, deep=True).findings == ()
    assert adopt(scene) is None, "nothing new"


def test_index_and_properties_name_the_source_as_hadoop_does(
    server: S3Server, bucket: str, tmp_path: Path
) -> None:
    """Both files of the index, and `hoodie.properties`."""
    scene = in_store(server, bucket, tmp_path)
    adopt(scene)
    storage, root = open_storage(str(scene.location)), f"s3a://{bucket}/raw x"
    properties = read_properties(storage)
    assert properties is not None
    assert properties.bootstrap_base_path == root
    index = BootstrapIndex.open(storage)
    assert index is not None
    with index:
        assert index.base_uri == root
        uris = {each.uri for p in index.partitions() for each in index.mappings(p).values()}
    assert uris == {f"{root}/{name}" for name in FILES}


def test_hudi_options_say_how_s3a_finds_the_source_and_hold_no_credential(
    server: S3Server, bucket: str, tmp_path: Path
) -> None:
    """An Apache Hudi job reads the source too."""
    scene = in_store(server, bucket, tmp_path)
    adopt(scene)
    text = hudi_options(str(scene.location), OptionsForm.PROPERTIES)
    assert f"spark.hadoop.fs.s3a.endpoint={server.endpoint}\n" in text
    assert "spark.hadoop.fs.s3a.path.style.access=true\n" in text
    assert "testtest" not in text


def test_bootstrap_costs_a_bounded_number_of_requests(
    server: S3Server, bucket: str, tmp_path: Path
) -> None:
    """The plan: each footer, each folder, three samples in three turns; the run: each file once.

    Before the commit, the run lists each of the two folders.
    """
    with proxied(server) as proxy:
        scene = in_store(server, bucket, tmp_path, endpoint=proxy.settings.endpoint or "")
        prepared = plan(scene)
        assert proxy.requests["GET"] <= len(FILES) + 3 + 1 + 3 * 3
        proxy.forget()
        execute(prepared)
        assert proxy.requests == {"GET": len(FILES) + 2}


def test_nothing_on_disk_holds_a_credential(server: S3Server, bucket: str, tmp_path: Path) -> None:
    """Neither the table nor the spec in its commits."""
    scene = in_store(server, bucket, tmp_path)
    adopt(scene)
    content = b"".join(p.read_bytes() for p in scene.location.rglob("*") if p.is_file())
    assert b"testtest" not in content
    assert server.endpoint.encode() not in content


def test_materialized_table_holds_the_rows_of_the_store(
    server: S3Server, bucket: str, tmp_path: Path
) -> None:
    """The service reads skeletons here and sources there."""
    scene = in_store(server, bucket, tmp_path)
    adopt(scene)
    location = str(scene.location)
    done = run_materialize(observe_materialize(location), TASKS)
    assert done is not None
    assert check_table(location, TASKS, deep=True).findings == ()
    written = [p for b in done.batches for p in scene.location.glob(f"p=*/*_{b.instant}.parquet")]
    ids = [n for path in written for n in pq.read_table(path)["id"].to_pylist()]
    assert sorted(ids) == [100, 101, 110, 111, 200, 201, 210, 211]


def test_source_file_that_changes_during_the_run_is_drift(
    server: S3Server, bucket: str, tmp_path: Path
) -> None:
    """A file of the same size, replaced within the same second, has another footer or ETag."""
    scene = in_store(server, bucket, tmp_path)
    prepared = plan(scene)
    other = tmp_path / "other"
    changed = a_scene(
        other, {"p=1/a b.parquet": pa.table({"id": [100, 102], "v": ["a", "é"]})}
    ).source
    server.put(bucket, "raw x/p=1/a b.parquet", (changed / "p=1/a b.parquet").read_bytes())
    assert prepared.plan.has_changes
    with pytest.raises(SourceDriftError):
        execute(prepared)
    assert not scene.location.exists()


def test_source_file_with_another_etag_is_drift(server: S3Server, bucket: str) -> None:
    """Size and time alone would miss a file that was replaced within the same second."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(STORAGE_VARIABLE, server.environment[STORAGE_VARIABLE])
        storage = open_storage(f"s3://{bucket}")
        server.put(bucket, "f", b"1")
        (entry,) = storage.list("")
        fingerprint = Fingerprint(
            path="f",
            size=1,
            mtime_ns=entry.mtime_ns,
            etag=entry.etag,
            footer_length=0,
            footer_sha256="",
            rows=0,
            row_groups=(),
            schema_hash="",
        )
        check_unchanged(storage, fingerprint)
        check_folder_unchanged(storage, "", [fingerprint])
        with pytest.raises(SourceDriftError):
            check_unchanged(storage, replace(fingerprint, etag='"other"'))
        for changed in (
            replace(fingerprint, etag='"other"'),
            replace(fingerprint, size=2),
            replace(fingerprint, path="missing"),
        ):
            with pytest.raises(SourceDriftError):
                check_folder_unchanged(storage, "", [fingerprint, changed])
