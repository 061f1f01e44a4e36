"""A table is made only on a store that keeps two writers apart, unless there is one writer."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from uuid import uuid4

import pytest

from framework.cli.store_checks import stores
from framework.errors import FrameworkError, UnsupportedTableError
from framework.hudi.commit.store_probe import probe_store
from framework.hudi.storage.locations import open_storage
from framework.hudi.storage.port import uploads_of
from framework.hudi.storage.store_settings import STORAGE_VARIABLE, StoreSettings, settings_text
from framework.vocabulary import TableType, WriteOperation
from tests.support.s3_proxy import Proxy, proxied
from tests.support.s3_server import S3Server, running_s3
from tests.support.storage_suite import condition_of, put, read, tree
from tests.support.writing import Lake, load, rows_of

pytestmark = pytest.mark.long

CONDITION = frozenset({"if-none-match"})
ROWS = [{"id": n, "day": "a", "v": "first"} for n in range(3)]


@pytest.fixture(scope="module")
def server() -> Iterator[S3Server]:
    """Run one server for the module."""
    with running_s3() as found:
        yield found


@pytest.fixture
def proxy(server: S3Server) -> Iterator[Proxy]:
    """Run a proxy before it."""
    with proxied(server) as found:
        yield found


@pytest.fixture
def location(server: S3Server, proxy: Proxy, monkeypatch: pytest.MonkeyPatch) -> str:
    """Return a place in an empty bucket, reached through the proxy."""
    use(monkeypatch, proxy.settings)
    return f"s3://{server.new_bucket()}/table"


def use(monkeypatch: pytest.MonkeyPatch, settings: StoreSettings) -> None:
    """Make this process reach S3 by the settings."""
    monkeypatch.setenv(STORAGE_VARIABLE, settings_text({"s3": settings}))


def test_probe_of_a_store_with_conditions_finds_nothing_and_leaves_nothing(location: str) -> None:
    """Its clock is this machine's here."""
    storage = open_storage(location)
    uploads = uploads_of(storage)
    assert uploads is not None
    found = probe_store(storage, uploads)
    assert found.lack == ""
    assert abs(found.ahead_s) < 5
    assert tree(storage) == {}
    assert [*uploads.unfinished()] == []


def test_new_table_on_a_store_that_ignores_conditions_is_refused_with_nothing_written(
    tmp_path: Path, proxy: Proxy, location: str
) -> None:
    """It would let two runs publish one instant."""
    proxy.drops = CONDITION
    lake = Lake(folder=tmp_path, at=location)
    with pytest.raises(UnsupportedTableError) as caught:
        load(lake, WriteOperation.INSERT, ROWS)
    assert caught.value.condition == "storage/no-conditions"
    assert "replaces an object" in caught.value.message
    assert "single_writer" in caught.value.remedy
    assert tree(open_storage(location)) == {}


def test_new_table_on_a_store_that_refuses_conditions_is_refused_by_name(
    tmp_path: Path, proxy: Proxy, location: str
) -> None:
    """A store that knows none answers 501."""
    lake = Lake(folder=tmp_path, at=location)
    proxy.refuses = CONDITION
    with pytest.raises(FrameworkError) as caught:
        load(lake, WriteOperation.INSERT, ROWS)
    assert caught.value.condition == "storage/no-conditions"
    assert "single_writer" in caught.value.remedy


@pytest.mark.parametrize("kind", list(TableType))
def test_single_writer_makes_and_changes_a_table_without_conditions(
    tmp_path: Path,
    proxy: Proxy,
    location: str,
    monkeypatch: pytest.MonkeyPatch,
    kind: TableType,
) -> None:
    """A name that is taken is refused all the same, as far as one writer can see."""
    proxy.drops = CONDITION
    use(monkeypatch, replace(proxy.settings, single_writer=True))
    lake = Lake(folder=tmp_path, at=location, type=kind)
    load(lake, WriteOperation.INSERT, ROWS)
    load(lake, WriteOperation.UPSERT, [{"id": 1, "day": "a", "v": "second"}])
    assert {row["id"]: row["v"] for row in rows_of(location)} == {
        0: "first",
        1: "second",
        2: "first",
    }
    storage = open_storage(f"{location}-beside")
    put(storage, "a", b"1")
    assert condition_of(lambda: put(storage, "a", b"2")) == "storage/exists"
    uploads = uploads_of(storage)
    assert uploads is not None
    upload = uploads.begin("a", b"3")
    assert condition_of(lambda: uploads.complete("a", upload)) == "storage/exists"
    uploads.abort("a", upload)
    assert read(storage, "a") == b"1"


def a_spec(folder: Path, location: str, proxy: Proxy, more: str = "") -> Path:
    """Return a spec of a table at the location, whose source is on a disk."""
    spec = folder / "t.pipeline.yml"
    spec.write_text(
        "version: 1\n"
        f"table: {{name: t, location: '{location}',\n"
        "  record_key: {columns: [id], unique_within: table}}\n"
        f"bootstrap: {{path: {folder}, layout: none}}\n"
        "storage:\n"
        f"  s3: {{endpoint: '{proxy.settings.endpoint}', allow_http: true, path_style: true,\n"
        "    access_key_id: '${env.LAKE_KEY}', secret_access_key: '${env.LAKE_SECRET}'"
        f"{more}}}\n"
    )
    return spec


def test_doctor_tries_conditions_and_compares_clocks(
    tmp_path: Path, proxy: Proxy, location: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It says what to do, and leaves nothing."""
    monkeypatch.setenv("LAKE_KEY", "test")
    monkeypatch.setenv("LAKE_SECRET", uuid4().hex)
    spec = a_spec(tmp_path, location, proxy)
    assert [each.ok for each in stores(spec)] == [True, True]
    proxy.drops = CONDITION
    writes, clock = stores(spec)
    assert (writes.ok, clock.ok) == (False, True)
    assert "single_writer" in writes.remedy
    alone = a_spec(tmp_path, location, proxy, ", single_writer: true")
    assert [each.ok for each in stores(alone)] == [True, True]
    now = time.time()
    monkeypatch.setattr(time, "time", lambda: now - 600)
    assert [each.ok for each in stores(alone)] == [True, False]
    assert tree(open_storage(location)) == {}
