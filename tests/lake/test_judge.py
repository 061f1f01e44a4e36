"""Apache Hudi 1.2.0 reads and continues tables that we made on HDFS and on S3."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from framework.engine.fsck.table_check import check_table
from framework.engine.tasks import InProcessTasks
from framework.hudi.storage.locations import open_storage
from framework.hudi.storage.s3a_options import credential_options, place_options
from framework.vocabulary import KeyScope, TableType, WriteOperation
from tests.interop.judge import JUDGE_ENVIRONMENT, ROOT, Judge, judge_jar
from tests.interop.turns import SCHEMA, Turns
from tests.support.versity import Versity
from tests.support.writing import Lake, run_spec

pytestmark = [pytest.mark.lake, pytest.mark.interop, pytest.mark.timeout(1800)]

_RELEASE = "1.2.0"
_S3A = ("hadoop-aws-3.3.4", "aws-java-sdk-bundle-1.12.262", "wildfly-openssl-1.0.7.Final")
_MARKERS = "spark.hadoop.fs.s3a.directory.marker.retention"
"""By default 3.3.4 deletes objects of folders after each write, and repeats that for minutes where
versitygw refuses it, since a folder of its disk is not empty."""
_CONNECTIONS = "spark.hadoop.fs.s3a.connection.maximum"
"""Apache Hudi 1.2.0 leaves streams of S3A open; at the default of 96 its process stands still."""
_ROUNDS = 5


@dataclass(frozen=True, kw_only=True)
class Place:
    """Where a table and its source are; for S3 two buckets."""

    table: str
    source: str


@pytest.fixture(scope="module")
def judge(versity: Versity, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Judge]:
    """Apache Hudi with Hadoop's own clients of HDFS and S3."""
    python, script = JUDGE_ENVIRONMENT / "bin" / "python", ROOT / "tests/interop/fetch_judge.py"
    if not python.is_file():
        pytest.fail(f"no judge's environment at {JUDGE_ENVIRONMENT}: run `make judge`")
    subprocess.run([str(python), str(script), "--stores"], check=True, stdout=sys.stderr)
    jars = judge_jar(_RELEASE).parent
    s3a = [str(path) for path in jars.iterdir() if path.stem.partition("_")[2] in _S3A]
    assert len(s3a) == len(_S3A)
    settings = versity.server.settings
    options = place_options(settings) | credential_options(settings)
    conf = {"spark.jars": ",".join(s3a), _MARKERS: "keep", _CONNECTIONS: "2000"}
    conf |= {f"spark.hadoop.{name}": value for name, value in options.items()}
    folder = tmp_path_factory.mktemp("judge")
    with Judge(_RELEASE, folder, timeout_s=900, conf=conf) as process:
        yield process


@pytest.fixture(params=["s3", "hdfs"])
def place(request: pytest.FixtureRequest) -> Place:
    """Return a place for one table in each store."""
    if request.param == "hdfs":
        root = request.getfixturevalue("root")
        return Place(table=f"{root}/table", source=f"{root}/raw")
    bucket = request.getfixturevalue("bucket")
    other = request.getfixturevalue("versity").server.new_bucket()
    return Place(table=f"s3a://{bucket}/lake/table", source=f"s3a://{other}/raw x")


@pytest.mark.parametrize("kind", list(TableType))
@pytest.mark.parametrize("mode", ["metadata_only", "full_record"])
def test_apache_hudi_reads_and_continues_a_table_for_five_rounds(
    mode: str, kind: TableType, place: Place, judge: Judge, tmp_path: Path
) -> None:
    """We load, both read, they upsert, both read; the source stays as it is."""
    lake = Lake(folder=tmp_path, at=place.table, scope=KeyScope.PARTITION, type=kind, ordering="ts")
    turns = Turns(lake=lake, judge=judge, spark=None)
    _adopt(turns, place, mode)
    turns.compare()
    for number in range(_ROUNDS):
        turns.ours(WriteOperation.UPSERT, turns.some([number, number + 7, 100 + number]))
        turns.theirs(turns.some([number + 1, number + 7, 200 + number]))
    turns.ours(WriteOperation.DELETE, turns.some([3, 7]))
    assert check_table(place.table, InProcessTasks(2), deep=True).findings == ()


def _adopt(turns: Turns, place: Place, mode: str) -> None:
    """Write a source of two files a day, and adopt it."""
    schema = pa.schema([each for each in SCHEMA if each.name != "day"])
    for number, half in enumerate((turns.some(range(12)), turns.some(range(12, 24)))):
        for day in sorted({row["day"] for row in half}):
            rows = [row for row in half if row["day"] == day]
            with open_storage(place.source).create(f"day={day}/part +{number}.parquet") as out:
                pq.write_table(pa.Table.from_pylist(rows, schema), out, store_schema=False)
        turns.rows |= {(row["id"], row["day"]): row for row in half}
    lake = turns.lake
    document = {
        "version": 1,
        "table": {
            "name": "a.loaded",
            "location": lake.location,
            "type": lake.type.value,
            "partition_by": {"day": "string"},
            "record_key": {"columns": ["id"], "unique_within": "partition"},
            "ordering": {"columns": ["ts"]},
        },
        "bootstrap": {"path": place.source, "layout": "hive", "mode": mode},
        "maintenance": {"enabled": False},
    }
    run_spec(document, lake.folder)
