"""Tables in object stores, served: requests of the steady state, loads, markers, spellings."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from framework.engine.reading.views import LISTED, Views
from framework.hudi.commit.markers import batch_files, read_batch
from framework.hudi.storage.memory_objects import MemoryObjects, MemoryObjectStorage, StoredObject
from framework.hudi.timeline.timeline import load_timeline, timeline_hash
from framework.hudi.view.incremental import IncrementalView
from framework.hudi.view.stores.port import MemoryStore
from framework.spark.backend import EmbeddedViews
from framework.spec.sections.timeline_service_spec import TimelineServiceSpec
from framework.timeline_service.marker_routes import KeptMarkers
from framework.timeline_service.tables import Tables, table_id
from framework.vocabulary import TableType, WriteOperation
from tests.support.served import ServedScene, commit, file_id
from tests.support.writing import Lake, load, rows_of

INSTANT = "20261101000000001"
LATER = "20261101000000002"
MARKER = f"p=1/f_1-0-1_{INSTANT}.parquet.marker.CREATE"
LATEST = "/v1/hoodie/view/slices/partition/latest/"
DAYS = ("a", "b", "c")


@dataclass
class CountedObjects(MemoryObjects):
    """Objects that count the requests that only read them, by kind and key or prefix."""

    requests: Counter[tuple[str, str]] = field(default_factory=Counter)

    def list(self, prefix: str) -> list[tuple[str, StoredObject]]:
        """Count, then list."""
        self.requests["list", prefix] += 1
        return super().list(prefix)

    def get(self, key: str) -> StoredObject | None:
        """Count, then return the object."""
        self.requests["get", key] += 1
        return super().get(key)

    def listed(self, start: str) -> int:
        """Return how many listings there were of folders whose path starts so."""
        asked = self.requests.items()
        return sum(n for (kind, key), n in asked if kind == "list" and key.startswith(start))


@pytest.fixture
def store() -> Iterator[MemoryObjectStorage]:
    """Return an empty, counted store."""
    found = MemoryObjectStorage(uuid4().hex, CountedObjects())
    yield found
    found.forget()


def counted(store: MemoryObjectStorage) -> CountedObjects:
    """Return the store's objects."""
    assert isinstance(store.service, CountedObjects)
    return store.service


def rows(ids: range, ts: int) -> list[dict[str, Any]]:
    """Return rows over three days."""
    return [{"id": n, "day": DAYS[n % 3], "ts": ts} for n in ids]


def loads(lake: Lake, views: Views) -> None:
    """Load twice: rows, then changes of them and new rows."""
    load(lake, WriteOperation.UPSERT, rows(range(30), 1), views=views)
    load(lake, WriteOperation.UPSERT, rows(range(10, 40), 2), views=views)


def content(location: str) -> set[tuple[Any, ...]]:
    """Return the rows of a table."""
    return {(row["id"], row["day"], row["ts"]) for row in rows_of(location)}


def test_queries_of_a_served_table_in_a_store_make_no_request_until_it_changes(
    store: MemoryObjectStorage,
) -> None:
    """Then one listing of the timeline, one read of the instant, and none of a partition."""
    names = [(f"p={day}", file_id(f"{day}/{n}")) for day in DAYS for n in range(3)]
    commit(store, INSTANT, names)
    with ServedScene(store) as scene:
        for day in DAYS:
            scene.hudi("slices/partition/latest/", partition=f"p={day}")
        claims = scene.claims()
        counted(store).requests.clear()
        paths = [f"p={day}" for _ in range(100) for day in DAYS]
        answers = [scene.call("GET", LATEST, **claims, partition=path) for path in paths]
        assert all(answer.status == 200 for answer in answers)
        assert not counted(store).requests
        commit(store, LATER, [("p=a", file_id("another"))])
        later = {"lastinstantts": LATER, "timelinehash": timeline_hash(load_timeline(store))}
        counted(store).requests.clear()
        found = scene.call("GET", LATEST, **{**claims, **later}, partition="p=a")
    assert len(found.value) == 4
    assert dict(counted(store).requests) == {
        ("list", ".hoodie/"): 1,
        ("get", f".hoodie/{LATER}.commit"): 1,
    }


@pytest.mark.parametrize("kind", list(TableType))
def test_loads_into_a_store_with_a_service_make_the_same_table_with_fewer_listings(
    tmp_path: Path, store: MemoryObjectStorage, kind: TableType
) -> None:
    """A third load lists only the partition that it wrote into, to compare it with its statuses."""
    plain = MemoryObjectStorage(uuid4().hex, CountedObjects())
    views = EmbeddedViews.of(TimelineServiceSpec())
    try:
        for name, place, through in (("a", plain, LISTED), ("b", store, views)):
            folder = tmp_path / name
            folder.mkdir()
            lake = Lake(folder=folder, type=kind, ordering="ts", at=place.location)
            loads(lake, through)
            counted(place).requests.clear()
            load(lake, WriteOperation.UPSERT, rows(range(20, 50, 3), 3), views=through)
        assert counted(plain).listed("day=") > 1
        assert counted(store).listed("day=") == 1
        assert content(store.location) == content(plain.location)
    finally:
        views.stop()
        plain.forget()


def test_markers_of_writers_are_kept_in_a_store(store: MemoryObjectStorage) -> None:
    """Durable when acknowledged, new once, also for another service of the table."""
    markers = KeptMarkers(store, INSTANT)
    assert not markers.is_there()
    assert markers.create(MARKER) is True
    batches = batch_files(store, INSTANT).values()
    assert [read_batch(store, each.path) for each in batches] == [[MARKER]]
    assert markers.create(MARKER) is False
    assert KeptMarkers(store, INSTANT).create(MARKER) is False
    assert markers.delete() is True
    assert not store.service.objects


def test_small_batches_of_markers_in_a_store_are_merged(store: MemoryObjectStorage) -> None:
    """As on a disk, every 32nd batch merges what is small."""
    markers = KeptMarkers(store, INSTANT)
    names = [MARKER.replace("/f_", f"/f{n}_") for n in range(40)]
    for name in names:
        assert markers.create(name)
    assert markers.names() == sorted(names)
    assert len(batch_files(store, INSTANT)) < 10


@pytest.mark.parametrize("spelled", ["s3://b/lake/t", "s3a://b/lake/t/", "s3a://b//lake/t"])
def test_table_in_a_bucket_is_found_by_each_spelling_of_its_place(spelled: str) -> None:
    """Apache Hudi's clients send what Hadoop resolves, users write what they are used to."""
    storage = MemoryObjectStorage(uuid4().hex)
    tables = Tables()
    served = tables.register("s3://b/lake/t", IncrementalView(storage, MemoryStore()))
    assert tables.find(spelled) is served
    assert tables.by_path(spelled) is served
    assert table_id(spelled) == served.id
    assert tables.find("s3://b/lake/other") is None
