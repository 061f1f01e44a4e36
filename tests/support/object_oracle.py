"""The oracle of schedules: the store's own objects, compared with what runs wrote and said."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Final
from uuid import NAMESPACE_URL, uuid5

from framework.hudi.commit.intent import WRITE_ID_KEY, Intent
from framework.hudi.commit.staging import DEAD
from framework.hudi.filegroup.slices import BaseFileName, LogFileName, instant_of
from framework.hudi.storage.memory_objects import MemoryObjects, MemoryObjectStorage
from framework.hudi.table.layout import (
    HOODIE,
    LAKESTRAP,
    PARTITION_METADATA,
    PROPERTIES,
    TEMP,
    name_of,
    parent_of,
)
from framework.hudi.timeline.commit_metadata import read_commit_head
from framework.hudi.timeline.instant import DATA_ACTIONS
from framework.hudi.timeline.timeline import Timeline, timeline_of

__all__ = [
    "BASE",
    "PROPERTIES_TEXT",
    "Oracle",
    "Violation",
    "WriterRun",
    "a_table",
    "is_data",
    "plain",
]

PROPERTIES_TEXT: Final = "hoodie.table.name=t\n"
BASE: Final = BaseFileName(
    file_id=str(uuid5(NAMESPACE_URL, "base")),
    write_token="0-0-0",  # noqa: S106 - a name
    instant="20251231000000000",
)
"""The only file of the table that loads go into."""

_VAGUE: Final = frozenset({"published", "died", "AfterCommitError", "OutcomeUnknownError"})


class Violation(AssertionError):  # noqa: N818 - it is what the oracle found
    """A promise is broken."""


@dataclass(kw_only=True)
class WriterRun:
    """A writer's run.

    Attributes:
        write_id: its id.
        content: what determines the bytes of its files.
        intent: None until it has one.
        files: bytes by path.
        tasks: the statuses of the files of each task.
        result: what the run said in the end: `published`, `died`, or the class of its error.
        undone_at: the instants of rollbacks that were begun to undo it.
    """

    write_id: str
    content: str
    intent: Intent | None = None
    files: dict[str, bytes] = field(default_factory=dict)
    tasks: list[list[dict[str, object]]] = field(default_factory=list)
    result: str = ""
    undone_at: list[str] = field(default_factory=list)


class Oracle:
    """Compares the objects of a service with the runs that used it."""

    def __init__(self, service: MemoryObjects, runs: Mapping[str, WriterRun]) -> None:
        self._service = service
        self._runs = runs
        self._broken = ""

    def look(self) -> None:
        """Note the first moment at which a reader could see something wrong."""
        if not self._broken:
            self._broken = "; ".join(self._wrong())

    def judge(self) -> None:
        """Raise what was noted.

        Raises:
            Violation: a promise was broken.
        """
        if self._broken:
            raise Violation(self._broken)

    def judge_end(self) -> None:
        """Compare what each run said with the table, and look for what no run needs any more.

        Raises:
            Violation: a promise was broken.
        """
        self.look()
        self.judge()
        timeline = self._timeline()
        published = self._published(timeline)
        for run in self._runs.values():
            undone = any(timeline.find(each) for each in run.undone_at)
            _judge_result(run, is_done=run.write_id in published, is_undone=undone)
        done = {each.requested_time for each in timeline.completed}
        files = {path for write_id in published for path in self._runs[write_id].files}
        for key in self._service.objects:
            self._judge_object(key, done, files)

    def _wrong(self) -> Iterator[str]:
        """Yield what a reader could see that is wrong."""
        objects, timeline = self._service.objects, self._timeline()
        expected: dict[str, bytes] = {}
        for write_id in self._published(timeline):
            expected.update(self._runs[write_id].files)
        for path, data in expected.items():
            found = objects.get(path)
            if found is None or found.data != data:
                yield f"{path} is {'lost' if found is None else 'another file'}"
        yield from self._hidden(expected)
        for key in objects:
            made = instant_of(name_of(key)) if is_data(key) else None
            if made is None or made == BASE.instant or key in expected:
                continue
            if timeline.is_completed(made):
                yield f"{key} of no run is visible"

    def _hidden(self, expected: Mapping[str, bytes]) -> Iterator[str]:
        """Yield the partitions that readers do not find."""
        for partition in sorted({parent_of(path) for path in expected}):
            if f"{partition}/{PARTITION_METADATA}" not in self._service.objects:
                yield f"{partition} is no partition any more"

    def _judge_object(self, key: str, done: set[str], files: set[str]) -> None:
        """Raise if an object is of no published run."""
        if key.startswith((f"{DEAD}/", f"{TEMP}/", f"{LAKESTRAP}/")):
            raise Violation(f"{key} is left over")
        made = instant_of(name_of(key)) if is_data(key) else None
        is_log = LogFileName.parse(name_of(key)) is not None
        if (made is not None and made not in done) or (is_log and key not in files):
            raise Violation(f"{key} of a run that was rolled back is left over")
        if made is None and is_data(key) and PROPERTIES not in self._service.objects:
            beside = (each for each in self._service.objects if parent_of(each) == parent_of(key))
            if all(each == key for each in beside):
                raise Violation(f"{key} is alone")

    def _timeline(self) -> Timeline:
        keys = self._service.objects
        return timeline_of(name_of(key) for key in keys if parent_of(key) == HOODIE)

    def _published(self, timeline: Timeline) -> list[str]:
        """Return the runs that have completed instants."""
        storage = plain(self._service)
        loads = (each for each in timeline.completed if each.action in DATA_ACTIONS)
        paths = (each.path for each in loads if each.requested_time != BASE.instant)
        return [read_commit_head(storage, path).extra[WRITE_ID_KEY] for path in paths]


def _judge_result(run: WriterRun, *, is_done: bool, is_undone: bool) -> None:
    """Compare a run's own words with the table."""
    if is_done and is_undone:
        raise Violation(f"run {run.write_id[0]} was rolled back, and it is there")
    if run.result == "published" and not (is_done or is_undone):
        raise Violation(f"run {run.write_id[0]} published, and its instant is lost")
    if is_done and run.result not in _VAGUE:
        raise Violation(f"run {run.write_id[0]} failed ({run.result}), and it is published")


@cache
def a_table() -> MemoryObjects:
    """Return a table with one slice."""
    service = MemoryObjects()
    service.put(PROPERTIES, PROPERTIES_TEXT.encode(), "")
    service.put(f"p=2/{BASE}", b"rows", "")
    service.put("p=2/.hoodie_partition_metadata", b"commitTime=1\npartitionDepth=1\n", "")
    for state in (".requested", ".inflight", ""):
        service.put(f"{HOODIE}/{BASE.instant}.deltacommit{state}", b"{}", "")
    return service


def plain(service: MemoryObjects) -> MemoryObjectStorage:
    """Return a storage over the service, without a network between."""
    return MemoryObjectStorage("oracle", service)


def is_data(key: str) -> bool:
    """Return whether an object is in a partition."""
    return not key.startswith(HOODIE)
