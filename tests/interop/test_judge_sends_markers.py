"""Apache Hudi's writers send their markers to our service, and its rollback goes by what we keep.

1.2.0 sends them to a server that is not its own; 0.15.0 writes them as files then.
"""

from __future__ import annotations

import json
from http.client import HTTPConnection
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

import pytest

from framework.timeline_service.marker_routes import MARKER_PREFIX
from framework.timeline_service.server import EmbeddedServer
from framework.vocabulary import KeyScope, TableType, WriteOperation
from tests.interop.judge import Judge
from tests.interop.printed import printed_options
from tests.interop.served_table import Served
from tests.interop.turns import Turns
from tests.support.writing import Lake

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [
    pytest.mark.interop,
    pytest.mark.parametrize("judge", ["1.2.0"], indirect=True),
]

SENT = {"hoodie.write.markers.type": "TIMELINE_SERVER_BASED"}
INSTANT = "20261101000000001"
NAMES = (
    f"p=1/f_1-0-1_{INSTANT}.parquet.marker.CREATE",
    f"p=\u00e4 +%/f_1-0-1_{INSTANT}.parquet.marker.MERGE",
    "p=1/.f_1.log.1_1-0-1.marker.APPEND",
    f"f_1-0-1_{INSTANT}.parquet.marker.CREATE",
)


def call(port: int, method: str, route: str, folder: Path, **more: str) -> Any:
    """Return the status of an answer, and its value in JSON; lists are sorted."""
    connection = HTTPConnection("127.0.0.1", port, timeout=60)
    said = urlencode({"markerdirpath": str(folder), **more})
    connection.request(method, f"{MARKER_PREFIX}{route}?{said}")
    answer = connection.getresponse()
    value = json.loads(answer.read())
    connection.close()
    return answer.status, sorted(value) if isinstance(value, list) else value


def listed(port: int, folder: Path) -> list[Any]:
    """Return what the routes say that change nothing."""
    routes = ("all", "create-and-merge", "append", "dir/exists")
    return [call(port, "GET", route, folder) for route in routes]


def conversation(port: int, location: Path) -> list[Any]:
    """Return the answers to all that can be asked about an instant's markers, in one order."""
    folder = location / ".hoodie" / ".temp" / INSTANT
    said = listed(port, folder)
    said += [call(port, "POST", "dir/delete", folder)]
    for name in (*NAMES, *NAMES):
        said += [call(port, "POST", "create", folder, markername=name), *listed(port, folder)]
    said += [
        call(port, "POST", "create", folder, markername=f"d{NAMES[0]}", basepath=str(location))
    ]
    said += [(folder / "MARKERS.type").read_text()]
    said += [call(port, "POST", "dir/delete", folder), folder.exists(), *listed(port, folder)]
    return said


def test_our_answers_about_markers_are_those_of_the_judges_own_service(
    judge: Judge, served: tuple[Served, EmbeddedServer], tmp_path: Path
) -> None:
    """Word by word, from an empty folder to a deleted one."""
    theirs = tmp_path / "theirs"
    (theirs / ".hoodie").mkdir(parents=True)
    expected = conversation(judge.ask("serve_markers"), theirs)
    assert conversation(served[1].port, tmp_path / "table") == expected


@pytest.mark.parametrize("kind", list(TableType))
def test_judge_writes_and_rolls_back_by_the_markers_that_we_keep(
    kind: TableType,
    judge: Judge,
    spark: SparkSession,
    served: tuple[Served, EmbeddedServer],
    tmp_path: Path,
) -> None:
    """Each file of a write is announced to us; what a dead write leaves is found by them."""
    ours, server = served
    lake = Lake(folder=tmp_path, scope=KeyScope.PARTITION, type=kind, ordering="ts")
    turns = Turns(lake=lake, judge=judge, spark=spark)
    turns.ours(WriteOperation.INSERT, turns.some(range(12)))
    remote = {**printed_options(turns.location), **ours.options(server), **SENT}
    turns.under(remote, turns.some([1, 40, 41]))
    turns.compare()
    asked = ours.asked(MARKER_PREFIX)
    assert asked["create"] >= 2, asked
    assert asked["dir/delete"] >= 1, asked
    temporary = turns.location / ".hoodie" / ".temp"
    assert list(temporary.iterdir()) == []

    kept = dict(turns.rows)
    turns.under(remote, turns.some([2, 50, 51]))
    died = forget_completion(turns.location)
    written = list(turns.location.rglob(f"*_{died}.parquet"))
    assert written
    for path in written:
        name = f"{path.relative_to(turns.location).as_posix()}.marker.MERGE"
        assert call(server.port, "POST", "create", temporary / died, markername=name)[1] is True
    turns.rows = kept
    turns.under(remote, turns.some([3]))
    turns.compare()
    assert not list(turns.location.rglob(f"*_{died}.parquet"))
    assert list(temporary.iterdir()) == []
    ours.compare()


def forget_completion(location: Path) -> str:
    """Turn the last commit into one that died just before its completion; return its instant."""
    done = max((location / ".hoodie").glob("*commit"))
    done.unlink()
    done.with_name(f".{done.name}.crc").unlink(missing_ok=True)
    return done.name.partition(".")[0]
