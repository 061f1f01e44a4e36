"""The page's data of one table: properties, writers, timeline, growth, partitions and slices.

Each response lists `.hoodie` once. It does not wait for the view, so the page stays live while the
view lists a partition. Only partitions that the view has loaded are counted, so showing thousands
of partitions lists none of them; a request for a partition's slices makes the view load it.
"""

from __future__ import annotations

from collections import Counter, OrderedDict
from collections.abc import Mapping, Sequence
from concurrent.futures import Executor
from typing import Any, Final

from framework.errors import FrameworkError
from framework.hudi.commit.lease import current_lease
from framework.hudi.filegroup.slices import FileSlice
from framework.hudi.storage.locations import open_storage
from framework.hudi.storage.port import Storage
from framework.hudi.table.properties import read_properties
from framework.hudi.timeline.clock import SystemClock
from framework.hudi.timeline.instant import DATA_ACTIONS, Instant, InstantState
from framework.hudi.view.incremental import IncrementalView
from framework.hudi.view.known import Known, look
from framework.hudi.view.port import Query, Selection
from framework.timeline_service.messages import RequestRefusedError
from framework.timeline_service.page.commits import CommitFacts, CommitReading
from framework.timeline_service.page.documents import Part
from framework.timeline_service.page.gate import gate_of
from framework.timeline_service.tables import ServedTable

__all__ = ["PartitionCounts", "TableSummary"]

_WAIT_S: Final = 0.4
_POINTS: Final = 400
_PENDING: Final = 50
_NS_PER_MS: Final = 1_000_000


class TableSummary:
    """One served table.

    Args:
        table: the served table.
        pool: runs the reads of commits.

    Attributes:
        counts: counts of its partitions.
    """

    def __init__(self, table: ServedTable, pool: Executor) -> None:
        self.table = table
        self.counts = PartitionCounts(table.view)
        self._storage: Storage = open_storage(table.location)
        self._reading = CommitReading(self._storage, pool)

    def in_short(self) -> dict[str, Any]:
        """Return the table's entry in the list of tables; an unreadable table has a fault."""
        try:
            known = look(self._storage)
            found = {**self._named(), **self._last(known)}
        except FrameworkError as error:
            found = {"fault": {"message": error.message, "condition": error.condition}}
        return {"id": self.table.id, "location": self.table.location, **found}

    def in_full(self, part: Part) -> dict[str, Any]:
        """Return everything except partitions, with one part of the instants, newest first.

        Raises:
            CorruptFileError, StorageError, UnsupportedTableError: the table cannot be read.
        """
        known = look(self._storage)
        facts = self._reading.facts(known, _WAIT_S)
        instants = known.timeline.instants[::-1]
        commits = [each for each in known.timeline.completed if each.action in DATA_ACTIONS]
        pending = [self._instant(each, known, facts) for each in known.timeline.pending[:_PENDING]]
        return {
            "id": self.table.id,
            "location": self.table.location,
            **self._named(),
            **self._last(known),
            "at_work": self._at_work() if pending else None,
            "pending": pending,
            "instants": part.document(
                [self._instant(each, known, facts) for each in part.of_list(instants)],
                len(instants),
            ),
            "growth": self._growth(commits, known, facts),
            "unread": len(commits) - len(facts),
        }

    def close(self) -> None:
        """Stop reading."""
        self._reading.close()

    def _named(self) -> dict[str, Any]:
        """Return the table's properties, all None before its first commit."""
        found = read_properties(self._storage)
        if found is None:
            return {"name": None, "type": None, "version": None, "source": None}
        return {
            "name": f"{found.database}.{found.name}" if found.database else found.name,
            "type": found.table_type.value,
            "version": found.version,
            "source": found.bootstrap_base_path,
        }

    def _last(self, known: Known) -> dict[str, Any]:
        """Return the numbers of commits and pending instants, and the last commit."""
        timeline = known.timeline
        commits = [each for each in timeline.completed if each.action in DATA_ACTIONS]
        last = commits[-1] if commits else None
        return {
            "commits": len(commits),
            "pending_count": len(timeline.pending),
            "last": None if last is None else self._last_commit(last, known),
        }

    def _last_commit(self, instant: Instant, known: Known) -> dict[str, Any]:
        """Return the last completed commit with its gate's verdict, None if unknown."""
        head = self._reading.head(instant, known)
        return {
            **_plain(instant),
            "times": _times(instant, known),
            "operation": head.operation if head else "",
            "verdict": gate_of(head.extra)["verdict"] if head else None,
        }

    def _at_work(self) -> str | None:
        """Return the process that holds the lease, None if no process does."""
        lease = current_lease(self._storage)
        if lease is None or lease.is_over(SystemClock()):
            return None
        return f"process {lease.owner.pid} on {lease.owner.host}"

    def _instant(
        self, instant: Instant, known: Known, facts: Mapping[Instant, CommitFacts]
    ) -> dict[str, Any]:
        """Return an instant; `commit` is None if it wrote no files or is not read yet."""
        found = facts.get(instant)
        head = None if instant.is_completed else self._reading.head(instant, known)
        return {
            **_plain(instant),
            "times": _times(instant, known),
            "operation": found.operation if found else head.operation if head else "",
            "unread": found is None and instant.is_completed and instant.action in DATA_ACTIONS,
            "commit": None if found is None else _commit(found),
        }

    def _growth(
        self, commits: Sequence[Instant], known: Known, facts: Mapping[Instant, CommitFacts]
    ) -> dict[str, Any]:
        """Return the table's size after each commit that was read, oldest first.

        Many commits are thinned out evenly; `commits` counts all.
        """
        sized = [(each, facts[each]) for each in commits if each in facts]
        step = -(-len(sized) // _POINTS) or 1
        chosen = sized[::-1][::step][::-1]
        points = [
            {
                "instant": each.requested_time,
                "at": _times(each, known)[InstantState.COMPLETED],
                "groups": found.size.groups,
                "rows": found.size.rows,
                "bytes": found.size.bytes,
            }
            for each, found in chosen
            if found.size is not None
        ]
        return {
            "points": points,
            "commits": len(sized),
            "is_whole": self._reading.is_whole,
            "is_known": all(found.size is not None for _, found in chosen),
        }


def _plain(instant: Instant) -> dict[str, Any]:
    """Return an instant's time, action and state."""
    return {
        "instant": instant.requested_time,
        "action": instant.action.value,
        "state": instant.state.value,
    }


def _times(instant: Instant, known: Known) -> dict[str, int | None]:
    """Return when each state's file was written, in ms since the epoch, None without a file."""
    found: dict[str, int | None] = {}
    for state in InstantState:
        name = _name(instant, state)
        identity = known.files.get(name) if name else None
        found[state.value] = identity[1] // _NS_PER_MS if identity else None
    return found


def _name(instant: Instant, state: InstantState) -> str | None:
    """Return the name of an instant's file in another state, None if it has no such file."""
    try:
        return Instant(
            requested_time=instant.requested_time, action=instant.action, state=state
        ).file_name
    except FrameworkError:
        return None


def _commit(found: CommitFacts) -> dict[str, Any]:
    """Return the data of a commit."""
    written = found.written
    names = ("files", "rows", "bytes", "inserts", "updates", "deletes")
    return {
        **{name: getattr(written, name) for name in names},
        "run": found.run,
        "gate": dict(found.gate),
        "fault": found.fault,
    }


_KEPT: Final = 10_000
_NO_COUNTS: Final = ("skeletons", "full", "log_only", "with_logs", "logs", "bytes", "source_bytes")


class PartitionCounts:
    """Counts of a table's partitions.

    Args:
        view: the table's view.
    """

    def __init__(self, view: IncrementalView) -> None:
        self._view = view
        self._kept: OrderedDict[str, dict[str, int]] = OrderedDict()
        self._version = -1

    def partitions(self, like: str, part: Part) -> dict[str, Any]:
        """Return a part of the partitions whose path contains `like`, in the view's order.

        Lists the table's folders if the view has not done so yet.
        """
        view = self._view
        with view.lock:
            view.sync()
            every = list(view.partitions())
            found = [each for each in every if like in each]
            items = [self._partition(each) for each in part.of_list(found)]
            usage = view.usage()
            instant = view.facts.timeline.last_requested_time
        return {
            **part.document(items, len(found)),
            "partitions": len(every),
            "loaded": usage.partitions,
            "groups": usage.groups,
            "instant": instant,
        }

    def slices(self, path: str, part: Part) -> dict[str, Any]:
        """Return a part of a partition's latest slices, by file id, and counts of all of them.

        Raises:
            RequestRefusedError: 404; the table has no such partition.
        """
        view = self._view
        with view.lock:
            view.sync()
            if path not in set(view.partitions()):
                raise RequestRefusedError(404, "the table has no such partition")
            found = view.select(Query(selection=Selection.MERGED, partition_path=path))
            counts = self._keep(path, found)
            instant = view.facts.timeline.last_requested_time
        return {
            "partition": path,
            "instant": instant,
            "counts": counts,
            **part.document([_slice(each) for each in part.of_list(found)], len(found)),
        }

    def _partition(self, path: str) -> dict[str, Any]:
        """Return a partition, with counts if it is loaded."""
        if not self._view.store.is_loaded(path):
            return {"path": path, "counts": None}
        return {"path": path, "counts": self._counts(path)}

    def _counts(self, path: str) -> dict[str, int]:
        """Return the counts of a loaded partition."""
        if self._version == self._view.version and path in self._kept:
            return self._kept[path]
        query = Query(selection=Selection.MERGED, partition_path=path)
        return self._keep(path, self._view.select(query))

    def _keep(self, path: str, slices: Sequence[FileSlice]) -> dict[str, int]:
        """Count a partition's slices and cache the counts until the timeline advances."""
        if self._version != self._view.version:
            self._kept.clear()
            self._version = self._view.version
        self._kept[path] = _counted(slices)
        if len(self._kept) > _KEPT:
            self._kept.popitem(last=False)
        return self._kept[path]


def _counted(slices: Sequence[FileSlice]) -> dict[str, int]:
    """Return counts and bytes of some slices."""
    found = Counter(dict.fromkeys(_NO_COUNTS, 0))
    found["slices"] = len(slices)
    for each in slices:
        found[_kind(each)] += 1
        found["with_logs"] += bool(each.logs)
        found["logs"] += len(each.logs)
        found["bytes"] += each.total_size_bytes
        found["source_bytes"] += each.bootstrap.size if each.bootstrap else 0
    return dict(found)


def _kind(found: FileSlice) -> str:
    """Return the kind of a slice's base file."""
    if found.base is None:
        return "log_only"
    return "skeletons" if found.bootstrap else "full"


def _slice(found: FileSlice) -> dict[str, Any]:
    """Return the data of a slice."""
    base, source = found.base, found.bootstrap
    return {
        "file_id": found.group.file_id,
        "instant": found.base_instant,
        "kind": _kind(found),
        "bytes": found.total_size_bytes,
        "base": None if base is None else {"name": str(base.name), "size": base.size},
        "logs": [{"name": str(each.name), "size": each.size} for each in found.logs],
        "source": None
        if source is None
        else {"uri": source.uri, "size": source.size, "mtime_ms": source.mtime_ms},
    }
