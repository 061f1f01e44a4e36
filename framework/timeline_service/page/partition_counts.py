"""Partitions by name, and the slices of one that is asked for.

Only what the view has loaded is counted, so that a list of thousands of partitions costs no listing
of any; who asks for a partition's slices makes the view load it, as every other caller does.
"""

from __future__ import annotations

from collections import Counter, OrderedDict
from collections.abc import Sequence
from typing import Any, Final

from framework.hudi.filegroup.slices import FileSlice
from framework.hudi.view.incremental import IncrementalView
from framework.hudi.view.port import Query, Selection
from framework.timeline_service.messages import RequestRefusedError
from framework.timeline_service.page.parameters import Part

__all__ = ["PartitionCounts"]

_KEPT: Final = 10_000
_NO_COUNTS: Final = ("skeletons", "full", "log_only", "with_logs", "logs", "bytes", "source_bytes")


class PartitionCounts:
    """What is known of a table's partitions.

    Args:
        view: of the table.
    """

    def __init__(self, view: IncrementalView) -> None:
        self._view = view
        self._kept: OrderedDict[str, dict[str, int]] = OrderedDict()
        self._version = -1

    def partitions(self, like: str, part: Part) -> dict[str, Any]:
        """Return a part of the partitions whose path has `like` in it, in the view's order.

        Costs a listing of the table's folders where nobody asked the view for them before.
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
        """Return a part of the latest slices of a partition, by file id, and counts of them all.

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
        """Return a partition, with counts where it is loaded."""
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
        """Count a partition's slices and remember that until the timeline advances."""
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
    """Return what a slice's base file is."""
    if found.base is None:
        return "log_only"
    return "skeletons" if found.bootstrap else "full"


def _slice(found: FileSlice) -> dict[str, Any]:
    """Return a slice."""
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
