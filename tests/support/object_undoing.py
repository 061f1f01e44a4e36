"""A process that rolls the newest load back, among the writers of a schedule."""

from __future__ import annotations

import base64
from collections import defaultdict
from collections.abc import Mapping

from framework.hudi.commit.intent import WRITE_ID_KEY, Intent, Transaction
from framework.hudi.commit.lease import Lease, release
from framework.hudi.commit.rollback import Undo, undo_instants
from framework.hudi.commit.transaction import begin, finish
from framework.hudi.storage.port import Storage
from framework.hudi.table.layout import parent_of
from framework.hudi.timeline.action_metadata import PlannedRollback
from framework.hudi.timeline.clock import ManualClock, next_instant
from framework.hudi.timeline.commit_metadata import read_commit_head
from framework.hudi.timeline.instant import DATA_ACTIONS, Action
from framework.hudi.timeline.timeline import load_timeline
from tests.support.object_oracle import BASE, WriterRun

__all__ = ["undo_newest"]


def undo_newest(
    storage: Storage, clock: ManualClock, lease: Lease, runs: Mapping[str, WriterRun]
) -> bool:
    """Roll back the newest load, as the service does; return whether there was one."""
    timeline = load_timeline(storage)
    done = [each for each in timeline.completed if each.action in DATA_ACTIONS]
    newest = done[-1]
    if newest.requested_time == BASE.instant:
        release(storage, lease)
        return False
    run = runs[read_commit_head(storage, newest.path).extra[WRITE_ID_KEY]]
    undo = Undo(
        instants=(
            PlannedRollback(
                instant=newest.requested_time,
                action=newest.action.value,
                files=_by_partition(run),
                commands={},
            ),
        )
    )
    write_id = lease.owner.write_id
    plan = undo.plan_bytes(storage.location, {WRITE_ID_KEY: write_id}, Action.ROLLBACK)
    intent = Intent(
        write_id=write_id,
        requested_time=next_instant(clock, timeline),
        action=Action.ROLLBACK,
        operation="ROLLBACK",
        is_new_table=False,
        facts={},
        plan=base64.b64encode(plan).decode(),
    )
    transaction = Transaction(storage=storage, intent=intent, lease=lease, clock=clock)
    begin(transaction)
    run.undone_at.append(intent.requested_time)
    undo_instants(transaction, undo)
    finish(transaction)
    return True


def _by_partition(run: WriterRun) -> dict[str, tuple[str, ...]]:
    found: dict[str, list[str]] = defaultdict(list)
    for path in sorted(run.files):
        found[parent_of(path)].append(path)
    return {partition: tuple(paths) for partition, paths in found.items()}
