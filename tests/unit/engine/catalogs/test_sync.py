"""A table and its catalog over loads, services and deaths, in memory."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from framework.engine.catalogs.memory import MemoryCatalog
from framework.engine.catalogs.port import Catalog, catalog_error
from framework.engine.catalogs.sync import observe_sync, run_sync, sync_after
from framework.engine.events import StageFinished
from framework.engine.prepare import PlanningContext, Request, prepare
from framework.engine.runner import RunResult, run, run_nothing
from framework.engine.services.undo import plan_rollback, run_undo
from framework.engine.tasks import InProcessTasks
from framework.errors import AfterCommitError, CatalogError, PlanError
from framework.hudi.timeline.instant import Action
from framework.plan.catalogs.sync_plan import SyncPlan, TableSync
from framework.plan.catalogs.target import CatalogTarget
from tests.support.catalogs import a_target
from tests.support.orders import Shop
from tests.support.writing import run_spec

COW, MOR = "copy_on_write", "merge_on_read"
SECTION = {"type": "hive", "uri": "thrift://127.0.0.1:9083"}


class Dying(MemoryCatalog):
    """A catalog that fails at its n-th write, and all later ones."""

    def __init__(self, fails_at: int) -> None:
        super().__init__()
        self.fails_at = fails_at
        self.writes = 0

    def create_database(self, name: str) -> None:
        """Count, then create."""
        self._count()
        super().create_database(name)

    def put_table(self, *args: Any, **options: Any) -> None:
        """Count, then write."""
        self._count()
        super().put_table(*args, **options)

    def put_partitions(self, sync: TableSync) -> None:
        """Count, then write."""
        self._count()
        super().put_partitions(sync)

    def _count(self) -> None:
        self.writes += 1
        if self.writes >= self.fails_at:
            raise catalog_error("unreachable", "it is dead", place="memory", remedy="Start it.")


def synced(shop: Shop, catalog: Catalog) -> SyncPlan:
    """Sync a table and return what was done; the next sync finds nothing to do."""
    place = str(shop.location)
    plan = observe_sync(place, a_target(), catalog)
    run_sync(plan, catalog)
    assert not observe_sync(place, a_target(), catalog).has_changes
    return plan


def days(catalog: MemoryCatalog, table: str = "orders") -> set[str]:
    """Return the values of the partitions that the catalog has."""
    return {values[0] for values in catalog.stored.get(("shop", table), {})}


def test_first_sync_creates_database_table_and_partitions(tmp_path: Path) -> None:
    """And the second one changes nothing."""
    shop, catalog = Shop(tmp_path, COW), MemoryCatalog()
    instant = shop.lands("a", ("a", "d1", 1), ("b", "d2", 1))
    plan = synced(shop, catalog)
    assert plan.creates_database
    assert days(catalog) == {"d1", "d2"}
    found = catalog.table("shop", "orders")
    assert found is not None
    assert found.last_commit == instant == plan.last_commit
    assert found.location == f"file:{shop.location}"


def test_later_sync_looks_at_changed_partitions_only(tmp_path: Path) -> None:
    """One that the catalog lacks, and no commit changed, is not missed."""
    shop, catalog = Shop(tmp_path, COW), MemoryCatalog()
    shop.lands("a", ("a", "d1", 1), ("b", "d2", 1))
    synced(shop, catalog)
    del catalog.stored["shop", "orders"]["d2",]
    shop.lands("b", ("a", "d1", 2), ("c", "d3", 1))
    (table,) = synced(shop, catalog).tables
    assert [each.values for each in table.add] == [("d3",)]
    assert table.changes == ("last commit",)
    assert days(catalog) == {"d1", "d3"}


def test_deleted_partition_is_dropped(tmp_path: Path) -> None:
    """One of which a file group is left is not."""
    shop, catalog = Shop(tmp_path, COW), MemoryCatalog()
    shop.lands("a", ("a", "d1", 1), ("b", "d2", 1))
    synced(shop, catalog)
    shop.document["write"] = {"operation": "delete_partition", "partitions": ["day=d1"]}
    source = shop.document.pop("source")
    shop.run()
    (table,) = synced(shop, catalog).tables
    assert [each.values for each in table.drop] == [("d1",)]
    shop.document |= {"source": source, "write": {"operation": "insert_overwrite"}}
    shop.lands("b", ("c", "d2", 1), ("d", "d1", 1))
    synced(shop, catalog)
    assert days(catalog) == {"d1", "d2"}


def test_rolled_back_commit_makes_the_sync_look_at_all_partitions(tmp_path: Path) -> None:
    """The last commit that was synced is not on the timeline any more."""
    shop, catalog = Shop(tmp_path, COW), MemoryCatalog()
    shop.lands("a", ("a", "d1", 1))
    shop.lands("b", ("b", "d2", 1))
    synced(shop, catalog)
    run_undo(plan_rollback(str(shop.location)), Action.ROLLBACK)
    synced(shop, catalog)
    assert days(catalog) == {"d1"}


def test_new_column_reaches_table_and_partitions(tmp_path: Path) -> None:
    """Columns, and Spark's schema."""
    shop, catalog = Shop(tmp_path, COW), MemoryCatalog()
    shop.lands("a", ("a", "d1", 1))
    synced(shop, catalog)
    shop.document["write"]["schema_evolution"] = "add_columns"
    _lands_wider(shop)
    (table,) = synced(shop, catalog).tables
    assert table.changes == ("columns", "properties", "last commit")
    assert "more" in {each.name for each in catalog.partition_columns["shop", "orders"]}


def _lands_wider(shop: Shop) -> None:
    """Load a file with one more column."""
    rows = pa.table({"id": ["z"], "day": ["d1"], "v": pa.array([1], pa.int64()), "more": ["x"]})
    pq.write_table(rows, shop.folder / "landing" / "wider.parquet")
    shop.run()


@pytest.mark.parametrize("adopts", [False, True])
def test_merge_on_read_table_is_three_tables(tmp_path: Path, *, adopts: bool) -> None:
    """Each with all partitions, and a data source of Spark; adopted tables too."""
    shop, catalog = Shop(tmp_path, MOR, adopts=adopts), MemoryCatalog()
    if adopts:
        shop.run()
    shop.lands("a", ("a", "d1", 1), ("b", "d2", 1))
    synced(shop, catalog)
    provider = "spark.sql.sources.provider"
    sources = {name: provider in table.properties for (_, name), table in catalog.tables.items()}
    assert sources == dict.fromkeys(("orders_ro", "orders_rt", "orders"), True)
    for name in sources:
        assert days(catalog, name) == {"d1", "d2"}


@pytest.mark.parametrize("fails_at", range(1, 12))
def test_sync_that_dies_at_any_write_is_completed_by_the_next(
    tmp_path: Path, fails_at: int
) -> None:
    """The catalog is then like one that was synced at once."""
    shop, catalog, alone = Shop(tmp_path, MOR), Dying(fails_at), MemoryCatalog()
    shop.lands("a", ("a", "d1", 1), ("b", "d2", 1))
    plan = observe_sync(str(shop.location), a_target(), catalog)
    try:
        run_sync(plan, catalog)
    except CatalogError:
        assert catalog.writes == fails_at
    catalog.fails_at = 1000
    synced(shop, catalog)
    synced(shop, alone)
    assert catalog.tables == alone.tables
    assert catalog.stored == alone.stored


def test_table_of_another_location_is_refused_before_anything_is_written(tmp_path: Path) -> None:
    """Both locations are named."""
    shop, other, catalog = Shop(tmp_path / "a", COW), Shop(tmp_path / "b", COW), MemoryCatalog()
    for each in (shop, other):
        each.lands("a", ("a", "d1", 1))
    synced(shop, catalog)
    before = dict(catalog.tables)
    with pytest.raises(PlanError) as caught:
        observe_sync(str(other.location), a_target(), catalog)
    assert caught.value.condition == "catalog/other-location"
    assert str(shop.location) in caught.value.message
    assert str(other.location) in caught.value.message
    assert catalog.tables == before


def test_missing_database_is_refused_where_none_may_be_created(tmp_path: Path) -> None:
    """By its name."""
    shop = Shop(tmp_path, COW)
    shop.lands("a", ("a", "d1", 1))
    with pytest.raises(CatalogError) as caught:
        observe_sync(str(shop.location), a_target(create_database=False), MemoryCatalog())
    assert caught.value.condition == "catalog/no-database"


class Opened:
    """Opens one catalog, whatever the target is."""

    def __init__(self, catalog: Catalog) -> None:
        self.catalog = catalog
        self.targets: list[CatalogTarget] = []

    @contextmanager
    def __call__(self, target: CatalogTarget) -> Iterator[Catalog]:
        """Yield the catalog."""
        self.targets.append(target)
        yield self.catalog


def run_with(shop: Shop, opening: Opened, scratch: Path) -> RunResult:
    """Run the spec of a shop with a catalog, as the command does."""
    spec = shop.folder / "orders.pipeline.yml"
    write_spec(shop, spec)
    scratch.mkdir(exist_ok=True)
    tasks = InProcessTasks(1)
    plan = prepare(Request(path=spec), PlanningContext(tasks=tasks, scratch=scratch)).plan
    if not plan.has_changes:
        return run_nothing(plan, opening=opening)
    return run(plan, tasks, opening=opening)


def write_spec(shop: Shop, spec: Path) -> None:
    """Write the spec of a shop with a section `catalog`."""
    spec.write_text(json.dumps({**shop.document, "catalog": SECTION}))


def test_run_registers_after_its_commit_and_reports_it(tmp_path: Path) -> None:
    """Also a run with nothing to load: an earlier one may have died before its sync."""
    shop, opening = Shop(tmp_path, COW, adopts=True), Opened(MemoryCatalog())
    first = run_with(shop, opening, tmp_path / "scratch")
    assert first.catalog is not None
    assert first.catalog.last_commit == first.instant == "00000000000001"
    shop.comes("a", ("a", "d3", 1))
    assert run_spec(shop.document, shop.folder).catalog is None
    idle = run_with(shop, opening, tmp_path / "scratch")
    assert (idle.instant, idle.catalog is not None and idle.catalog.has_changes) == (None, True)
    assert opening.targets[0].place == "hive thrift://127.0.0.1:9083"
    assert opening.targets[0].database == "shop"


def test_run_without_a_table_registers_nothing(tmp_path: Path) -> None:
    """Nothing has landed yet."""
    shop, opening = Shop(tmp_path, COW), Opened(MemoryCatalog())
    (tmp_path / "landing").mkdir()
    assert run_with(shop, opening, tmp_path / "scratch").catalog is None
    assert not opening.targets


def test_failed_sync_leaves_the_commit_and_names_the_command(tmp_path: Path) -> None:
    """Exit 6; the next run, or `sync`, completes it."""
    shop, catalog = Shop(tmp_path, COW), Dying(1)
    shop.comes("a", ("a", "d1", 1))
    with pytest.raises(AfterCommitError) as caught:
        run_with(shop, Opened(catalog), tmp_path / "scratch")
    assert (caught.value.condition, caught.value.exit_code) == ("catalog/sync-failed", 6)
    assert "run-pipeline sync" in caught.value.remedy
    assert "it is dead" in caught.value.message
    assert shop.rows() == [("a", "d1", 1)]
    catalog.fails_at = 1000
    synced(shop, catalog)


def test_stage_of_the_sync_is_reported_with_a_summary(tmp_path: Path) -> None:
    """Between the commit and the end."""
    shop = Shop(tmp_path, COW)
    shop.lands("a", ("a", "d1", 1))
    events: list[Any] = []
    sync_after(
        str(shop.location), a_target(), events=events.append, opening=Opened(MemoryCatalog())
    )
    ended = [each for each in events if isinstance(each, StageFinished)]
    assert [each.stage for each in ended] == ["sync"]
    assert "shop.orders: new table, 1 partition added" in ended[0].summary
