"""Apache Hudi's clients ask our timeline service alone, and our view follows what they do.

Its Spark writers run with `REMOTE_ONLY` and without a server of their own: every slice that they
look up comes from us, and an answer that they could not read would fail the write. After each of
their actions our view, which listed each partition once, equals a listing.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from framework.timeline_service.server import EmbeddedServer
from framework.vocabulary import KeyScope, TableType, WriteOperation
from tests.interop.judge import Judge
from tests.interop.printed import printed_options
from tests.interop.served_table import Served
from tests.interop.turns import Turns
from tests.support.writing import Lake

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.interop, pytest.mark.taking_turns]

CLEAN_SOON = {
    "hoodie.clean.automatic": "true",
    "hoodie.cleaner.commits.retained": "1",
    "hoodie.keep.min.commits": "4",
    "hoodie.keep.max.commits": "5",
}
COMPACT = {"hoodie.compact.inline": "true", "hoodie.compact.inline.max.delta.commits": "1"}
CLUSTER = {"hoodie.clustering.inline": "true", "hoodie.clustering.inline.max.commits": "1"}


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
    found = ours.asked("/v1/hoodie/view/")
    assert len(found) > 2, found
    counts = ours.view.counts
    assert counts.instants > 0
    assert (counts.rebuilt, counts.resets) == (0, 0), counts
