"""The service over a table in a bucket of a real server: answers, steady state, checkpoints."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from framework.hudi.storage.locations import open_storage
from framework.hudi.storage.store_settings import STORAGE_VARIABLE, settings_text
from framework.hudi.timeline.timeline import load_timeline, timeline_hash
from framework.timeline_service.host import Served, ServiceOptions, serving
from framework.vocabulary import ServiceAuth
from tests.support.asking import Response, ask_server
from tests.support.s3_proxy import Proxy, proxied
from tests.support.s3_server import S3Server, running_s3
from tests.support.served import commit, file_id

pytestmark = pytest.mark.long

FIRST, SECOND = "20261101000000001", "20261101000000002"


@pytest.fixture
def server() -> Iterator[S3Server]:
    """Run a server of S3."""
    with running_s3() as found:
        yield found


@pytest.fixture
def proxy(server: S3Server) -> Iterator[Proxy]:
    """Run a proxy before it that counts."""
    with proxied(server) as found:
        yield found


@pytest.fixture
def location(server: S3Server, proxy: Proxy, monkeypatch: pytest.MonkeyPatch) -> str:
    """Return the place of a table of one commit, as a user writes it."""
    monkeypatch.setenv(STORAGE_VARIABLE, settings_text({"s3": proxy.settings}))
    found = f"s3://{server.new_bucket()}/lake/t/"
    commit(open_storage(found), FIRST, [("p=a", file_id("a")), ("p=b", file_id("b"))])
    return found


def ask(served: Served, location: str) -> Response:
    """Ask for the latest slices of a partition, as a client of Apache Hudi does."""
    storage = open_storage(location)
    timeline = load_timeline(storage)
    said = f"lastinstantts={timeline.last_requested_time}&timelinehash={timeline_hash(timeline)}"
    target = f"/v1/hoodie/view/slices/partition/latest/?basepath={storage.location}&{said}"
    return ask_server(served.server, "GET", f"{target}&partition=p%3Da")


def test_service_over_a_bucket_lists_a_partition_once_also_over_a_restart(
    proxy: Proxy, location: str, tmp_path: Path
) -> None:
    """Queries cost no request beside those of the client itself; a restart costs one listing."""
    options = ServiceOptions(port=0, auth=ServiceAuth.LOOPBACK, checkpoints=tmp_path)
    with serving([location], options) as served:
        first = ask(served, location)
        proxy.forget()
        again = ask(served, location)
        of_client = dict(proxy.requests)
        commit(open_storage(location), SECOND, [("p=a", file_id("another"))])
    assert first.status == again.status == 200
    assert of_client == {"GET": 1, "HEAD": 1}
    with serving([location], options) as served:
        proxy.forget()
        found = ask(served, location)
    assert not served.refused
    assert [each["fileId"] for each in found.value] == sorted([file_id("a"), file_id("another")])
    assert dict(proxy.requests) == {"GET": 3, "HEAD": 1}


def test_service_over_a_bucket_reports_paths_as_hadoop_resolves_them(location: str) -> None:
    """With the scheme `s3a`, whatever the user wrote."""
    with serving([location], ServiceOptions(port=0, auth=ServiceAuth.LOOPBACK)) as served:
        base = ask(served, location).value[0]["baseFile"]
    assert base["fullPath"].startswith("s3a://")
    assert base["fullPath"] == base["fileStatus"]["path"]["uri"]
