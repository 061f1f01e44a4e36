"""What follows a load: the services that are due, and what happens when one cannot run."""

from __future__ import annotations

from pathlib import Path

import pytest

from framework.engine.events import Event, Note
from framework.engine.reading.load_history import history
from framework.engine.services.maintenance import maintain
from framework.engine.tasks import InProcessTasks
from framework.errors import AfterCommitError
from framework.hudi.commit.lease import Owner, acquire, release
from framework.hudi.commit.staging import new_write_id
from framework.hudi.storage.local import LocalStorage
from framework.hudi.timeline.clock import SystemClock
from framework.hudi.timeline.instant import DATA_ACTIONS, Action
from framework.hudi.timeline.timeline import load_timeline
from framework.plan.services.clean import CleanPolicy
from framework.plan.services.maintenance import Maintenance
from tests.support.orders import Shop
from tests.support.writing import run_spec

pytestmark = pytest.mark.long


def shop_of(folder: Path, kind: str, **maintenance: object) -> Shop:
    """Return a shop whose spec has a section `maintenance`, unless that is empty."""
    shop = Shop(folder, kind)
    del shop.document["maintenance"]
    if maintenance:
        shop.document["maintenance"] = maintenance
    return shop


def actions(shop: Shop) -> list[str]:
    """Return the operations of completed commits, and the actions of all else, in order."""
    operations = {each.instant: each.operation for each in history(str(shop.location))}
    found = load_timeline(LocalStorage(str(shop.location))).completed
    return [operations.get(e.requested_time) or e.action.value for e in found]


def load(shop: Shop, number: int) -> None:
    """Load a new version of two rows."""
    shop.lands(f"{number:03}", ("a", "d1", number), ("b", "d2", number))


def files(shop: Shop) -> int:
    """Return the number of data files of the table."""
    found = shop.location.glob("day=*/*")
    return sum(path.suffix == ".parquet" or ".log." in path.name for path in found)


def test_loads_without_a_section_compact_by_default(tmp_path: Path) -> None:
    """The fifth log file of a slice is merged after the load that wrote it."""
    shop = shop_of(tmp_path, "merge_on_read")
    for number in range(6):
        load(shop, number)
    assert actions(shop) == ["UPSERT"] * 6 + ["COMPACT"]
    assert shop.rows() == [("a", "d1", 5), ("b", "d2", 5)]


def test_loads_clean_by_the_policy_of_the_spec(tmp_path: Path) -> None:
    """As soon as a file is old; the result of the run names the clean."""
    shop = shop_of(tmp_path, "copy_on_write", clean={"keep_commits": 2})
    for number in range(3):
        load(shop, number)
    assert actions(shop) == ["UPSERT"] * 3
    shop._write("landing/x.parquet", [("a", "d1", 9)])  # noqa: SLF001 - lands without a run
    result = run_spec(shop.document, shop.folder)
    assert [(each.service, each.summary) for each in result.services] == [
        ("clean", "2 files deleted")
    ]
    assert str(result.services[0].instant) in str(load_timeline(LocalStorage(str(shop.location))))


def test_loads_cluster_once_a_partition_has_enough_small_files(tmp_path: Path) -> None:
    """Inserts make a file each where small files take no rows."""
    shop = shop_of(tmp_path, "copy_on_write", cluster={"min_files": 3})
    shop.document["write"] = {"operation": "insert", "small_file_limit": 0}
    for number in range(4):
        shop.lands(f"{number}", (f"k{number}", "d1", number))
    assert actions(shop) == ["INSERT", "INSERT", "INSERT", "CLUSTER", "INSERT"]
    assert len(shop.rows()) == 4


@pytest.mark.parametrize(
    "section", [{"enabled": False}, {"compact": {"enabled": False}, "clean": {"enabled": False}}]
)
def test_loads_without_maintenance_run_no_service(
    tmp_path: Path, section: dict[str, object]
) -> None:
    """Each part or all of it."""
    shop = shop_of(tmp_path, "merge_on_read", **section)
    for number in range(6):
        load(shop, number)
    assert actions(shop) == ["UPSERT"] * 6


def test_load_whose_service_fails_is_published(tmp_path: Path) -> None:
    """The error says so; the next load runs the service again."""
    shop = shop_of(tmp_path, "copy_on_write", clean={"keep_commits": 1})
    load(shop, 0)
    load(shop, 1)
    first = load_timeline(LocalStorage(str(shop.location))).completed[0].requested_time
    damaged = shop.location / ".hoodie" / f"{first}.savepoint"
    damaged.write_bytes(b"x")
    with pytest.raises(AfterCommitError) as caught:
        load(shop, 2)
    assert caught.value.condition == "maintenance/failed"
    assert shop.rows() == [("a", "d1", 2), ("b", "d2", 2)]
    damaged.unlink()
    load(shop, 3)
    assert actions(shop)[-1] == "clean"


def test_service_beside_another_run_is_left_to_the_next_load(tmp_path: Path) -> None:
    """A warning, and no error."""
    shop = shop_of(tmp_path, "copy_on_write", enabled=False)
    for number in range(3):
        load(shop, number)
    storage, clock = LocalStorage(str(shop.location)), SystemClock()
    lease = acquire(storage, Owner.here(new_write_id()), clock)
    seen: list[Event] = []
    rules = Maintenance(clean=CleanPolicy(keep_commits=1))
    assert maintain(storage.location, rules, InProcessTasks(1), clock, seen.append) == ()
    assert [each.level for each in seen if isinstance(each, Note)] == ["warning"]
    release(storage, lease)
    (done,) = maintain(storage.location, rules, InProcessTasks(1), clock, seen.append)
    assert done.service == "clean"


@pytest.mark.long
@pytest.mark.parametrize("kind", ["copy_on_write", "merge_on_read"])
def test_many_loads_with_defaults_keep_a_bounded_number_of_files(tmp_path: Path, kind: str) -> None:
    """And every row."""
    shop, counts = shop_of(tmp_path, kind), []
    for number in range(34):
        load(shop, number)
        counts.append(files(shop))
    assert max(counts[14:]) <= max(counts[:15]) + 4
    assert shop.rows() == [("a", "d1", 33), ("b", "d2", 33)]
    timeline = load_timeline(LocalStorage(str(shop.location)))
    assert any(each.action is Action.CLEAN for each in timeline.completed)
    assert sum(each.action in DATA_ACTIONS for each in timeline.completed) < 34
    assert run_spec(shop.document, shop.folder).instant is None
