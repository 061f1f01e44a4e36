"""Clustering: slices become new file groups, and no reader of rows sees a difference."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from framework.cli.options import JsonFormat
from framework.cli.rewrite import cluster_command
from framework.engine.reading.load_history import history
from framework.engine.services.clustering import observe_clustering, run_clustering
from framework.engine.services.rewriting import Rewritten
from framework.engine.services.undo import plan_rollback, run_undo
from framework.engine.tasks import InProcessTasks
from framework.errors import SpecError
from framework.hudi.commit.lease import Owner, acquire
from framework.hudi.commit.staging import new_write_id
from framework.hudi.storage.locations import open_storage
from framework.hudi.storage.port import Storage
from framework.hudi.timeline.clock import ManualClock, SystemClock
from framework.hudi.timeline.instant import Action
from framework.plan.services.clustering import ClusteringPlan, ClusterRequest
from framework.vocabulary import RowOrder
from tests.support.orders import Shop
from tests.support.rewrites import (
    check_view,
    foreign_pending,
    kept_view,
    meta_of,
    refusal,
    survivors,
)

pytestmark = pytest.mark.long

KINDS = ("copy_on_write", "merge_on_read")
MERGE = ClusterRequest()
SORT = ClusterRequest(by=("v", "id"))


@pytest.fixture(params=KINDS)
def shop(request: pytest.FixtureRequest, tmp_path: Path) -> Shop:
    """Return a table with a skeleton and two other file groups in each of two partitions.

    Of a merge-on-read table some have log files.
    """
    shop = Shop(tmp_path, str(request.param), adopts=True)
    shop.document["write"]["small_file_limit"] = 0
    shop.run()
    shop.lands("one", ("a", "d1", 7), ("b", "d1", 1), ("c", "d2", 1))
    shop.lands("two", ("f", "d1", 5), ("g", "d2", 3), ("h", "d1", 2))
    shop.lands("three", ("a", "d1", 9), ("b", "d1", 4))
    return shop


def observe(shop: Shop, request: ClusterRequest = MERGE) -> ClusteringPlan:
    """Return the plan."""
    return observe_clustering(str(shop.location), request)


def cluster(
    shop: Shop, storage: Storage | None = None, *, request: ClusterRequest = MERGE
) -> Rewritten | None:
    """Cluster the table."""
    clock = ManualClock(SystemClock().now_ms())
    return run_clustering(observe(shop, request), InProcessTasks(2), clock, storage)


@pytest.mark.parametrize("request_", [MERGE, SORT], ids=["merge", "sort"])
def test_clustered_table_has_the_same_rows(shop: Shop, request_: ClusterRequest) -> None:
    """Commit times and numbers are kept, so readers of what changed see nothing new."""
    rows, meta, view = shop.rows(), meta_of(shop), kept_view(shop)
    assert len(observe(shop, request_).groups) == 2
    done = cluster(shop, request=request_)
    assert done is not None
    assert (done.files, done.rows) == (2, len(rows))
    assert (shop.rows(), meta_of(shop)) == (rows, meta)
    check_view(shop, view)
    newest = history(str(shop.location))[-1]
    found = (newest.instant, newest.action, newest.operation)
    assert found == (done.instant, "replacecommit", "CLUSTER")
    assert observe(shop, request_).groups == ()
    assert cluster(shop, request=request_) is None


def test_clustered_table_is_loaded_into(shop: Shop) -> None:
    """Loaded files stay loaded, and changes go to the new file groups."""
    cluster(shop)
    before = {(key, day): value for key, day, value in shop.rows()}
    shop.lands("four", ("a", "d1", 19), ("z", "d2", 9))
    expected = before | {("a", "d1"): 19, ("z", "d2"): 9}
    assert {(key, day): value for key, day, value in shop.rows()} == expected


def test_clustering_can_be_rolled_back(shop: Shop) -> None:
    """The replaced groups count again, and may be clustered once more."""
    rows, plan, view = shop.rows(), observe(shop), kept_view(shop)
    cluster(shop)
    undone = plan_rollback(str(shop.location))
    assert undone.instants[0].inserted == 0
    run_undo(undone, Action.ROLLBACK)
    assert (shop.rows(), observe(shop)) == (rows, plan)
    view.sync()
    cluster(shop)
    assert shop.rows() == rows


def test_clustering_sorts_rows_of_each_file(shop: Shop) -> None:
    """By the columns in their order."""
    done = cluster(shop, request=SORT)
    assert done is not None
    files = list(shop.location.rglob(f"*_{done.instant}.parquet"))
    assert len(files) == 2
    for file in files:
        found = pq.read_table(file, columns=["v", "id"]).to_pylist()
        assert found == sorted(found, key=lambda row: (row["v"], row["id"]))


def test_clustering_splits_what_is_larger_than_the_target(shop: Shop) -> None:
    """Each group becomes files of about equal numbers of rows."""
    rows = shop.rows()
    (one, *_) = observe(shop, SORT).groups
    size = sum(each.bytes_to_read for each in one.slices)
    request = ClusterRequest(by=("v",), order=RowOrder.Z_ORDER, target_bytes=size * 2 // 3)
    plan = observe(shop, request)
    done = cluster(shop, request=request)
    assert done is not None
    assert done.files == plan.outputs > len(plan.groups)
    assert shop.rows() == rows


def test_clustering_of_one_partition_leaves_the_others(shop: Shop) -> None:
    """An unknown partition is refused."""
    place = str(shop.location)
    plan = observe_clustering(place, MERGE, partitions=["day=d1"])
    assert {each.group.partition_path for each in plan.slices} == {"day=d1"}
    unknown = refusal(lambda: observe_clustering(place, MERGE, partitions=["day=d9"]))
    assert unknown == "service/no-such-partition"


def test_clustering_by_other_columns_is_refused(shop: Shop) -> None:
    """Columns that are missing, or equal within a partition."""
    missing = refusal(lambda: observe(shop, ClusterRequest(by=("w",))))
    assert missing == "cluster/no-such-column"
    folder = refusal(lambda: observe(shop, ClusterRequest(by=("day",))))
    assert folder == "cluster/column-not-sortable"


def test_clustering_of_a_stale_plan_is_refused(shop: Shop) -> None:
    """A load came after the plan; nothing is changed."""
    plan = observe(shop)
    shop.lands("four", ("a", "d1", 5))
    before = shop.tree()
    assert refusal(lambda: run_clustering(plan, InProcessTasks(1))) == "cluster/stale-plan"
    assert shop.tree() == before


def test_clustering_beside_other_writers_is_refused(shop: Shop) -> None:
    """Apache Hudi's pending instant, or the lease of another run."""
    plan = observe(shop)
    pending = foreign_pending(shop)
    before = shop.tree()
    assert refusal(lambda: observe(shop)) == "table/foreign-pending"
    assert refusal(lambda: run_clustering(plan, InProcessTasks(1))) == "commit/foreign-pending"
    assert shop.tree() == before
    pending.unlink()
    acquire(open_storage(str(shop.location)), Owner.here(new_write_id()), SystemClock())
    assert refusal(lambda: cluster(shop)) == "commit/lease-held"


def test_clustering_over_a_damaged_file_is_refused(shop: Shop) -> None:
    """Nothing is published, and nothing is left behind."""
    plan = observe(shop)
    base = next(each.base for each in plan.slices if each.base and not each.bootstrap)
    path = shop.location / base.path
    data = bytearray(path.read_bytes())
    data[40] ^= 1
    path.write_bytes(data)
    before = shop.tree()
    assert refusal(lambda: run_clustering(plan, InProcessTasks(1))) == "file/not-readable"
    assert shop.tree() == before


def test_clustering_of_a_bucket_index_is_refused(tmp_path: Path) -> None:
    """File ids are bucket numbers there."""
    shop = Shop(tmp_path, "copy_on_write")
    shop.lands("one", ("a", "d1", 1))
    rename_group(shop, "00000001")
    assert refusal(lambda: observe(shop)) == "cluster/bucket-index"


def test_clustering_of_a_file_id_that_begins_with_digits_is_planned(tmp_path: Path) -> None:
    """One random file id in 43 does."""
    shop = Shop(tmp_path, "copy_on_write")
    shop.lands("one", ("a", "d1", 1))
    rename_group(shop, "03141592")
    assert observe(shop).groups == ()


def rename_group(shop: Shop, prefix: str) -> None:
    """Replace the first eight characters of the file id of the only group."""
    (base,) = (shop.location / "day=d1").glob("*.parquet")
    named = shop.location / "day=d1" / f"{prefix}{base.name[8:]}"
    base.rename(named)
    (commit,) = (shop.location / ".hoodie").glob("*.commit")
    commit.write_text(
        commit.read_text()
        .replace(base.name, named.name)
        .replace(base.name.split("_")[0], named.name.split("_")[0])
    )


@pytest.mark.parametrize(
    "entry", ["hoodie.table.cdc.enabled=true", "hoodie.populate.meta.fields=false"]
)
def test_clustering_of_a_table_that_lakestrap_cannot_write_is_refused(
    tmp_path: Path, entry: str
) -> None:
    """As loads are."""
    shop = Shop(tmp_path, "copy_on_write")
    shop.lands("one", ("a", "d1", 1))
    with (shop.location / ".hoodie" / "hoodie.properties").open("a") as out:
        out.write(f"{entry}\n")
    assert refusal(lambda: observe(shop)) == "table/property-not-supported"


def test_clustering_killed_at_any_call_is_whole_or_absent(shop: Shop, tmp_path: Path) -> None:
    """Rows and meta columns are the same after recovery, whatever was done."""
    rows, meta = shop.rows(), meta_of(shop)
    outcomes, deaths = set(), 0
    for deaths, survivor in enumerate(survivors(shop, tmp_path / "copy", cluster), start=1):
        assert (survivor.rows(), meta_of(survivor)) == (rows, meta), deaths
        outcomes.add(bool(observe(survivor).groups))
    assert deaths > 20
    assert outcomes == {True, False}


def test_cluster_command_prints_its_plan_and_its_outcome(
    shop: Shop, capsys: pytest.CaptureFixture[str]
) -> None:
    """With --dry-run nothing changes."""
    place = str(shop.location)
    run = partial(cluster_command, place, by="v, id", z_order=True)
    assert run(dry_run=True) == 0
    assert "in 2 partitions to 2, sorted by v, id (z_order)" in capsys.readouterr().out
    assert run(form=JsonFormat.JSON) == 0
    document = json.loads(capsys.readouterr().out)
    assert (document["files"], len(document["groups"])) == (2, 2)
    assert run() == 0
    assert "nothing to cluster" in capsys.readouterr().out


@pytest.mark.parametrize("options", [{"by": "v,"}, {"by": "v,v"}, {"z_order": True}])
def test_cluster_command_refuses_what_is_no_list_of_columns(options: dict[str, object]) -> None:
    """Before any table is opened."""
    with pytest.raises(SpecError):
        cluster_command("/nowhere", **options)  # type: ignore[arg-type]  # as the command line passes them
