"""Table services and the tables that they are killed on, small but with every kind of file."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from framework.engine.services.savepoint import create_savepoint
from framework.hudi.commit.staging import new_write_id
from framework.hudi.storage.local import LocalStorage
from framework.hudi.timeline.instant import DATA_ACTIONS
from framework.hudi.timeline.timeline import load_timeline
from tests.support.compactions import begin_as_another, execute, schedule
from tests.support.orders import Shop

__all__ = ["SERVICES", "Service", "Shape"]

Build = Callable[[Shop], tuple[str, ...]]


@dataclass(frozen=True, kw_only=True)
class Shape:
    """A kind of table: its type, and whether it begins as a bootstrap."""

    kind: str
    adopts: bool

    def __str__(self) -> str:
        """Return the shape as part of a test's name."""
        return f"{'adopted' if self.adopts else 'ordinary'}-{self.kind}"


_SHAPES: Final = tuple(
    Shape(kind=kind, adopts=adopts)
    for kind in ("copy_on_write", "merge_on_read")
    for adopts in (False, True)
)
_MERGED: Final = tuple(each for each in _SHAPES if each.kind == "merge_on_read")
_ADOPTED: Final = tuple(each for each in _SHAPES if each.adopts)
_PLAIN: Final = tuple(each for each in _SHAPES if not each.adopts)
_TWO: Final = (_PLAIN[0], _MERGED[1])


@dataclass(frozen=True, kw_only=True)
class Service:
    """A service as it is killed.

    Attributes:
        name: of the service.
        build: loads rows into a shop's table and returns the words of the command.
        shapes: the tables that it is killed on.
        is_atomic: whether recovery leaves the table as it was or with all of the service done; a
            service of several steps may be continued by its next run.
        recovery: `load` for a run of the table's spec, which has nothing new to load; `again` for
            the service itself. A service that has nothing left to do takes no lease, so it
            recovers nothing: only those are run again that always take it.
        rewrites: endings of files that it replaces; all others stay byte for byte, or go.
        makes_again: the service removes the table, and the recovering run makes it again.
        held: how many of the newest instants before the service stay readable.
    """

    name: str
    build: Build
    shapes: tuple[Shape, ...] = _SHAPES
    is_atomic: bool = True
    recovery: str = "load"
    rewrites: tuple[str, ...] = ()
    makes_again: bool = False
    held: int = 2

    def __str__(self) -> str:
        """Return its name."""
        return self.name


def _ids(shop: Shop) -> tuple[str, str]:
    """Return a key of each of two partitions; in an adopted table rows of skeletons."""
    return ("d1-1", "d2-1") if "bootstrap" in shop.document else ("a", "b")


def _loaded(shop: Shop, loads: int) -> str:
    """Load files that change a row of each partition, the first one with a new row as well."""
    if "bootstrap" in shop.document:
        shop.run()
    one, two = _ids(shop)
    for number in range(1, loads + 1):
        new = [("new", "d1", number)] if number == 1 else []
        shop.lands(f"{number}", (one, "d1", number), (two, "d2", number), *new)
    return str(shop.location)


def _commits(shop: Shop) -> list[str]:
    """Return the completed instants of data, oldest first."""
    found = load_timeline(LocalStorage(str(shop.location))).completed
    return [each.requested_time for each in found if each.action in DATA_ACTIONS]


def _forget(shop: Shop, *names: str) -> None:
    """Remove files from the landing folder, so that no run loads them again."""
    for name in names:
        (shop.folder / "landing" / f"{name}.parquet").unlink()


def _compact(shop: Shop) -> tuple[str, ...]:
    return "compact", _loaded(shop, 2)


def _schedule(shop: Shop) -> tuple[str, ...]:
    return "compact", "--schedule", _loaded(shop, 2)


def _planned(shop: Shop) -> str:
    """Schedule a compaction, load once more, and return the compaction's instant."""
    _loaded(shop, 2)
    instant = schedule(shop)
    one, _ = _ids(shop)
    shop.lands("later", (one, "d1", 9))
    return instant


def _execute(shop: Shop) -> tuple[str, ...]:
    _planned(shop)
    return "compact", "--min-logs", "9", str(shop.location)


def _retry(shop: Shop) -> tuple[str, ...]:
    begin_as_another(shop, _planned(shop))
    return "compact", "--retry", "--min-logs", "9", str(shop.location)


def _clean(shop: Shop) -> tuple[str, ...]:
    place = _loaded(shop, 3)
    if shop.document["table"]["type"] == "merge_on_read":
        schedule(shop)
        execute(shop)
        one, two = _ids(shop)
        shop.lands("4", (one, "d1", 4), (two, "d2", 4))
    return "clean", "--keep-commits", "1", place


def _cluster(shop: Shop) -> tuple[str, ...]:
    shop.document["write"]["small_file_limit"] = 0
    place = _loaded(shop, 2)
    shop.lands("more", ("e", "d1", 5), ("f", "d2", 6))
    return "cluster", "--by", "v,id", place


def _rollback(shop: Shop) -> tuple[str, ...]:
    place = _loaded(shop, 2)
    one, _ = _ids(shop)
    instant = shop.lands("bad", (one, "d1", 66), ("worse", "d3", 66))
    _forget(shop, "bad")
    return "rollback", "--yes", "--instant", instant, place


def _rollback_all(shop: Shop) -> tuple[str, ...]:
    if "bootstrap" in shop.document:
        instant = shop.run()
    else:
        instant = shop.lands("one", ("a", "d1", 1), ("b", "d2", 1))
    return "rollback", "--yes", "--instant", instant, str(shop.location)


def _restore(shop: Shop) -> tuple[str, ...]:
    place = _loaded(shop, 3)
    to = _commits(shop)[-3]
    _forget(shop, "2", "3")
    return "restore", "--yes", "--to", to, place


def _create_savepoint(shop: Shop) -> tuple[str, ...]:
    place = _loaded(shop, 2)
    return "savepoint", "create", "--instant", _commits(shop)[-1], place


def _drop_savepoint(shop: Shop) -> tuple[str, ...]:
    place = _loaded(shop, 2)
    held = create_savepoint(place).instant
    return "savepoint", "drop", "--instant", held, place


def _archive(shop: Shop) -> tuple[str, ...]:
    return "archive", "--keep-min", "3", "--keep-max", "4", _loaded(shop, 6)


def _materialize(shop: Shop) -> tuple[str, ...]:
    shop.document["write"]["small_file_limit"] = 0
    shop.run()
    changed = [("d1-1", "d1", 1)] if shop.document["table"]["type"] == "merge_on_read" else []
    shop.lands("1", ("new", "d1", 1), *changed)
    return "materialize", "--batch-bytes", "1", str(shop.location)


def _drop(shop: Shop) -> tuple[str, ...]:
    return "drop", "--yes", _loaded(shop, 2)


def _repair(shop: Shop) -> tuple[str, ...]:
    """Leave what writers that died have left: base and log files, markers, a lease, a folder."""
    place = _loaded(shop, 2)
    base = next(path for path in sorted(shop.location.glob("day=d1/*.parquet")))
    dead = int(_commits(shop)[-2]) + 1
    for number in (1, 2):
        name = f"{number:08}-0000-0000-0000-000000000000-0_0-7-7_{dead}.parquet"
        (base.parent / name).write_bytes(base.read_bytes())
    markers = shop.location / f".hoodie/.temp/{dead}/day=d1"
    markers.mkdir(parents=True)
    for number in (1, 2):
        (markers / f"gone-{number}_0-7-7_{dead}.parquet.marker.CREATE").touch()
    (shop.location / ".hoodie/.lakestrap" / new_write_id() / "attempts").mkdir(parents=True)
    wanted = ("orphans", "markers", "staging", "leases")
    return "fsck", *(word for each in wanted for word in ("--repair", each)), place


SERVICES: Final = (
    Service(name="compact", build=_compact, shapes=_MERGED),
    Service(name="schedule", build=_schedule, shapes=_MERGED),
    Service(name="execute", build=_execute, shapes=_MERGED),
    Service(
        name="retry",
        build=_retry,
        shapes=_MERGED,
        is_atomic=False,
        rewrites=(".compaction.inflight",),
    ),
    Service(name="clean", build=_clean, held=1),
    Service(name="cluster", build=_cluster),
    Service(name="rollback", build=_rollback),
    Service(name="rollback-all", build=_rollback_all, makes_again=True),
    Service(name="restore", build=_restore),
    Service(name="savepoint-create", build=_create_savepoint, shapes=_TWO),
    Service(name="savepoint-drop", build=_drop_savepoint, shapes=_TWO),
    Service(name="archive", build=_archive, shapes=_TWO, is_atomic=False),
    Service(name="materialize", build=_materialize, shapes=_ADOPTED, is_atomic=False),
    Service(name="drop", build=_drop, recovery="again"),
    Service(name="repair", build=_repair, shapes=_TWO, is_atomic=False, recovery="again"),
)
