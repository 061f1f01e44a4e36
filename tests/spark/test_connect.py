"""Runs and reads over Spark Connect: the same tables and rows, and refusals by name."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pyspark
import pytest

from framework.hudi.storage.store_settings import StoreSettings, settings_text
from framework.vocabulary import TableType
from tests.support.scenes import Scene, a_document, a_scene, adopt
from tests.support.writing import rows_of

pytestmark = [pytest.mark.spark, pytest.mark.timeout(600)]

FILES = {
    f"p={p}/{name}.parquet": pa.table({"id": [100 * p + n, 100 * p + n + 1], "v": ["a", "é"]})
    for p in (1, 2)
    for n, name in ((0, "a [b] {c}*"), (10, "c%20d+e#f"))
}
FLAT = {name.replace("p=", ""): rows for name, rows in FILES.items()}
LANDED = pa.table({"id": [100, 999], "v": ["changed", "added"], "p": [1, 2]})
QUALITY = {"checks": [{"name": "positive", "expect": "id > 0"}]}
SECRET = StoreSettings(access_key_id="key", secret_access_key="secret")  # noqa: S106 - of no store
Row = dict[str, Any]


@dataclass(frozen=True, kw_only=True)
class Lake:
    """The specs of a test."""

    tables: Mapping[str, Scene]

    def location(self, name: str) -> str:
        """Return the place of a table."""
        return str(self.tables[name].location)


def server_jar() -> str | None:
    """Return the jar of the server that this Spark does not bring; None if it brings it.

    Skips the test where the jar, or the client's packages, are not installed.
    """
    if importlib.util.find_spec("grpc") is None:
        pytest.skip("the packages of Spark Connect are not installed: pip install pyspark[connect]")
    if [*Path(pyspark.__file__).parent.glob("jars/spark-connect_*.jar")]:
        return None
    found = [*Path(sys.prefix).glob("ivy/jars/org.apache.spark_spark-connect_*.jar")]
    if not found:
        pytest.skip("this Spark has no server of Spark Connect: run tests/interop/fetch_judge.py")
    return str(found[0])


def done(steps: list[tuple[str, Mapping[str, Any]]]) -> list[Any]:
    """Return what the steps returned, in a process of their own: Spark Connect takes all of it."""
    jar = server_jar()
    own = {"PYSPARK_PYTHON": sys.executable, **({"CONNECT_JAR": jar} if jar else {})}
    command = [sys.executable, "-m", "tests.support.connect_session", json.dumps(steps)]
    ended = subprocess.run(
        command, env={**os.environ, **own}, capture_output=True, text=True, check=False
    )
    assert ended.returncode == 0, ended.stderr
    found: list[Any] = json.loads(ended.stdout.splitlines()[-1])
    return found


def a_lake(folder: Path) -> Lake:
    """Return the specs of three tables with rows to load, and of some that are refused."""
    landing = folder / "landing"
    landing.mkdir()
    pq.write_table(LANDED, landing / "new.parquet")
    loads = {"source": {"path": str(landing)}, "write": {"operation": "upsert"}}
    merged = {"type": "merge_on_read", "ordering": "commit_time"}
    copied = {**merged, "type": "copy_on_write"}
    tables = {
        "copied": a_scene(folder / "copied", FILES, a_document(table=copied)),
        "merged": a_scene(folder / "merged", FILES, a_document(table=merged)),
        "flat": a_scene(folder / "flat", FLAT, a_document(table=merged, layout="positional")),
        "checked": a_scene(folder / "checked", FILES, a_document()),
    }
    changed = {name: {**scene.document, **loads} for name, scene in tables.items()}
    changed["checked"] = {**tables["checked"].document, "quality": QUALITY}
    named = {name: replace(tables[name], document=changed[name]) for name in tables}
    return Lake(tables=named)


def plain(rows: list[Row]) -> list[str]:
    """Return rows in an order of their own."""
    return sorted(json.dumps(row, sort_keys=True, ensure_ascii=False) for row in rows)


def test_tables_made_and_read_over_spark_connect_have_the_rows_that_other_readers_find(
    tmp_path: Path,
) -> None:
    """Adopted, loaded and read in one session, of both table types and without Hive's folders."""
    lake = a_lake(tmp_path)
    steps: list[tuple[str, Mapping[str, Any]]] = []
    for name in ("copied", "merged", "flat"):
        spec, place = str(lake.tables[name].spec), {"location": lake.location(name)}
        steps += [("run", {"spec": spec}), ("read", place), ("run", {"spec": spec})]
        steps += [("read", {**place, "verify": "full"}), ("read_optimized", place)]
        steps += [("read_incremental", {**place, "begin": "2020-01-01"})]
        steps += [("read", {**place, "partition": "2" if name == "flat" else "p=2"})]
        steps += [("run", {"spec": spec})]
    found = iter(done(steps))
    for name in ("copied", "merged", "flat"):
        is_copied = lake.tables[name].document["table"]["type"] == TableType.COPY_ON_WRITE
        adopted, before, loaded, after, base, changes, second, nothing = (
            next(found) for _ in range(8)
        )
        assert (adopted, loaded, nothing) == (8, 3 if is_copied else 2, 0), name
        location = lake.location(name)
        assert plain(before) == plain(rows_of(location, "00000000000001")), name
        assert plain(after) == plain(rows_of(location)), name
        assert {row["v"] for row in base if row["id"] == 100} == {"changed" if is_copied else "a"}
        assert {row["id"] for row in changes} == {100, 999}
        assert {row["id"] for row in second} == {200, 201, 210, 211, 999}
        assert {row["p"] for row in second} == {2}


def test_work_that_needs_sparks_own_process_is_refused_by_name_over_spark_connect(
    tmp_path: Path,
) -> None:
    """Before anything is written; a missing source file is named, and running tasks end."""
    lake = a_lake(tmp_path)
    checked, merged = lake.tables["checked"], lake.tables["merged"]
    adopt(replace(merged, document=without_loads(merged)))
    (gone,) = merged.source.glob("p=1/a*")
    away = gone.rename(tmp_path / "away")
    waiting = tmp_path / "waiting"
    waiting.mkdir()
    place = {"location": lake.location("merged")}
    storage = settings_text({"s3": SECRET})
    said = done(
        [
            ("run", {"spec": str(checked.spec)}),
            ("run", {"spec": str(lake.tables["copied"].spec), "storage": storage}),
            ("read", {**place, "files_per_split": 1}),
            ("read", place),
            ("refused", {}),
            ("left_early", {"folder": str(waiting)}),
        ]
    )
    conditions = [each["condition"] for each in said[:-1]]
    assert conditions == [
        "quality/needs-spark",
        "spark/connect-storage",
        "spark/connect-not-built",
        "source/drift",
        "audit/duplicates",
    ]
    assert said[-1] < 30
    assert not [*waiting.glob("*-ended")]
    assert not checked.location.exists()
    assert not lake.tables["copied"].location.exists()
    assert away.exists()


def without_loads(scene: Scene) -> dict[str, Any]:
    """Return the document of a scene without its loads."""
    return {key: part for key, part in scene.document.items() if key not in {"source", "write"}}
