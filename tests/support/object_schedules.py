"""Two writers, zombie tasks and a recovery on one table of an object store, under one schedule.

Writers and recovery are the real code of begin, write, publish and recover. The oracle looks at the
store itself after each change: what any reader could see then must be all of some runs, and nothing
else.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from uuid import NAMESPACE_URL, uuid5

import google_crc32c
import pyarrow as pa

from framework import errors
from framework.engine.run.durable_files import FileStore
from framework.hudi.codecs.log_format import BlockKind, HeaderKey, encode_block
from framework.hudi.commit.fence import QUIET_MS, quiet_in_ms, sweep_dead
from framework.hudi.commit.fenced import FencedStorage
from framework.hudi.commit.intent import Intent, Transaction
from framework.hudi.commit.lease import Lease, acquire, release, renew
from framework.hudi.commit.links import check_listing, link_files
from framework.hudi.commit.pending import PendingKind, find_pending
from framework.hudi.commit.recovery import roll_back, roll_back_own, roll_forward
from framework.hudi.commit.segments import SEGMENT_SCHEMA, SegmentRef, write_segment
from framework.hudi.commit.statuses import AuditedFiles, written_files
from framework.hudi.commit.task_files import NewName, TaskFiles, log_token
from framework.hudi.commit.transaction import Publication, begin, finish, publish
from framework.hudi.filegroup.slices import BaseFileName, LogFileName
from framework.hudi.storage.memory_objects import MemoryObjects
from framework.hudi.storage.port import Storage
from framework.hudi.table.layout import (
    BOOTSTRAP_INSTANT,
    PROPERTIES,
    join,
)
from framework.hudi.timeline.clock import ManualClock, next_instant
from framework.hudi.timeline.instant import Action
from framework.hudi.timeline.timeline import load_timeline
from tests.support.fault_storage import Killed
from tests.support.object_network import Client, Network, many_processes
from tests.support.object_oracle import (
    BASE,
    PROPERTIES_TEXT,
    Oracle,
    Violation,
    WriterRun,
    a_table,
    is_data,
    plain,
)
from tests.support.object_undoing import undo_newest
from tests.support.transactions import TTL_MS, a_status, dead_owner

__all__ = ["Outcome", "Scenario", "Violation", "run_schedule"]


@dataclass(frozen=True, kw_only=True)
class Scenario:
    """What the writers do.

    Attributes:
        creates: whether each makes the table, as a bootstrap does; else they load into one.
        same: whether creating writers adopt the same source by the same spec.
        undoes: whether another process rolls the newest load back.
    """

    creates: bool
    same: bool = False
    undoes: bool = False


@dataclass
class Outcome:
    """What came of one schedule: how often each kind of thing happened, and its trace."""

    seen: dict[str, int] = field(default_factory=dict)
    trace: str = ""
    requests: int = 0

    def note(self, what: str) -> None:
        """Count one."""
        self.seen[what] = self.seen.get(what, 0) + 1


def run_schedule(seed: int, scenario: Scenario) -> Outcome:
    """Run one schedule.

    Raises:
        Violation: a promise is broken.
    """
    with many_processes(seed):
        return _Schedule(seed, scenario).run()


class _Schedule:
    """One schedule of one scenario."""

    def __init__(self, seed: int, scenario: Scenario) -> None:
        self.scenario = scenario
        service = MemoryObjects(objects={} if scenario.creates else dict(a_table().objects))
        self.network = Network(seed, service, is_bounded=is_data)
        self.runs = {
            n * 32: WriterRun(write_id=n * 32, content="x" if scenario.same else n) for n in "ab"
        }
        self.oracle = Oracle(service, self.runs)
        self.network.check = self.oracle.look
        self.outcome = Outcome()

    def run(self) -> Outcome:
        """Run all actors, then a last recovery, and ask the oracle."""
        network = self.network
        for run in self.runs.values():
            network.add(f"writer {run.write_id[0]}", self._writer(run))
        network.add("zombie", self._zombie(self.runs["a" * 32]))
        network.add("recovery", self._recovery("c" * 32))
        if self.scenario.undoes:
            network.add("undoer", self._undoer)
        network.run()
        self.oracle.judge()
        for actor in network.actors:
            if actor.error is not None and not isinstance(actor.error, Killed):
                raise actor.error
        self._end()
        self.outcome.trace, self.outcome.requests = network.trace, network.requests
        return self.outcome

    def _writer(self, run: WriterRun) -> Callable[[Client, ManualClock], None]:
        def main(storage: Client, clock: ManualClock) -> None:
            run.result = "died"
            try:
                run.result = self._write(storage, clock, run)
            except errors.FrameworkError as error:
                run.result = type(error).__name__
                self.outcome.note(error.condition)
            self.outcome.note(run.result)

        return main

    def _write(self, storage: Client, clock: ManualClock, run: WriterRun) -> str:
        """Do a whole run: recover, begin, write, publish, finish."""
        lease = _patiently(storage, clock, run.write_id)
        try:
            _recover_all(storage, lease)
            transaction = self._begun(storage, clock, run, lease)
            if transaction is None:
                return "table exists"
            segments = [self._task(transaction, n) for n in range(len(run.tasks))]
            link_files(transaction, segments, threads=1)
            while (left := quiet_in_ms(transaction)) > 0:  # as `wait_until_quiet` does
                storage.sleep(min(left, 60_000))
                renew(storage, lease, clock, ttl_ms=TTL_MS)
            check_listing(transaction, segments, threads=1)
            audited = AuditedFiles(written=written_files(segments), proof={"unique": True})
            properties = PROPERTIES_TEXT if self.scenario.creates else None
            publish(
                transaction, audited, Publication(extra={"schema": "{}"}, properties=properties)
            )
            finish(transaction)
        except (errors.AfterCommitError, errors.OutcomeUnknownError):
            raise
        except errors.FrameworkError:
            with contextlib.suppress(errors.FrameworkError):
                roll_back_own(storage, lease)
                release(storage, lease)
            raise
        return "published"

    def _begun(
        self, storage: Client, clock: ManualClock, run: WriterRun, lease: Lease
    ) -> Transaction | None:
        """Begin; None if there is a table already."""
        if self.scenario.creates and storage.stat(PROPERTIES) is not None:
            release(storage, lease)
            return None
        time = BOOTSTRAP_INSTANT
        if not self.scenario.creates:
            time = next_instant(clock, load_timeline(storage))
        run.intent = Intent(
            write_id=run.write_id,
            requested_time=time,
            action=Action.COMMIT if self.scenario.creates else Action.DELTACOMMIT,
            operation="UPSERT",
            is_new_table=self.scenario.creates,
            facts={"lakestrap.spec_hash": run.content},
        )
        run.tasks = list(_tasks(storage, run, time))
        transaction = Transaction(storage=storage, intent=run.intent, lease=lease, clock=clock)
        begin(transaction)
        return transaction

    def _task(self, transaction: Transaction, number: int) -> SegmentRef:
        """Write the files of one task, as the engine's tasks do."""
        run = self.runs[transaction.intent.write_id]
        return _write_task(transaction.storage, transaction.intent, run, number)

    def _zombie(self, run: WriterRun) -> Callable[[Client, ManualClock], None]:
        """Return another attempt of a run's tasks, at any time."""

        def main(storage: Client, clock: ManualClock) -> None:
            del clock
            for _ in range(20):
                if run.intent is not None:
                    break
                storage.sleep(5_000)
            if run.intent is None:
                return
            for number in range(len(run.tasks)):
                try:
                    _write_task(storage, run.intent, run, number)
                except errors.FrameworkError as error:
                    self.outcome.note(f"zombie {error.condition}")
                    return
            self.outcome.note("zombie wrote")

        return main

    def _recovery(self, write_id: str) -> Callable[[Client, ManualClock], None]:
        """Return a process that recovers as soon as no lease stands in its way."""

        def main(storage: Client, clock: ManualClock) -> None:
            for _ in range(3):
                with contextlib.suppress(errors.FrameworkError):
                    lease = _patiently(storage, clock, write_id)
                    _recover_all(storage, lease)
                    sweep_dead(storage, lease)
                    release(storage, lease)
                    self.outcome.note("recovered")
                    return

        return main

    def _undoer(self, storage: Client, clock: ManualClock) -> None:
        """Roll a load back, as soon as there is one."""
        for write_id in ("0" * 32, "1" * 32, "2" * 32, "3" * 32):
            storage.sleep(30_000)
            try:
                if self._undone(storage, clock, _patiently(storage, clock, write_id)):
                    self.outcome.note("undone")
                    return
            except errors.AfterCommitError as error:
                self.outcome.note(f"undo {error.condition}")
                return
            except errors.FrameworkError as error:
                self.outcome.note(f"undo {error.condition}")

    def _undone(self, storage: Client, clock: ManualClock, lease: Lease) -> bool:
        """Recover and roll back; what failed before anything was deleted is removed."""
        try:
            _recover_all(storage, lease)
            return undo_newest(storage, clock, lease, self.runs)
        except errors.AfterCommitError:
            raise
        except errors.FrameworkError:
            with contextlib.suppress(errors.FrameworkError):
                roll_back_own(storage, lease)
                release(storage, lease)
            raise

    def _end(self) -> None:
        """Recover and sweep after all late requests; then nothing may be left."""
        service, clock = self.network.service, self.network.clock
        storage = plain(service)
        for write_id in ("d" * 32, "e" * 32):
            clock.advance(2 * QUIET_MS)
            lease = acquire(storage, dead_owner(write_id), clock, ttl_ms=TTL_MS)
            _recover_all(storage, lease)
            if sweep_dead(storage, lease):
                self.outcome.note("swept")
            release(storage, lease)
        self.oracle.judge_end()


def _patiently(storage: Client, clock: ManualClock, write_id: str) -> Lease:
    """Take the lease, waiting for it up to eleven times."""
    for _ in range(10):
        try:
            return acquire(storage, dead_owner(write_id), clock, ttl_ms=TTL_MS)
        except errors.LeaseHeldError:
            storage.sleep(30_000)
    return acquire(storage, dead_owner(write_id), clock, ttl_ms=TTL_MS)


def _recover_all(storage: Storage, lease: Lease) -> None:
    """Recover as every run does at its start."""
    for _ in range(20):
        pending = find_pending(storage, own=lease.owner.write_id)
        if pending is None or pending.kind is PendingKind.FOREIGN:
            return
        if pending.kind is PendingKind.UNFINISHED:
            roll_forward(storage, pending, lease)
        else:
            roll_back(storage, pending, lease)


def _tasks(storage: Storage, run: WriterRun, time: str) -> Iterator[list[dict[str, object]]]:
    """Yield the statuses of each task's files, and note their bytes."""
    number = 0
    for partition, count in (("p=1", 2), ("p=2", 1)):
        rows = []
        for _ in range(count):
            row = a_status(number, partition=partition)
            data = f"{run.content} {time} {number}".encode()
            # a run of other content has a file of another name, and others of the same names
            ours = "" if number and time == BOOTSTRAP_INSTANT else f"{run.content} {time}"
            file_id = str(uuid5(NAMESPACE_URL, f"{number} {ours}"))
            name = str(BaseFileName(file_id=file_id, write_token=f"{number}-0-0", instant=time))
            rows.append(_row(row, run, partition, name, data, file_id=file_id))
            number += 1
        if time != BOOTSTRAP_INSTANT and partition == "p=2":
            rows.append(_log_row(storage, run, time, number))
        yield rows


def _row(
    row: dict[str, object], run: WriterRun, partition: str, name: str, data: bytes, *, file_id: str
) -> dict[str, object]:
    path = join(partition, name)
    run.files[path] = data
    crc32c = google_crc32c.value(data)
    return row | {
        "name": name,
        "file_id": file_id,
        "size": len(data),
        "crc32c": crc32c,
        "staged": path,
    }


def _log_row(storage: Storage, run: WriterRun, time: str, number: int) -> dict[str, object]:
    """Return the status of a log file of the base slice, in the next free version."""
    found = (LogFileName.parse(each.name) for each in storage.list("p=2"))
    version = 1 + max((each.version for each in found if each), default=0)
    name = LogFileName(
        file_id=BASE.file_id,
        base_instant=BASE.instant,
        version=version,
        write_token=log_token(storage, number, time),
    )
    data = encode_block(BlockKind.COMMAND, {HeaderKey.INSTANT_TIME: time}, run.write_id.encode())
    row = a_status(number, partition="p=2") | {"previous": BASE.instant, "base_name": str(BASE)}
    return _row(row, run, "p=2", str(name), data, file_id=BASE.file_id)


def _write_task(storage: Storage, intent: Intent, run: WriterRun, number: int) -> SegmentRef:
    """Write the files of one task, as the engine's tasks do: markers, files, statuses."""
    fenced = FencedStorage(storage, intent.staging.begin)
    rows = run.tasks[number]
    files = TaskFiles(fenced, intent.staging.attempts, intent.requested_time)
    files.announce(
        NewName(
            str(r["partition_path"]), str(r["name"]), str(r["previous"]) if r["previous"] else None
        )
        for r in rows
    )
    with FileStore(fenced) as store:
        for row in rows:
            path = files.path(str(row["partition_path"]), str(row["name"]))
            store.put(path, run.files[path])
    segment = intent.staging.new_attempt().replace("attempts", "segments") + ".arrow"
    return write_segment(fenced, segment, pa.Table.from_pylist(rows, schema=SEGMENT_SCHEMA))
