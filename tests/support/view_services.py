"""What table services do to a `ViewedTable`: each returns whether it could."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from framework.hudi.filegroup.slices import LogFileName
from framework.hudi.table.layout import BOOTSTRAP_INSTANT, HOODIE, join
from framework.hudi.timeline.instant import Action, InstantState
from tests.support.timeline_metadata import (
    Cleaned,
    RolledBack,
    clean_bytes,
    restore_bytes,
    rollback_bytes,
    savepoint_bytes,
)
from tests.support.view_table import Deed, Files, ViewedTable, Write, parsed

__all__ = ["SERVICES", "archive_services", "deed_of", "publish_rollback", "undo"]

_PLAIN = (Action.COMMIT, Action.DELTACOMMIT, Action.REPLACECOMMIT)


def undo(table: ViewedTable, write: Write, *, deletes_logs: bool = False) -> dict[str, RolledBack]:
    """Roll back an instant's files, and return the rollback's metadata.

    Log files of slices that others began are kept, and one that makes readers skip them is written;
    or they are deleted instead.
    """
    found: dict[str, RolledBack] = {}
    for path, names in write.files.items():
        part = found[path] = RolledBack()
        for name in names:
            known = parsed(name)
            if not table.size_on_disk(path, name):
                continue
            is_own = not (isinstance(known, LogFileName) and known.base_instant != write.time)
            if is_own or (deletes_logs and (path, name) not in write.grown):
                _delete(table, part, path, name)
            else:
                assert isinstance(known, LogFileName)
                part.left[_spelled(table, path, name)] = table.size_on_disk(path, name)
                _write_rollback_log(table, part, path, known)
    return found


def deed_of(parts: Mapping[str, RolledBack]) -> Deed:
    """Return a rollback's metadata as a deed; files that could not be deleted no longer count."""
    added: Files = {}
    for path, part in parts.items():
        sizes = part.left | part.written
        added[path] = {name.rpartition("/")[2]: size for name, size in sizes.items()}
    return Deed(
        added=added,
        gone={
            path: [name.rpartition("/")[2] for name in part.deleted + part.failed]
            for path, part in parts.items()
        },
    )


def publish_rollback(
    table: ViewedTable, undone: str, parts: dict[str, RolledBack], deed: Deed | None = None
) -> None:
    """Complete a rollback with the metadata `parts`, whose real effect may be `deed`."""
    time = table.next_time()
    data = rollback_bytes(time, [undone], parts)
    table.serve(Action.ROLLBACK, time, data, deed or deed_of(parts))


def archive_services(table: ViewedTable) -> bool:
    """Take the oldest cleans and rollbacks from the active timeline, whatever commits are there."""
    gone: list[str] = []
    for action in (Action.CLEAN, Action.ROLLBACK):
        times = table.services[action]
        most = max(0, len(times) - 2)
        count = table.rng.randint(min(1, most), most)
        for each in times[:count]:
            table.remove(each, action)
        gone += times[:count]
        del times[:count]
    _touch_archive(table, gone)
    return bool(gone)


def _clean(table: ViewedTable) -> bool:
    """Delete slices that newer ones supersede, and groups that were replaced."""
    parts: dict[str, Cleaned] = {}
    busy = {group for each in table.pending for group in each.groups()}
    for path, names in table.truth.items():
        newest = table.slices(path)
        for name in names:
            known = parsed(name)
            assert known is not None
            group = (path, known.file_id)
            instant = known.base_instant if isinstance(known, LogFileName) else known.instant
            is_old = group in table.replaced or instant < newest[known.file_id].instant
            if is_old and group not in busy and table.rng.random() < 0.8:
                _clean_file(table, parts.setdefault(path, Cleaned()), path, name)
    if not parts:
        return False
    time = table.next_time()
    cleaned = {
        path: Cleaned(
            deleted=[_spelled(table, path, each) for each in part.deleted],
            failed=[_spelled(table, path, each) for each in part.failed],
        )
        for path, part in parts.items()
    }
    deed = Deed(gone={path: part.deleted for path, part in parts.items()})
    table.serve(Action.CLEAN, time, clean_bytes(time, cleaned), deed)
    return True


def _roll_back_failed(table: ViewedTable) -> bool:
    """Undo an instant that never completed."""
    failed = [each for each in table.pending if each.action in _PLAIN]
    if not failed:
        return False
    write = table.rng.choice(failed)
    parts = undo(table, write, deletes_logs=table.rng.random() < 0.4)
    table.pending.remove(write)
    table.remove(write.time, write.action)
    publish_rollback(table, write.time, parts)
    return True


def _roll_back_completed(table: ViewedTable) -> bool:
    """Undo the last completed instant, where nothing was built upon it."""
    if table.pending or len(table.done) < 2:
        return False
    time = max(table.done)
    write = table.done[time]
    was_cleaned = any(each > time for each in table.services[Action.CLEAN])
    if write.action not in _PLAIN or time in table.savepoints or was_cleaned:
        return False
    parts = undo(table, write, deletes_logs=table.rng.random() < 0.4)
    _forget(table, write)
    publish_rollback(table, time, parts)
    return True


def _roll_back_compaction(table: ViewedTable) -> bool:
    """Undo a compaction that failed on its way; its plan stays."""
    found = [each for each in table.pending if each.action is Action.COMPACTION]
    if not found:
        return False
    write = table.rng.choice(found)
    table.put(write.time, write.action, InstantState.INFLIGHT)
    for each in write.plan:
        table.write_file(write, each.partition_path, table.new_base(write.time, each.file_id))
    parts = undo(table, write)
    table.remove(write.time, write.action, only_inflight=True)
    write.files.clear()
    publish_rollback(table, write.time, parts)
    return True


def _savepoint(table: ViewedTable) -> bool:
    """Hold a completed instant."""
    free = sorted(table.done.keys() - table.savepoints)
    if not free:
        return False
    time = table.rng.choice(free)
    data = savepoint_bytes({path: list(names) for path, names in table.truth.items()})
    table.put(time, Action.SAVEPOINT, InstantState.INFLIGHT)
    table.put(time, Action.SAVEPOINT, InstantState.COMPLETED, data)
    table.savepoints.add(time)
    return True


def _drop_savepoint(table: ViewedTable) -> bool:
    """Hold an instant no more; the view saw that it was held."""
    seen = sorted(table.savepoints & table.seen)
    if not seen:
        return False
    time = table.rng.choice(seen)
    table.remove(time, Action.SAVEPOINT)
    table.savepoints.remove(time)
    return True


def _restore(table: ViewedTable) -> bool:
    """Go back to an instant that is held: undo all that began later, newest first.

    What was archived cannot be undone.
    """
    plain = [each for each in table.pending if each.action in _PLAIN]
    time = max(table.savepoints, default="")
    if plain or time < max(table.archived, BOOTSTRAP_INSTANT):
        return False
    later = sorted(
        (each for each in (*table.done.values(), *table.pending) if each.time > time),
        key=lambda each: each.time,
        reverse=True,
    )
    if not later:
        return False
    rollbacks = [(each.time, undo(table, each, deletes_logs=True)) for each in later]
    for each in later:
        _forget(table, each)
    now = table.next_time()
    deed = _deed_of_all([parts for _, parts in rollbacks])
    table.serve(Action.RESTORE, now, restore_bytes(now, rollbacks), deed)
    return True


def _deed_of_all(rollbacks: Iterable[Mapping[str, RolledBack]]) -> Deed:
    """Return a restore's rollbacks as one deed; a file deleted by any of them is deleted."""
    gone: dict[str, set[str]] = {}
    added: Files = {}
    for deed in map(deed_of, rollbacks):
        for path, names in deed.gone.items():
            gone.setdefault(path, set()).update(names)
            added.setdefault(path, {}).update(deed.added[path])
    kept = {
        path: {name: size for name, size in files.items() if name not in gone[path]}
        for path, files in added.items()
    }
    return Deed(added=kept, gone=gone)


def _archive(table: ViewedTable) -> bool:
    """Take the oldest completed writes from the active timeline; held ones stay."""
    first = min((each.time for each in table.pending), default="9")
    free = [each for each in sorted(table.done) if each not in table.savepoints]
    free = [each for each in free[:-1] if each < first]
    free = free[: table.rng.randint(1, 3)]
    for each in free:
        write = table.done.pop(each)
        table.remove(each, *{write.action, write.completes_as})
        table.archived = max(table.archived, each)
    _touch_archive(table, free)
    return bool(free)


def _index(table: ViewedTable) -> bool:
    """Build an index, which does nothing to files."""
    table.put(table.next_time(), Action.INDEXING, InstantState.COMPLETED, b"Obj\x01")
    return True


def _forget(table: ViewedTable, write: Write) -> None:
    """Take an instant from the timeline."""
    table.done.pop(write.time, None)
    if write in table.pending:
        table.pending.remove(write)
    table.remove(write.time, *{write.action, write.completes_as})
    if write.time in table.savepoints:
        table.remove(write.time, Action.SAVEPOINT)
        table.savepoints.remove(write.time)
    for group in [each for each, time in table.replaced.items() if time == write.time]:
        del table.replaced[group]


def _clean_file(table: ViewedTable, part: Cleaned, path: str, name: str) -> None:
    """Delete a file, or fail to."""
    if table.rng.random() < 0.15:
        part.failed.append(name)
        return
    table.storage.delete(join(path, name))
    part.deleted.append(name)


def _delete(table: ViewedTable, part: RolledBack, path: str, name: str) -> None:
    """Delete a file that is rolled back, or fail to."""
    if table.rng.random() < 0.1:
        part.failed.append(_spelled(table, path, name))
        return
    table.storage.delete(join(path, name))
    part.deleted.append(_spelled(table, path, name))


def _write_rollback_log(
    table: ViewedTable, part: RolledBack, path: str, known: LogFileName
) -> None:
    """Write which blocks readers of a slice skip, to a new file or at the end of the last."""
    name = str(known)
    if table.rng.random() < 0.7:
        name = table.new_log(path, known.file_id, known.base_instant, "1-0-1")
    size = table.size_on_disk(path, name) + 7
    table.put_file(path, name, size)
    part.written[_spelled(table, path, name)] = size


def _spelled(table: ViewedTable, path: str, name: str) -> str:
    """Return a file's path in one of the forms that metadata has."""
    full = join(path, name)
    return table.rng.choice((name, full, f"/lake/t/{full}", f"file:/lake/t/{full}"))


def _touch_archive(table: ViewedTable, times: list[str]) -> None:
    """Leave what the archive would hold."""
    for each in times:
        with table.storage.create(f"{HOODIE}/archived/{each}-{len(table.deeds)}"):
            pass


SERVICES: dict[str, Callable[[ViewedTable], bool]] = {
    "clean": _clean,
    "roll back failed": _roll_back_failed,
    "roll back completed": _roll_back_completed,
    "roll back compaction": _roll_back_compaction,
    "savepoint": _savepoint,
    "drop savepoint": _drop_savepoint,
    "restore": _restore,
    "archive": _archive,
    "archive services": archive_services,
    "index": _index,
}
