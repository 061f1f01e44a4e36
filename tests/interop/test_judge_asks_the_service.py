"""Apache Hudi's clients ask our timeline service alone, and our view follows what they do.

Its Spark writers run with `REMOTE_ONLY` and without a server of their own: every slice that they
look up comes from us, and an answer that they could not read would fail the write. After each of
their actions our view, which listed each partition once, equals a listing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from framework.hudi.bootstrap.index import BootstrapIndex
from framework.hudi.storage.local import LocalStorage
from framework.hudi.timeline.timeline import load_timeline
from framework.hudi.view.incremental import IncrementalView
from framework.hudi.view.listing import ListingView
from framework.hudi.view.port import Query, Selection
from framework.hudi.view.stores.memory import MemoryStore
from framework.timeline_service.access import Access
from framework.timeline_service.server import EmbeddedServer
from framework.timeline_service.service import Service
from framework.timeline_service.tables import Tables
from framework.vocabulary import KeyScope, ServiceAuth, TableType, WriteOperation
from tests.interop.printed import printed_options
from tests.interop.turns import Turns
from tests.support.writing import Lake

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from pyspark.sql import SparkSession

    from tests.interop.judge import Judge

pytestmark = pytest.mark.interop

CLEAN_SOON = {
    "hoodie.clean.automatic": "true",
    "hoodie.cleaner.commits.retained": "1",
    "hoodie.keep.min.commits": "4",
    "hoodie.keep.max.commits": "5",
}
COMPACT = {"hoodie.compact.inline": "true", "hoodie.compact.inline.max.delta.commits": "1"}
CLUSTER = {"hoodie.clustering.inline": "true", "hoodie.clustering.inline.max.commits": "1"}


class Served:
    """A table that is served, and compared with a listing."""

    def __init__(self, location: Path) -> None:
        self.storage = LocalStorage(str(location))
        self.view = IncrementalView(self.storage, MemoryStore())
        self.tables = Tables()
        self.table = self.tables.register(str(location), self.view)
        self.service = Service(self.tables, Access(auth=ServiceAuth.LOOPBACK))

    def options(self, server: EmbeddedServer) -> dict[str, str]:
        """Return what sends a client of Apache Hudi to us alone."""
        return {
            "hoodie.embed.timeline.server": "false",
            "hoodie.filesystem.view.type": "REMOTE_ONLY",
            "hoodie.filesystem.view.remote.host": "127.0.0.1",
            "hoodie.filesystem.view.remote.port": str(server.port),
            "hoodie.filesystem.remote.backup.view.enable": "false",
        }

    def compare(self) -> None:
        """Every selection of every partition is what a listing of the same moment gives."""
        self.view.sync()
        timeline = load_timeline(self.storage)
        listed = ListingView(self.storage, timeline, BootstrapIndex.open(self.storage))
        times = [each.requested_time for each in timeline.completed]
        for selection in Selection:
            for instant in {times[0], times[-1], times[len(times) // 2]}:
                query = Query(
                    selection=selection,
                    instant=instant,
                    instants=frozenset({instant, times[-1]}),
                    include_pending=True,
                )
                assert self.view.select(query) == listed.select(query), query


@pytest.fixture
def served(tmp_path: Path) -> Iterator[tuple[Served, EmbeddedServer]]:
    """A service for the table that will be at `tmp_path/table`."""
    found = Served(tmp_path / "table")
    with EmbeddedServer(found.service) as server:
        yield found, server


def asked(service: Service) -> dict[str, int]:
    """Return how often each of Apache Hudi's routes was answered; none with an error."""
    assert {status for _, status in service.metrics.answers} <= {200}
    prefix = "/v1/hoodie/view/"
    return {
        route.removeprefix(prefix): count
        for (route, _), count in service.metrics.answers.items()
        if route.startswith(prefix)
    }


@pytest.mark.parametrize(
    "kind",
    [TableType.MERGE_ON_READ, pytest.param(TableType.COPY_ON_WRITE, marks=pytest.mark.full)],
)
def test_judge_writes_through_our_service_and_our_view_follows(
    kind: TableType,
    judge: Judge,
    spark: SparkSession,
    served: tuple[Served, EmbeddedServer],
    tmp_path: Path,
) -> None:
    """Upserts, then cleaning, archiving, compaction or clustering, all looked up over HTTP."""
    ours, server = served
    lake = Lake(folder=tmp_path, scope=KeyScope.PARTITION, type=kind, ordering="ts")
    turns = Turns(lake=lake, judge=judge, spark=spark)
    turns.ours(WriteOperation.INSERT, turns.some(range(12)))
    list(ours.view.partitions())
    ours.compare()
    remote = ours.options(server)
    rounds: list[dict[str, str]] = [{}, {}, COMPACT if kind is TableType.MERGE_ON_READ else CLUSTER]
    rounds += [CLEAN_SOON] * 5
    for number, more in enumerate(rounds):
        rows = turns.some([number, number + 3, 40 + number])
        options: dict[str, Any] = {**printed_options(turns.location), **remote, **more}
        turns.under(options, rows)
        ours.compare()
    turns.compare()
    found = asked(ours.service)
    assert len(found) > 2, found
    counts = ours.view.counts
    assert counts.instants > 0
    assert (counts.rebuilt, counts.resets) == (0, 0), counts
