"""Tables of each kind, registered in a metastore."""

from __future__ import annotations

from pathlib import Path

from framework.engine.catalogs.connect import connect
from framework.engine.catalogs.sync import observe_sync, run_sync
from framework.plan.catalogs.target import CatalogTarget
from framework.vocabulary import CatalogKind
from tests.support.orders import Shop

__all__ = ["KINDS", "a_shop", "synced", "target_of"]

KINDS = {
    "cow": ("copy_on_write", False),
    "adopted": ("copy_on_write", True),
    "mor": ("merge_on_read", False),
    "adopted_mor": ("merge_on_read", True),
}
"""Table type, and whether a source is adopted, by table name."""
_ROWS = [("a", "d1", 1), ("b", "d 2:%", 1), ("c", "d3", 1)]


def target_of(address: str, table: str, database: str = "shop") -> CatalogTarget:
    """Return a target in the metastore."""
    return CatalogTarget(kind=CatalogKind.HIVE, database=database, table=table, uri=address)


def a_shop(folder: Path, name: str) -> Shop:
    """Return a table of one of the kinds, with rows that were inserted and updated."""
    kind, adopts = KINDS[name]
    shop = Shop(folder, kind, adopts=adopts)
    shop.document["table"]["name"] = "lake.orders"
    if adopts:
        shop.run()
    shop.lands("one", *_ROWS)
    shop.lands("two", ("a", "d1", 2))
    return shop


def synced(shop: Shop, address: str, name: str) -> bool:
    """Sync a table; return whether anything changed."""
    target = target_of(address, name, "lake")
    with connect(target) as catalog:
        plan = observe_sync(str(shop.location), target, catalog)
        run_sync(plan, catalog)
        assert not observe_sync(str(shop.location), target, catalog).has_changes
    return plan.has_changes
