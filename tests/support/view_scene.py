"""A table with one partition and a kept view of it, for tests that write its timeline by hand."""

from __future__ import annotations

import io
from dataclasses import dataclass, field
from uuid import uuid4

from framework.hudi.bootstrap.index import FileMapping, IndexGroup
from framework.hudi.filegroup.slices import LogFileName
from framework.hudi.storage.memory import MemoryStorage
from framework.hudi.table.layout import (
    BOOTSTRAP_FILEIDS_INDEX,
    BOOTSTRAP_PARTITIONS_INDEX,
    name_of,
)
from framework.hudi.timeline.commit_metadata import CommitHead, LogAppend, WriteStat, write_commit
from framework.hudi.view.incremental import IncrementalView
from framework.hudi.view.port import Query, Selection
from framework.hudi.view.stores.port import MemoryStore
from tests.support.bootstrap_index import BASE_URI, CREATED_MS, write_index
from tests.support.storage_suite import put

__all__ = ["BASE", "LOG", "Scene", "replacing", "write_index_of"]

BASE = "p/a_0-0-0_1.parquet"
LOG = "p/.a_1.log.1_0-0-0"


@dataclass
class Scene:
    """A table with one partition `p`, and the view of it."""

    storage: MemoryStorage = field(default_factory=lambda: MemoryStorage(uuid4().hex))

    def __post_init__(self) -> None:
        """Make the partition and the view."""
        put(self.storage, "p/.hoodie_partition_metadata")
        self.view = IncrementalView(self.storage, MemoryStore())

    def write(self, *paths: str) -> None:
        """Write files of two bytes, replacing existing ones."""
        self.storage.delete(*paths)
        for path in paths:
            put(self.storage, path, b"12")

    def say(self, name: str, data: bytes = b"") -> None:
        """Write a file of the timeline."""
        put(self.storage, f".hoodie/{name}", data)

    def unsay(self, *names: str) -> None:
        """Take files from the timeline."""
        self.storage.delete(*(f".hoodie/{name}" for name in names))

    def commit(self, name: str, *paths: str, size: int = 2, recorded: str = "p") -> None:
        """Write a commit of files that are in the partition `recorded`."""
        out = io.BytesIO()
        stats = [_stat(path, size, recorded) for path in paths]
        write_commit(out, CommitHead(), [(recorded, stats)], replaced=None)
        self.say(name, out.getvalue())

    def shown(self, partition: str | None = "p") -> dict[str, list[tuple[str, int]]]:
        """Return names and sizes of the files of each newest slice, by file id."""
        query = Query(selection=Selection.LATEST, partition_path=partition)
        found = self.view.select(query)
        return {
            each.group.file_id: [
                (str(file.name), file.size) for file in (each.base, *each.logs) if file
            ]
            for each in found
        }


def replacing(file_id: str) -> bytes:
    """Return a replacecommit that replaces one group."""
    out = io.BytesIO()
    write_commit(out, CommitHead(), [], replaced={"p": [file_id]})
    return out.getvalue()


def write_index_of(storage: MemoryStorage, size: int = 7) -> None:
    """Write an index of the one group `a`."""
    file = FileMapping(file_id="a", uri=f"{BASE_URI}/p/a.parquet", size=size, mtime_ms=CREATED_MS)
    group = IndexGroup(partition_path="p", source_partition="p", files=(file,))
    partitions, fileids = io.BytesIO(), io.BytesIO()
    write_index(partitions, fileids, [group])
    put(storage, BOOTSTRAP_PARTITIONS_INDEX, partitions.getvalue())
    put(storage, BOOTSTRAP_FILEIDS_INDEX, fileids.getvalue())


def _stat(path: str, size: int, partition: str) -> WriteStat:
    """Return what a commit says of a file."""
    log = LogFileName.parse(name_of(path))
    return WriteStat(
        file_id="a",
        path=path,
        partition_path=partition,
        rows=1,
        size=size,
        log=LogAppend(version=log.version) if log else None,
    )
