"""Sources in an object store on Spark: a bootstrap, a load, and reading what both made."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from framework.engine.quarantine.datasets import waiting
from framework.hudi.storage.locations import open_storage
from framework.hudi.storage.store_settings import STORAGE_VARIABLE
from tests.support.s3_server import S3Server, running_s3
from tests.support.scenes import a_document, a_scene
from tests.support.sources import a_source

pytestmark = [pytest.mark.spark, pytest.mark.full, pytest.mark.timeout(1800)]

FILES = {
    f"p={p}/{name}.parquet": pa.table({"id": [100 * p + n, 100 * p + n + 1], "v": ["a", "é"]})
    for p in (1, 2)
    for n, name in ((0, "a b"), (10, "c%20d+e#f"))
}
LANDED = {
    "p=1/new.parquet": pa.table({"id": [100, 999], "v": ["changed", "added"]}),
    "p=2/new.parquet": pa.table({"id": [211], "v": ["changed"]}),
}


def test_source_in_a_store_is_adopted_loaded_and_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Tasks and Hadoop get the settings of the project file, and no setting shows the secret."""
    monkeypatch.setenv("LAKE_KEY", "test")
    monkeypatch.setenv("RUN_PIPELINE_SECRET_LAKE", "testtest")
    scene = a_scene(tmp_path, FILES, a_document())
    landing = tmp_path / "landing"
    a_source(landing, LANDED)
    with running_s3() as server:
        bucket = server.new_bucket()
        for folder, names in ((scene.source, FILES), (landing, LANDED)):
            for name in names:
                key = f"{folder.name} x/{name}"
                server.put(bucket, key, (folder / name).read_bytes())
        document = json.loads(json.dumps(scene.document))
        document["table"] |= {"location": str(scene.location), "ordering": "commit_time"}
        document["bootstrap"]["path"] = f"s3://{bucket}/source x"
        document["source"] = {
            "path": f"s3://{bucket}/landing x",
            "schema": "id BIGINT, v STRING, p INT",
        }
        document["write"] = {"operation": "upsert"}
        found = _run_twice(tmp_path, server, document)
    before = {id_: (v, p, key) for id_, v, p, key in found["rows"][0]}
    assert before == {
        100 * p + n: (v, p, str(100 * p + n))
        for p in (1, 2)
        for n, v in ((0, "a"), (1, "é"), (10, "a"), (11, "é"))
    }
    after = {id_: (v, p, key) for id_, v, p, key in found["rows"][1]}
    assert after == before | {
        100: ("changed", 1, "100"),
        211: ("changed", 2, "211"),
        999: ("added", 1, "999"),
    }
    assert "testtest" not in json.dumps(found["settings"])
    files = [path.read_bytes() for path in scene.location.rglob("*") if path.is_file()]
    assert not any(b"testtest" in each for each in files)


def test_table_in_a_store_is_loaded_through_transforms_and_quarantines_rows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Staged rows and quarantined ones lie in the store too; the session reads both."""
    monkeypatch.setenv("LAKE_KEY", "test")
    monkeypatch.setenv("RUN_PIPELINE_SECRET_LAKE", "testtest")
    scene = a_scene(tmp_path, FILES, a_document())
    landing = tmp_path / "landing"
    a_source(landing, LANDED)
    with running_s3() as server:
        bucket = server.new_bucket()
        document = json.loads(json.dumps(scene.document))
        document["table"] |= {"location": f"s3://{bucket}/lake/t", "ordering": "commit_time"}
        document["source"] = {"path": str(landing), "schema": "id BIGINT, v STRING, p INT"}
        document["transforms"] = [{"name": "all", "sql": "SELECT id, upper(v) AS v, p FROM source"}]
        document["write"] = {"operation": "upsert"}
        document["quality"] = {
            "checks": [{"name": "known", "expect": "id < 900", "on_fail": "quarantine"}],
            "quarantine": {"location": f"s3://{bucket}/quarantine"},
        }
        found = _run_twice(tmp_path, server, document)
        monkeypatch.setenv(STORAGE_VARIABLE, server.environment[STORAGE_VARIABLE])
        (batch,) = waiting(f"s3a://{bucket}/lake/t", f"s3a://{bucket}/quarantine")
        storage = open_storage(f"s3a://{bucket}/quarantine")
        (file,) = batch.files
        with storage.open_input(file.removeprefix(f"{storage.location}/")) as stream:
            rows = pq.read_table(stream).to_pylist()
        left = [key for key in server.keys(bucket) if "/.staged-" in key or "/.ready-" in key]
    assert [(row["id"], row["v"]) for row in rows] == [(999, "ADDED")]
    assert not [key for key in left if not key.endswith("/")]
    before = {id_: (v, p, key) for id_, v, p, key in found["rows"][0]}
    after = {id_: (v, p, key) for id_, v, p, key in found["rows"][1]}
    assert after == before | {100: ("CHANGED", 1, "100"), 211: ("CHANGED", 2, "211")}


def _run_twice(folder: Path, server: S3Server, document: Mapping[str, Any]) -> dict[str, Any]:
    """Run a spec twice in a session of its own, and return what it printed."""
    spec = folder / "x.pipeline.yml"
    spec.write_text(json.dumps(document))
    (folder / "run-pipeline.yml").write_text(
        json.dumps(
            {
                "version": 1,
                "variables": {"endpoint": server.endpoint},
                "storage": {
                    "s3": {
                        "endpoint": "${var.endpoint}",
                        "region": "us-east-1",
                        "path_style": True,
                        "allow_http": True,
                        "access_key_id": "${env.LAKE_KEY}",
                        "secret_access_key": "${secret.lake}",
                    }
                },
            }
        )
    )
    words = ["-m", "tests.support.store_session", str(spec), document["table"]["location"]]
    done = subprocess.run([sys.executable, *words], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    result: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return result
