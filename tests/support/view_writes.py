"""What writers do to a `ViewedTable`: each returns whether it could."""

from __future__ import annotations

from collections.abc import Callable

from framework.hudi.table.layout import BOOTSTRAP_INSTANT
from framework.hudi.timeline.instant import Action, InstantState
from tests.support.timeline_metadata import (
    Operation,
    clustering_plan_bytes,
    compaction_plan_bytes,
)
from tests.support.view_table import Slice, ViewedTable, Write

__all__ = ["WRITES", "fill", "plan_compaction", "put_plan"]

_MOST_WRITERS = 3


def fill(table: ViewedTable, write: Write) -> None:
    """Write some files of an instant: base files of a commit, mostly logs of a deltacommit."""
    rng = table.rng
    free = table.free_groups(shared=rng.random() < 0.2)
    for _ in range(rng.randint(1, 3)):
        if write.action is Action.DELTACOMMIT and free and rng.random() < 0.75:
            path, file_id, found = free.pop(rng.randrange(len(free)))
            _append_log(table, write, (path, file_id), found)
        elif write.action is Action.DELTACOMMIT and rng.random() < 0.4:
            path, file_id = rng.choice(table.paths), table.new_group()
            name = table.new_log(path, file_id, write.time)
            table.write_file(write, path, name)
        else:
            _write_base(table, write)


def plan_compaction(table: ViewedTable, action: Action) -> Write | None:
    """Return a compaction of some groups with log files, None where there are none."""
    free = [each for each in table.free_groups(planned=False) if each[2].logs]
    if not free:
        return None
    plan = _operations(table.rng.sample(free, table.rng.randint(1, len(free))))
    return Write(time=table.next_time(), action=action, plan=plan)


def put_plan(table: ViewedTable, write: Write) -> None:
    """Request a compaction."""
    data = compaction_plan_bytes(write.plan)
    table.put(write.time, write.action, InstantState.REQUESTED, data)
    table.pending.append(write)


def _commit(table: ViewedTable) -> bool:
    """Write base files: new groups and new versions."""
    return _write(table, Action.COMMIT)


def _deltacommit(table: ViewedTable) -> bool:
    """Write log files, to groups or as groups, and append to existing ones."""
    return _write(table, Action.DELTACOMMIT)


def _overwrite(table: ViewedTable) -> bool:
    """Write groups in place of others."""
    free = table.free_groups(planned=False)
    if not free:
        return False
    write = Write(time=table.next_time(), action=Action.REPLACECOMMIT)
    for path, file_id, _ in table.rng.sample(free, table.rng.randint(1, len(free))):
        write.replaced.setdefault(path, []).append(file_id)
    _write_base(table, write, new=True)
    if table.rng.random() < 0.5:
        table.begin(write)
    table.complete(write)
    return True


def _begin(table: ViewedTable) -> bool:
    """Begin a write that will take its time."""
    if len(table.pending) >= _MOST_WRITERS:
        return False
    action = table.rng.choice((Action.COMMIT, Action.DELTACOMMIT, Action.DELTACOMMIT))
    write = table.begin(Write(time=table.next_time(), action=action))
    if table.rng.random() < 0.8:
        fill(table, write)
    return True


def _finish(table: ViewedTable) -> bool:
    """Complete a write that took its time, perhaps before one that began earlier."""
    plain = [each for each in table.pending if each.action in (Action.COMMIT, Action.DELTACOMMIT)]
    if not plain:
        return False
    write = table.rng.choice(plain)
    if write.time != BOOTSTRAP_INSTANT and (not write.files or table.rng.random() < 0.5):
        fill(table, write)
    table.complete(write)
    return True


def _request_compaction(table: ViewedTable) -> bool:
    """Plan a compaction; its file may be seen before it is written."""
    return _request(table, Action.COMPACTION)


def _finish_compaction(table: ViewedTable) -> bool:
    """Complete a compaction: base files at the time of its plan."""
    found = [each for each in table.pending if each.action is Action.COMPACTION]
    if not found:
        return False
    write = table.rng.choice(found)
    table.put(write.time, write.action, InstantState.INFLIGHT)
    for each in write.plan:
        table.write_file(write, each.partition_path, table.new_base(write.time, each.file_id))
    table.complete(write)
    return True


def _request_log_compaction(table: ViewedTable) -> bool:
    """Plan a log compaction."""
    return _request(table, Action.LOGCOMPACTION)


def _finish_log_compaction(table: ViewedTable) -> bool:
    """Complete a log compaction: one more log file in each slice."""
    found = [each for each in table.pending if each.action is Action.LOGCOMPACTION]
    if not found:
        return False
    write = table.rng.choice(found)
    table.put(write.time, write.action, InstantState.INFLIGHT)
    for each in write.plan:
        name = table.new_log(each.partition_path, each.file_id, each.base_instant)
        table.write_file(write, each.partition_path, name)
    table.complete(write)
    return True


def _request_clustering(table: ViewedTable) -> bool:
    """Plan a clustering, and perhaps write some of its files."""
    free = table.free_groups(planned=False)
    if not free:
        return False
    chosen = table.rng.sample(free, table.rng.randint(1, min(3, len(free))))
    plan = _operations(chosen)
    write = Write(time=table.next_time(), action=Action.REPLACECOMMIT, plan=plan)
    table.begin(write, clustering_plan_bytes(plan))
    if table.rng.random() < 0.4:
        _write_base(table, write, new=True)
    return True


def _finish_clustering(table: ViewedTable) -> bool:
    """Complete a clustering: the groups of its plan are replaced."""
    found = [each for each in table.pending if each.action is Action.REPLACECOMMIT]
    if not found:
        return False
    write = table.rng.choice(found)
    if not write.files:
        _write_base(table, write, new=True)
    for each in write.plan:
        write.replaced.setdefault(each.partition_path, []).append(each.file_id)
    table.complete(write)
    return True


def _append_log(table: ViewedTable, write: Write, group: tuple[str, str], found: Slice) -> None:
    """Write a log file of a group, or append to the last; after a planned compaction a new one."""
    path, file_id = group
    instant = table.compaction_of(path, file_id) or found.instant
    if instant == found.instant and found.logs and table.rng.random() < 0.3:
        table.write_file(write, path, found.logs[-1])
    else:
        table.write_file(write, path, table.new_log(path, file_id, instant))


def _write(table: ViewedTable, action: Action) -> bool:
    """Write and complete at once; the files of earlier states may be missing."""
    write = Write(time=table.next_time(), action=action)
    if table.rng.random() < 0.5:
        table.begin(write)
    fill(table, write)
    table.complete(write)
    return True


def _write_base(table: ViewedTable, write: Write, *, new: bool = False) -> None:
    """Write a base file, of a new group or of one without log files or plans."""
    free = [each for each in table.free_groups(planned=False) if not each[2].logs]
    mine = write.groups()
    free = [each for each in free if (each[0], each[1]) not in mine]
    if free and not new and table.rng.random() < 0.6:
        path, file_id, _ = table.rng.choice(free)
        table.write_file(write, path, table.new_base(write.time, file_id))
    else:
        table.write_file(write, table.rng.choice(table.paths), table.new_base(write.time))


def _request(table: ViewedTable, action: Action) -> bool:
    """Plan a compaction."""
    write = plan_compaction(table, action)
    if write is not None:
        put_plan(table, write)
    return write is not None


def _operations(groups: list[tuple[str, str, Slice]]) -> tuple[Operation, ...]:
    """Return what a plan says of some groups."""
    return tuple(
        Operation(
            partition_path=path,
            file_id=file_id,
            base_instant=found.instant,
            base_file=found.base,
            logs=tuple(found.logs),
        )
        for path, file_id, found in groups
    )


WRITES: dict[str, Callable[[ViewedTable], bool]] = {
    "commit": _commit,
    "deltacommit": _deltacommit,
    "overwrite": _overwrite,
    "begin": _begin,
    "finish": _finish,
    "request compaction": _request_compaction,
    "finish compaction": _finish_compaction,
    "request log compaction": _request_log_compaction,
    "finish log compaction": _finish_log_compaction,
    "request clustering": _request_clustering,
    "finish clustering": _finish_clustering,
}
