"""What goes wrong with a `ViewedTable`, or is done in ways that a view cannot follow."""

from __future__ import annotations

from collections.abc import Callable

from framework.hudi.table.layout import join
from framework.hudi.timeline.instant import Action, InstantState
from tests.support.timeline_metadata import RolledBack, clean_bytes
from tests.support.view_services import deed_of, publish_rollback, undo
from tests.support.view_table import Deed, ViewedTable, Write, parsed
from tests.support.view_writes import fill, plan_compaction, put_plan

__all__ = ["FAULTS"]


def _commit_without_sizes(table: ViewedTable) -> bool:
    """Record a file without its size."""
    write = _filled(table)
    path, name = next((path, name) for path, names in write.files.items() for name in names)
    del path
    table.complete(write, table.commit_bytes(write, **{name: 0}))
    return True


def _commit_outside(table: ViewedTable) -> bool:
    """Record a file under another partition than its own."""
    if len(table.paths) < 2:
        return False
    write = Write(time=table.next_time(), action=Action.COMMIT)
    recorded, path = table.rng.sample(table.paths, 2)
    name = table.new_base(write.time)
    table.write_file(write, path, name)
    before = f'"partitionPath":"{path}"'.encode()
    after = f'"partitionPath":"{recorded}"'.encode()
    data = table.commit_bytes(write).replace(before, after)
    data = data.replace(f'"{path}":['.encode(), f'"{recorded}":['.encode())
    table.complete(write, data)
    return True


def _commit_of_foreign_files(table: ViewedTable) -> bool:
    """Record a file that is not a table file, or has change data."""
    write = _filled(table)
    name = table.rng.choice(("foreign.parquet", f".g1_{write.time}.log.1_0-1-1.cdc"))
    table.write_file(write, table.rng.choice(table.paths), name)
    table.complete(write)
    return True


def _empty_commit(table: ViewedTable) -> bool:
    """Complete with an empty file."""
    table.complete(_filled(table), b"")
    return True


def _corrupt_commit(table: ViewedTable) -> bool:
    """Complete with half a file."""
    write = _filled(table)
    data = table.commit_bytes(write)
    table.complete(write, data[: len(data) // 2])
    return True


def _corrupt_clean(table: ViewedTable) -> bool:
    """Complete a clean, which deleted something, with a file that is none."""
    names = [(path, name) for path, files in table.truth.items() for name in files]
    busy = {group for each in table.pending for group in each.groups()}
    names = [
        (path, name)
        for path, name in names
        if (known := parsed(name)) and (path, known.file_id) not in busy
    ]
    if not names:
        return False
    path, name = table.rng.choice(names)
    table.storage.delete(join(path, name))
    time = table.next_time()
    data = table.rng.choice((b"", b"{}", clean_bytes(time, {})[:-4]))
    table.serve(Action.CLEAN, time, data, Deed(gone={path: [name]}))
    return True


def _corrupt_rollback(table: ViewedTable) -> bool:
    """Roll back a failed write without recording it."""
    failed = [each for each in table.pending if each.action in (Action.COMMIT, Action.DELTACOMMIT)]
    if not failed:
        return False
    write = table.rng.choice(failed)
    deed = deed_of(undo(table, write))
    table.pending.remove(write)
    table.remove(write.time, write.action)
    table.serve(Action.ROLLBACK, table.next_time(), b"Obj\x01", deed)
    return True


def _abort(table: ViewedTable) -> bool:
    """Undo a failed write that the view saw, without a rollback, as Lakestrap does."""
    failed = [each for each in table.pending if each.action in (Action.COMMIT, Action.DELTACOMMIT)]
    failed = [each for each in failed if each.time in table.seen and not each.grown]
    if not failed:
        return False
    write = table.rng.choice(failed)
    for path, names in write.files.items():
        table.storage.delete(*(join(path, name) for name in names))
    table.pending.remove(write)
    table.remove(write.time, write.action)
    return True


def _unschedule(table: ViewedTable) -> bool:
    """Take back the plan of a compaction that nothing was written for yet."""
    planned = [each for each in table.pending if each.plan and not each.files]
    planned = [each for each in planned if not _has_logs(table, each.time)]
    if not planned:
        return False
    write = table.rng.choice(planned)
    table.pending.remove(write)
    table.remove(write.time, write.action)
    return True


def _half_a_plan(table: ViewedTable) -> bool:
    """Request a compaction whose file is seen before it is written."""
    write = plan_compaction(table, Action.COMPACTION)
    if write is None:
        return False
    table.put(write.time, write.action, InstantState.REQUESTED)
    table.look()
    table.remove(write.time, write.action)
    put_plan(table, write)
    return True


def _stray(table: ViewedTable) -> bool:
    """Leave files in a partition that no instant records."""
    paths = [path for path, names in table.truth.items() if names]
    if not paths:
        return False
    path = table.rng.choice(paths)
    known = parsed(table.rng.choice(sorted(table.truth[path])))
    assert known is not None
    times = [*table.times, "20250101000000000"]
    time = table.rng.choice(times)
    name = table.rng.choice(
        (
            "foreign.parquet",
            f".{known}.crc",
            f".{known.file_id}_{time}.log.1_0-1-1.cdc",
            f"{known.file_id}_9-9-9_{time}.parquet",
            f".{known.file_id}_{time}.log.1_9-9-9",
        )
    )
    if table.size_on_disk(path, name):
        return False
    table.put_file(path, name, 5)
    return True


def _adopt_again(table: ViewedTable) -> bool:
    """Remove the table, and make it again at the same instant with other files."""
    table.vanish()
    table.look()
    write = table.adopt()
    table.look()
    if table.rng.random() < 0.7:
        table.complete(write)
    return True


def _stub_sizes(table: ViewedTable) -> bool:
    """Undo a failed deltacommit as releases did that do not know how large its log files are."""
    failed = [each for each in table.pending if each.action is Action.DELTACOMMIT]
    failed = [each for each in failed if _has_appended(each)]
    if not failed:
        return False
    write = table.rng.choice(failed)
    parts = undo(table, write)
    deed = deed_of(parts)
    rolled_back = {
        path: RolledBack(
            deleted=part.deleted,
            failed=part.failed,
            written=part.written,
            left=dict.fromkeys(part.left, -1),
        )
        for path, part in parts.items()
    }
    table.pending.remove(write)
    table.remove(write.time, write.action)
    publish_rollback(table, write.time, rolled_back, deed)
    return True


def _filled(table: ViewedTable) -> Write:
    """Return a write with files that is about to complete."""
    write = Write(time=table.next_time(), action=Action.DELTACOMMIT)
    fill(table, write)
    return write


def _has_appended(write: Write) -> bool:
    """Whether an instant wrote log files of slices that others began."""
    names = [name for files in write.files.values() for name in files]
    return any(".log." in name and write.time not in name for name in names)


def _has_logs(table: ViewedTable, time: str) -> bool:
    """Whether log files were written since a plan."""
    return any(f"_{time}.log." in name for names in table.truth.values() for name in names)


FAULTS: dict[str, Callable[[ViewedTable], bool]] = {
    "commit without sizes": _commit_without_sizes,
    "commit outside": _commit_outside,
    "commit of foreign files": _commit_of_foreign_files,
    "empty commit": _empty_commit,
    "corrupt commit": _corrupt_commit,
    "corrupt clean": _corrupt_clean,
    "corrupt rollback": _corrupt_rollback,
    "abort": _abort,
    "unschedule": _unschedule,
    "half a plan": _half_a_plan,
    "stray": _stray,
    "adopt again": _adopt_again,
    "stub sizes": _stub_sizes,
}
