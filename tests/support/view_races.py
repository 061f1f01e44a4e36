"""Several things at once, or in an order that hides one of them from a `ViewedTable`'s view."""

from __future__ import annotations

from collections.abc import Callable

from framework.hudi.table.layout import join
from framework.hudi.timeline.instant import Action
from tests.support.timeline_metadata import Cleaned, RolledBack, clean_bytes
from tests.support.view_services import archive_services, publish_rollback
from tests.support.view_table import Deed, ViewedTable, Write

__all__ = ["RACES"]


def _append_both(table: ViewedTable) -> bool:
    """Two writers append to one log file, and the first of them completes last."""
    found = [
        (path, each.logs[-1]) for path, _, each in table.free_groups(planned=False) if each.logs
    ]
    if not found:
        return False
    path, name = table.rng.choice(found)
    writes = [Write(time=table.next_time(), action=Action.DELTACOMMIT) for _ in range(2)]
    for each in writes:
        table.write_file(each, path, name)
    for each in reversed(writes):
        table.complete(each)
    return True


def _take_a_free_name(table: ViewedTable) -> bool:
    """A writer that began before a rollback writes under the name that the rollback freed."""
    free = table.free_groups(planned=False)
    if not free:
        return False
    path, file_id, found = table.rng.choice(free)
    name = table.new_log(path, file_id, found.instant)
    failed, slow = (
        table.begin(Write(time=table.next_time(), action=Action.DELTACOMMIT)) for _ in range(2)
    )
    table.write_file(failed, path, name)
    table.look()
    table.storage.delete(join(path, name))
    table.pending.remove(failed)
    table.remove(failed.time, failed.action)
    publish_rollback(table, failed.time, {path: RolledBack(deleted=[name])})
    table.write_file(slow, path, name)
    table.complete(slow)
    return True


def _abort_at_once(table: ViewedTable) -> bool:
    """A log file is listed whose writer gives up without a rollback."""
    free = table.free_groups(planned=False)
    if not free:
        return False
    path, file_id, found = table.rng.choice(free)
    write = table.begin(Write(time=table.next_time(), action=Action.DELTACOMMIT))
    name = table.new_log(path, file_id, found.instant)
    table.write_file(write, path, name)
    table.look_closely()
    table.storage.delete(join(path, name))
    table.pending.remove(write)
    table.remove(write.time, write.action)
    return True


def _make_a_partition_again(table: ViewedTable) -> bool:
    """A partition is cleaned away, and another writer makes it again before the clean completes."""
    return drop_partition(table, again=True)


def _drop_partition(table: ViewedTable) -> bool:
    """Replace what is left of a partition, then clean the partition away."""
    return drop_partition(table, again=False)


def drop_partition(table: ViewedTable, *, again: bool) -> bool:
    """Clean a partition away, and perhaps write to it meanwhile."""
    busy = {path for each in table.pending for path, _ in each.groups()}
    paths = [path for path, names in table.truth.items() if path and names and path not in busy]
    if not paths:
        return False
    path = table.rng.choice(paths)
    left = [id_ for id_ in table.slices(path) if (path, id_) not in table.replaced]
    if left:
        write = Write(time=table.next_time(), action=Action.REPLACECOMMIT, replaced={path: left})
        table.complete(write)
    names = list(table.truth[path])
    table.storage.delete(path)
    clean, time = Cleaned(deleted=names, dropped=True), table.next_time()
    table.happened(Deed(gone={path: names}, dropped=frozenset({path})))
    if again:
        write = Write(time=table.next_time(), action=Action.COMMIT)
        table.write_file(write, path, table.new_base(write.time))
        table.complete(write)
    table.serve(Action.CLEAN, time, clean_bytes(time, {path: clean}), Deed())
    return True


def _clean_unseen(table: ViewedTable) -> bool:
    """Clean so often that cleans are archived, though no commit is."""
    cleaned = 0
    for _ in range(3):
        names = [
            (path, each.base)
            for path, _, each in table.free_groups(planned=False)
            if each.base and not each.logs
        ]
        if not names:
            break
        path, name = table.rng.choice(names)
        table.storage.delete(join(path, name))
        time = table.next_time()
        data = clean_bytes(time, {path: Cleaned(deleted=[name])})
        table.serve(Action.CLEAN, time, data, Deed(gone={path: [name]}))
        cleaned += 1
    archive_services(table)
    return cleaned > 0


RACES: dict[str, Callable[[ViewedTable], bool]] = {
    "append both": _append_both,
    "take a free name": _take_a_free_name,
    "abort at once": _abort_at_once,
    "drop partition": _drop_partition,
    "make a partition again": _make_a_partition_again,
    "clean unseen": _clean_unseen,
}
