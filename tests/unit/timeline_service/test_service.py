"""The interface over a real socket: routes, freshness, access, and what is refused."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from http.client import HTTPConnection
from typing import Any
from urllib.parse import urlencode

import pytest

from framework.errors import PlanError
from framework.hudi.view.incremental import IncrementalView
from framework.hudi.view.port import Query, Selection
from framework.hudi.view.stores.port import MemoryStore
from framework.timeline_service.access import Access, is_loopback
from framework.timeline_service.hudi_routes import hudi_route
from framework.timeline_service.server import EmbeddedServer
from framework.timeline_service.service import Service
from framework.timeline_service.tables import Tables
from framework.vocabulary import ServiceAuth
from tests.support.served import FIRST, TOKEN, ServedScene, a_table, commit, file_id

SECOND = "20261101000000002"
GET_ROUTES: dict[str, dict[str, str]] = {
    "slices/partition/latest/": {"partition": "p=1"},
    "slices/partition/latest/inflight/": {"partition": "p=1"},
    "slices/partition/latest/stateless/": {"partition": "p=1"},
    "slices/file/latest/": {"partition": "p=1", "fileid": file_id("p=1/0")},
    "slices/uncompacted/partition/latest/": {"partition": "p=1"},
    "slices/all": {"partition": "p=1"},
    "slices/merged/beforeoron/latest/": {"partition": "p=1", "maxinstant": FIRST},
    "slice/merged/beforeoron/latest/": {
        "partition": "p=1",
        "maxinstant": FIRST,
        "fileid": file_id("p=1/0"),
    },
    "slices/range/latest/": {"instants": FIRST},
    "slices/beforeoron/latest/": {
        "partition": "p=1",
        "maxinstant": FIRST,
        "includependingcompaction": "false",
    },
    "slices/all/beforeoron/latest/": {"maxinstant": FIRST},
    "compactions/pending/": {},
    "logcompactions/pending/": {},
    "datafiles/latest/partition": {"partition": "p=1"},
    "datafile/latest/partition": {"partition": "p=1", "fileid": file_id("p=1/0")},
    "datafiles/all": {"partition": "p=1"},
    "datafiles/all/latest/": {},
    "datafile/on/latest/": {"partition": "p=1", "instant": FIRST, "fileid": file_id("p=1/0")},
    "datafiles/range/latest/": {"instants": FIRST},
    "datafiles/beforeoron/latest/": {"partition": "p=1", "maxinstant": FIRST},
    "basefiles/all/beforeoron/": {"maxinstant": FIRST},
    "filegroups/all/partition/": {"partition": "p=1"},
    "filegroups/all/partition/stateless/": {"partition": "p=1"},
    "filegroups/replaced/beforeoron/": {"partition": "p=1", "maxinstant": FIRST},
    "filegroups/replaced/before/": {"partition": "p=1", "maxinstant": FIRST},
    "filegroups/replaced/afteroron/": {"partition": "p=1", "mininstant": FIRST},
    "filegroups/replaced/partition/": {"partition": "p=1"},
    "clustering/pending/": {},
    "timeline/instant/last": {},
    "timeline/instants/last": {},
    "timeline/instants/all": {},
    "timeline/hash": {},
}
POST_ROUTES = ("refresh/", "inittimeline", "close/", "loadallpartitions/", "loadpartitions/")


@pytest.fixture
def scene() -> Iterator[ServedScene]:
    """A served table with two partitions of three groups."""
    with ServedScene() as found:
        yield found


@pytest.mark.parametrize("route", sorted(GET_ROUTES))
def test_route_of_apache_hudi_is_answered_with_and_without_a_slash_at_its_end(
    route: str, scene: ServedScene
) -> None:
    """The same bytes, in JSON, again and again; calling it by POST is refused."""
    plain = route.rstrip("/")
    first = scene.hudi(plain, **GET_ROUTES[route])
    assert first.status == 200, first.body
    assert first.headers["content-type"] == "application/json"
    assert first.value is not None
    for spelled in (plain, f"{plain}/"):
        assert scene.hudi(spelled, **GET_ROUTES[route]).body == first.body
    assert scene.hudi(plain, "POST", **GET_ROUTES[route]).status == 405


@pytest.mark.parametrize("route", POST_ROUTES)
def test_route_that_changes_something_is_called_by_post_alone(
    route: str, scene: ServedScene
) -> None:
    """It answers true."""
    assert scene.hudi(route, "POST").value is True
    assert scene.hudi(route).status == 405


def keys(value: Any) -> Any:
    """Return the shape of a JSON value: names of members, the first element of lists."""
    if isinstance(value, dict):
        return {name: keys(inner) for name, inner in value.items()}
    if isinstance(value, list):
        return [keys(value[0])] if value else []
    return type(value).__name__


def test_slice_has_the_members_that_apache_hudi_gives_it(scene: ServedScene) -> None:
    """Base file with status, paths in both spellings, logs as a list."""
    (found,) = scene.hudi("slices/file/latest/", **GET_ROUTES["slices/file/latest/"]).value
    status = {
        "path": {"uri": "str"},
        "length": "int",
        "isdir": "bool",
        "blockReplication": "int",
        "blocksize": "int",
        "modificationTime": "int",
    }
    assert keys(found) == {
        "baseFile": {
            "fileStatus": status,
            "fullPath": "str",
            "fileLen": "int",
            "commitTime": "str",
            "fileId": "str",
            "bootstrapBaseFile": "NoneType",
        },
        "logFiles": [],
        "partition": "str",
        "fileId": "str",
        "baseInstant": "str",
    }
    assert found["baseFile"]["fullPath"].startswith(f"{scene.storage.location}/p=1/")


def test_unknown_routes_tables_and_parameters_are_refused(scene: ServedScene) -> None:
    """Each with what is wrong; nothing outside of registered tables is looked at."""
    assert scene.hudi("slices/none").status == 404
    assert scene.hudi("slices/all", basepath="/etc").status == 404
    assert scene.hudi("slices/all", partition="../../etc").status == 400
    missing = scene.hudi("slices/file/latest/", partition="p=1")
    assert (missing.status, missing.value) == (400, {"error": "the parameter fileid is missing"})
    assert scene.hudi("loadpartitions/", "POST", b"{").status == 400
    assert scene.call("GET", "/v1/else").status == 404
    assert scene.call("POST", "/v1/lakestrap/tables/none/select", b"{}").status == 404
    own = f"/v1/lakestrap/tables/{scene.table.id}"
    assert scene.call("GET", f"{own}/select").status == 405
    assert scene.call("POST", f"{own}/else", b"{}").status == 404


@pytest.mark.parametrize(
    ("verb", "body"),
    [
        ("select", b""),
        ("select", b"[]"),
        ("select", b"{}"),
        ("select", b'{"query":1}'),
        ("select", b'{"query":{}}'),
        ("select", b'{"query":{"selection":"none"}}'),
        ("select", b'{"query":{"selection":["latest"]}}'),
        ("select", b'{"query":{"selection":"latest","partition_path":1}}'),
        ("select", b'{"query":{"selection":"latest","file_ids":"p"}}'),
        ("select", b'{"query":{"selection":"latest","file_ids":[[]]}}'),
        ("select", b'{"query":{"selection":"latest","instant":7}}'),
        ("select", b'{"query":{"selection":"latest","instants":{"a":1}}}'),
        ("select", b'{"query":{"selection":"latest","partition_path":"../etc"}}'),
        ("look-up", b"{}"),
        ("look-up", b'{"selection":"latest","groups":{"/etc":["a"]}}'),
        ("look-up", b'{"selection":"latest","groups":{"p=1/../../etc":["a"]}}'),
        ("look-up", b'{"selection":"latest","groups":{"p\\u0000":["a"]}}'),
        ("look-up", b'{"selection":"latest"}'),
        ("look-up", b'{"selection":"all","partitions":[],"file_ids":[]}'),
        *(
            ("look-up", b'{"selection":"latest","partitions":%s,"file_ids":%s}' % each)
            for each in (
                (b'"p=1"', b'["a"]'),
                (b'["p=1"]', b"null"),
                (b'["p=1"]', b"[1]"),
                (b'[["p=1"]]', b'["a"]'),
                (b'["p=1"]', b'["a","b"]'),
                (b'["/etc"]', b'["a"]'),
                (b'["p=1/../../etc"]', b'["a"]'),
                (b'["p\\u0000"]', b'["a"]'),
            )
        ),
    ],
)
def test_questions_that_cannot_be_read_are_refused(
    scene: ServedScene, verb: str, body: bytes
) -> None:
    """With 400, and what is wrong; never with a fault of the server."""
    response = scene.call("POST", f"/v1/lakestrap/tables/{scene.table.id}/{verb}", body)
    assert (response.status, bool(response.value["error"])) == (400, True)


def test_service_sleeps_again_soon_after_a_look_up(scene: ServedScene) -> None:
    """It stays awake for the next one of a connection, for a moment and no longer."""
    connection = HTTPConnection(scene.server.host, scene.server.port, timeout=20)
    target = f"/v1/hoodie/view/slices/file/latest/?{urlencode(scene.claims())}"
    for name in ("p=1/0", "p=1/1", "p=1/2") * 20:
        connection.request("GET", f"{target}&partition=p%3D1&fileid={file_id(name)}")
        assert len(json.loads(connection.getresponse().read())) == 1
    spent = time.process_time()
    time.sleep(0.5)
    spent = time.process_time() - spent
    connection.close()
    assert spent < 0.3, "it never slept"


def test_look_up_answers_each_group_in_the_order_of_the_question(scene: ServedScene) -> None:
    """With null for one that is not there, in a partition that is there or is not."""
    said = {
        "selection": "merged",
        "partitions": ["p=2", "p=0", "p=1", "p=2"],
        "file_ids": [file_id("p=2/2"), "none", file_id("p=1/0"), "none"],
    }
    body = json.dumps(said).encode()
    response = scene.call("POST", f"/v1/lakestrap/tables/{scene.table.id}/look-up", body)
    record = f"b_{TOKEN}_{FIRST}.parquet\t100"
    assert response.value == [record, None, record, None]


def test_caller_with_a_newer_timeline_makes_the_view_sync(scene: ServedScene) -> None:
    """One look at the timeline, no listing; a caller that is behind costs a look once."""
    assert len(scene.hudi("slices/partition/latest/", partition="p=1").value) == 3
    old = scene.claims()
    listings = scene.view.counts.listings
    commit(scene.storage, SECOND, [("p=1", file_id("new"))])
    ahead = {**old, "lastinstantts": SECOND, "timelinehash": "f" * 64}
    assert len(scene.hudi("slices/partition/latest/", partition="p=1", **ahead).value) == 4
    assert scene.view.counts.listings == listings
    looks = scene.view.counts.looks
    for _ in range(3):
        assert len(scene.hudi("slices/partition/latest/", partition="p=1", **old).value) == 4
    assert scene.view.counts.looks == looks + 1


def test_caller_with_an_instant_that_the_table_has_not_is_refused(scene: ServedScene) -> None:
    """As Apache Hudi does; nothing that is older than what the caller knows is ever sent."""
    response = scene.hudi(
        "slices/partition/latest/",
        partition="p=1",
        lastinstantts="20991231000000000",
        timelinehash="0" * 64,
    )
    assert response.status == 400
    assert "Last known instant from client" in response.value["error"]


def test_caller_without_a_hash_gets_the_whole_table_as_it_is_now(scene: ServedScene) -> None:
    """Where Apache Hudi's own server forgets partitions, and then answers with some of them."""
    bare = {"basepath": scene.storage.location, "lastinstantts": "", "timelinehash": ""}
    assert len(scene.hudi("datafiles/all/latest/", **bare).value) == 6
    commit(scene.storage, SECOND, [("p=3", file_id("new"))])
    for _ in range(2):
        assert len(scene.hudi("datafiles/all/latest/", **bare).value) == 7


def test_every_answer_says_of_which_table_process_and_timeline_it_is(scene: ServedScene) -> None:
    """So a client can distinguish an old driver, or another table, from the right one."""
    said = scene.hudi("slices/partition/latest/", partition="p=1").headers
    assert said["x-lakestrap-table"] == scene.table.id
    assert said["x-lakestrap-driver"] == scene.tables.driver
    assert said["x-lakestrap-instant"] == FIRST
    assert said["x-lakestrap-timeline"] == scene.claims()["timelinehash"]


def test_damaged_timeline_is_an_error_and_the_view_is_kept(scene: ServedScene) -> None:
    """A commit that cannot be read is no reason to answer wrongly."""
    scene.hudi("slices/partition/latest/", partition="p=1")
    path = f".hoodie/{SECOND}.replacecommit"
    with scene.storage.create(path) as out:
        out.write(b"{")
    response = scene.hudi("slices/partition/latest/", partition="p=1", timelinehash="1" * 64)
    assert response.status == 500
    assert response.value["condition"].startswith("timeline/")
    query = Query(selection=Selection.LATEST, partition_path="p=1")
    assert len(scene.view.select(query)) == 3


def test_token_is_required_on_every_table_route() -> None:
    """Only by header; health is open, since it exposes nothing."""
    with ServedScene(auth=ServiceAuth.TOKEN) as scene:
        token = scene.access.token
        right = {"authorization": f"Bearer {token}"}
        own = f"/v1/lakestrap/tables/{scene.table.id}/partitions"
        for headers in ({}, {"authorization": "Bearer x"}, {"authorization": token}):
            assert scene.call("POST", own, b"{}", headers).status == 401
            assert scene.call("GET", "/metrics", None, headers).status == 401
        assert scene.hudi("datafiles/all/latest/", token=token).status == 401
        assert scene.call("POST", own, b"{}", right).value == ["p=1", "p=2"]
        assert scene.call("GET", "/metrics", None, right).status == 200
        assert scene.call("GET", "/health").status == 200
        assert token not in repr(scene.access)


@pytest.mark.parametrize("auth", list(ServiceAuth))
def test_request_for_another_host_name_is_refused(auth: ServiceAuth) -> None:
    """A page of another site may have rebound its name to this machine."""
    with ServedScene(auth=auth) as scene:
        headers = {"authorization": f"Bearer {scene.access.token}", "host": "evil.example"}
        claims = "&".join(f"{k}={v}" for k, v in scene.claims().items())
        target = f"/v1/hoodie/view/datafiles/all/latest/?{claims}"
        assert scene.call("GET", target, None, headers).status == 421
        assert scene.call("GET", target, None, {**headers, "host": "[::1]:80"}).status == 200


def test_service_without_a_token_listens_on_loopback_alone() -> None:
    """Other machines could reach any other address."""
    service = Service(Tables(), Access(auth=ServiceAuth.LOOPBACK))
    with pytest.raises(PlanError) as caught:
        EmbeddedServer(service, host="0.0.0.0")  # noqa: S104 - it is refused
    assert caught.value.condition == "timeline-service/open-to-all"
    assert not is_loopback("0.0.0.0")  # noqa: S104


def test_port_that_is_taken_is_reported(scene: ServedScene) -> None:
    """With a remedy; the service on the port continues."""
    with pytest.raises(PlanError) as caught:
        EmbeddedServer(scene.service, port=scene.server.port)
    assert caught.value.condition == "timeline-service/address"
    assert scene.call("GET", "/health").status == 200


def test_metrics_count_answers_and_what_the_view_did(scene: ServedScene) -> None:
    """In the form that Prometheus reads: a help line, a type line, values with labels."""
    for _ in range(2):
        scene.hudi("slices/partition/latest/", partition="p=1")
    text = scene.call("GET", "/metrics").body.decode()
    route = 'route="/v1/hoodie/view/slices/partition/latest"'
    assert f'lakestrap_answers_total{{{route},status="200"}} 2.0' in text.splitlines()
    assert f'lakestrap_view_listings_total{{table="{scene.storage.location}"}}' in text
    assert "# TYPE lakestrap_view_listings_total counter" in text
    assert "lakestrap_answers_encoded_before_total 1.0" in text


def test_answer_of_a_partition_is_encoded_once_for_each_version_of_the_view() -> None:
    """The same bytes go out until something new is seen."""
    with ServedScene(a_table(groups=50)) as scene:
        ask = {"partition": "p=1", **scene.claims()}
        bodies = {scene.hudi("slices/partition/latest/", **ask).body for _ in range(5)}
        assert len(bodies) == 1
        assert scene.service.metrics.cached == 4
        commit(scene.storage, SECOND, [("p=1", file_id("new"))])
        scene.hudi("refresh/", "POST")
        after = scene.hudi("slices/partition/latest/", **{**ask, **scene.claims()})
        assert len(after.value) == 51


def test_calls_of_a_table_that_is_busy_leave_other_tables_alone(scene: ServedScene) -> None:
    """More of them than there are threads wait in line, and all are answered in the end."""
    other = a_table()
    scene.tables.register(other.location, IncrementalView(other, MemoryStore()))
    route = "/v1/hoodie/view/slices/partition/latest/"
    claims = scene.claims()
    with ThreadPoolExecutor(20) as callers:
        with scene.view.lock:
            busy = [
                callers.submit(scene.call, "GET", route, partition="p=2", **claims)
                for _ in range(20)
            ]
            said = {"basepath": other.location, "partition": "p=1"}
            answers = [scene.call("GET", route, **said) for _ in range(20)]
            assert [each.status for each in answers] == [200] * 20
            assert not any(each.done() for each in busy)
        assert [len(each.result().value) for each in busy] == [3] * 20


def test_every_route_of_the_sheet_is_there() -> None:
    """None is unknown."""
    for route in (*GET_ROUTES, *POST_ROUTES):
        assert hudi_route(f"/v1/hoodie/view/{route}") is not None
    assert hudi_route("/v1/hoodie/view/") is None
