"""Real upserts whose tasks ask a service: it saves listings, and whatever it does harms nothing."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from framework.engine.events import Event, Note
from framework.engine.reading.table import open_table
from framework.engine.reading.views import LISTED, Views
from framework.spark.backend import EmbeddedViews
from framework.spec.sections.timeline_service_spec import TimelineServiceSpec
from framework.vocabulary import TableType, ViewStore, WriteOperation
from tests.support.faulty_service import FAULTS, FaultyServer, Misled, faulty_server
from tests.support.writing import Lake, load, rows_of

pytestmark = pytest.mark.long

UPSERT = WriteOperation.UPSERT
DAYS = ("a", "b", "c")


def rows(ids: range, ts: int) -> list[dict[str, Any]]:
    """Return rows over three days."""
    return [{"id": n, "day": DAYS[n % 3], "ts": ts, "text": f"{n} at {ts}"} for n in ids]


def loads(lake: Lake, views: Views, events: Callable[[Event], None]) -> None:
    """Load three times: rows, changes and new rows, changes again."""
    for ids, ts in ((range(30), 1), (range(10, 40), 2), (range(20, 50, 3), 3)):
        load(lake, UPSERT, rows(ids, ts), views=views, events=events)


def content(lake: Lake) -> list[tuple[Any, ...]]:
    """Return what a table holds, without names that differ from run to run."""
    names = ("_hoodie_record_key", "_hoodie_partition_path", "id", "day", "ts", "text")
    return sorted(tuple(row[name] for name in names) for row in rows_of(lake.location))


@pytest.fixture(params=list(TableType))
def kind(request: pytest.FixtureRequest) -> TableType:
    """Each table type."""
    found: TableType = request.param
    return found


@pytest.fixture
def expected(tmp_path: Path, kind: TableType) -> list[tuple[Any, ...]]:
    """What the loads make without a service."""
    folder = tmp_path / "plain"
    folder.mkdir()
    lake = Lake(folder=folder, type=kind, ordering="ts")
    loads(lake, LISTED, lambda _: None)
    return content(lake)


@pytest.fixture
def lake(tmp_path: Path, kind: TableType) -> Lake:
    """An empty lake for the loads with a service."""
    folder = tmp_path / "served"
    folder.mkdir()
    return Lake(folder=folder, type=kind, ordering="ts")


@pytest.fixture
def views() -> Iterator[EmbeddedViews]:
    """Views of a service of its own."""
    found = EmbeddedViews.of(TimelineServiceSpec())
    yield found
    found.stop()


@pytest.fixture(params=list(ViewStore))
def stored_views(request: pytest.FixtureRequest) -> Iterator[EmbeddedViews]:
    """The same, with each store."""
    found = EmbeddedViews.of(TimelineServiceSpec(store=request.param))
    yield found
    found.stop()


def warnings(events: list[Event]) -> list[str]:
    """Return what was warned of."""
    return [each.message for each in events if isinstance(each, Note) and each.level == "warning"]


def test_loads_with_a_service_make_the_same_table_and_list_nothing_again(
    lake: Lake, stored_views: EmbeddedViews, expected: list[tuple[Any, ...]]
) -> None:
    """The first load that finds a table lists it once; later ones follow the timeline."""
    views = stored_views
    events: list[Event] = []
    load(lake, UPSERT, rows(range(30), 1), views=views, events=events.append)
    load(lake, UPSERT, rows(range(10, 40), 2), views=views, events=events.append)
    served = views.served(open_table(lake.location))
    before = served.view.counts
    assert before.listings > 0
    load(lake, UPSERT, rows(range(20, 50, 3), 3), views=views, events=events.append)
    after = served.view.counts
    assert after.listings == before.listings
    assert after.instants > before.instants
    assert (after.rebuilt, after.resets) == (0, 0)
    assert served.answers["look-up"] > 0
    assert warnings(events) == []
    assert content(lake) == expected


def test_loads_of_a_service_that_does_not_follow_the_timeline_make_the_same_table(
    lake: Lake, expected: list[tuple[Any, ...]]
) -> None:
    """With `incremental: false` each commit makes the view list anew."""
    views = EmbeddedViews.of(TimelineServiceSpec(incremental=False))
    try:
        loads(lake, views, lambda _: None)
        counts = views.served(open_table(lake.location)).view.counts
    finally:
        views.stop()
    assert counts.resets > 0
    assert content(lake) == expected


@pytest.mark.parametrize("fault", sorted(FAULTS))
def test_loads_with_a_faulty_service_make_the_same_table(
    fault: str, lake: Lake, views: EmbeddedViews, expected: list[tuple[Any, ...]]
) -> None:
    """Tasks list partitions themselves, which is counted and reported."""
    events: list[Event] = []
    with faulty_server(fault) as server:
        loads(lake, Misled(views, server), events.append)
        assert server.calls > 0
    assert any("did not answer" in each for each in warnings(events))
    assert content(lake) == expected


def test_loads_beside_callers_that_are_half_open_or_slow_are_answered(
    lake: Lake, views: EmbeddedViews, expected: list[tuple[Any, ...]]
) -> None:
    """A hundred connections that say nothing, or a byte a second, keep no task from its answer."""
    events: list[Event] = []
    load(lake, UPSERT, rows(range(30), 1), views=views, events=events.append)
    address = views.address(open_table(lake.location))
    callers = [socket.create_connection((address.host, address.port)) for _ in range(100)]
    over = threading.Event()
    dripping = threading.Thread(target=drip, args=(callers[:50], over))
    dripping.start()
    try:
        load(lake, UPSERT, rows(range(10, 40), 2), views=views, events=events.append)
        load(lake, UPSERT, rows(range(20, 50, 3), 3), views=views, events=events.append)
    finally:
        over.set()
        dripping.join()
        for each in callers:
            each.close()
    served = views.served(open_table(lake.location))
    assert served.answers["look-up"] > 0
    assert warnings(events) == []
    assert content(lake) == expected


def drip(callers: list[socket.socket], over: threading.Event) -> None:
    """Send a byte of a request on each connection, again and again."""
    for byte in b"GET /v1/hoodie/view/slices/all HTTP/1.1\r\nhost: localhost\r\nx: " + b"y" * 999:
        for each in callers:
            with suppress(OSError):
                each.sendall(bytes([byte]))
        if over.wait(1):
            return


def test_loads_with_a_dead_service_make_the_same_table(
    lake: Lake, views: EmbeddedViews, expected: list[tuple[Any, ...]]
) -> None:
    """Nothing listens on the port any more."""
    events: list[Event] = []
    with socket.create_server(("127.0.0.1", 0)) as gone:
        port = gone.getsockname()[1]
    server = FaultyServer(behave=FAULTS["closes"], port=port)
    loads(lake, Misled(views, server), events.append)
    assert any("did not answer" in each for each in warnings(events))
    assert content(lake) == expected
