"""Files of an HDFS cluster, by the client hdfs-native.

A name is given by one call of the NameNode: `create` and `rename` without overwrite refuse a taken
name, and the NameNode has journaled the name before it answers. Bytes are as durable as the cluster
makes them when a file is closed: each DataNode of the pipeline has acknowledged them, and at least
`dfs.namenode.replication.min` of them have reported the whole block; the client cannot ask for a
sync of their disks, which is the cluster's `dfs.datanode.synconclose`.
"""

from __future__ import annotations

import contextlib
import io
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, BinaryIO, Final

import pyarrow as pa
from typing_extensions import override

from framework.hudi.storage.hdfs_client import HdfsClient, client_of
from framework.hudi.storage.hdfs_errors import NOT_EMPTY, hdfs_error, is_missing
from framework.hudi.storage.hdfs_input import HdfsInput
from framework.hudi.storage.hdfs_uri import parse_hdfs_uri
from framework.hudi.storage.port import Entry, Move, storage_error

if TYPE_CHECKING:
    from typing_extensions import Buffer

__all__ = ["HdfsStorage"]

_BUFFER_BYTES: Final = 1 << 20
_NS_PER_MS: Final = 1_000_000
_NO_PARENT: Final = "destination parent"


class HdfsStorage:
    """A tree of files below one folder of a cluster; the folder need not exist yet.

    Safe to use from threads, and in a process forked from one that used it.

    Args:
        location: `hdfs://host:port/path`, or `hdfs://nameservice/path` with Hadoop's configuration
            in `HADOOP_CONF_DIR`.
    """

    def __init__(self, location: str) -> None:
        self._uri = parse_hdfs_uri(location)

    @property
    def location(self) -> str:
        """The root as a URI that Hadoop resolves too."""
        return self._uri.text

    def list(self, folder: str) -> Iterator[Entry]:
        """Yield the children of `folder` by name."""
        full = self._full(folder)
        try:
            found = sorted(self._client.list(full), key=lambda each: each.path)
        except Exception as error:
            if is_missing(error):
                return
            raise hdfs_error(error, self._place(folder)) from error
        prefix = f"{folder}/" if folder else ""
        for each in found:
            if each.path != full:  # the listing of a file is the file itself
                yield _entry(each, prefix + each.path.rpartition("/")[2])

    def stat(self, path: str) -> Entry | None:
        """Return the entry at `path`, or None if nothing is there."""
        try:
            return _entry(self._client.stat(self._full(path)), path)
        except Exception as error:
            if is_missing(error):
                return None
            raise hdfs_error(error, self._place(path)) from error

    def open_input(self, path: str) -> Any:
        """Open a file for random access; one of up to 1 MiB is read whole at once.

        A larger one cannot be read on once it was replaced and the cluster has removed its blocks.
        """
        place = self._place(path)
        try:
            return pa.PythonFile(HdfsInput(self._client.open(self._full(path)), place), mode="r")
        except Exception as error:
            raise hdfs_error(error, place) from error

    @contextlib.contextmanager
    def create(self, path: str, *, durable: bool = True) -> Iterator[BinaryIO]:
        """Open a new file; on a clean exit it is closed and can be read by all.

        `durable` makes no difference: every closed file is as durable as its cluster makes it.
        """
        del durable
        raw = _NewFile(self._client, self._full(path), self._place(path))
        out = io.BufferedWriter(raw, _BUFFER_BYTES)
        try:
            yield out
            out.flush()
            raw.finish()
            out.close()
        except BaseException:
            raw.abandon()
            raise

    def move(self, moves: Sequence[Move]) -> None:
        """Rename each source to a free name, one call each; also whole folders."""
        for each in moves:
            source, target = self._full(each.source), self._full(each.target)
            try:
                self._rename(source, target)
            except Exception as error:
                at_fault = each.source if is_missing(error) else each.target
                raise hdfs_error(error, self._place(at_fault)) from error

    def replace(self, move: Move) -> None:
        """Rename a file over another one, by one call."""
        for each in (move.source, move.target):
            if self.stat(each) is None:
                missing = FileNotFoundError("there is no such file")
                raise hdfs_error(missing, self._place(each))
        try:
            self._client.rename(self._full(move.source), self._full(move.target), overwrite=True)
        except Exception as error:
            raise hdfs_error(error, self._place(move.source)) from error

    def delete(self, *paths: str, only_empty: bool = False) -> None:
        """Delete files and whole folders; past the cluster's trash."""
        for path in paths:
            full = self._full(path)
            try:
                if not only_empty:
                    self._client.delete(full, recursive=True)
                elif self._client.stat(full).isdir:
                    self._client.delete(full, recursive=False)
            except Exception as error:
                if is_missing(error) or (only_empty and NOT_EMPTY in str(error)):
                    continue
                raise hdfs_error(error, self._place(path)) from error

    @property
    def _client(self) -> HdfsClient:
        """The client of this process."""
        return client_of(self._uri.cluster)

    def _rename(self, source: str, target: str) -> None:
        """Rename exclusively; create the target's folder if it is missing."""
        try:
            self._client.rename(source, target, overwrite=False)
        except FileNotFoundError as error:
            if _NO_PARENT not in str(error):
                raise
            self._client.make_folders(target.rpartition("/")[0])
            self._client.rename(source, target, overwrite=False)

    def _full(self, path: str) -> str:
        """Return the path in the cluster; refuse one that leaves the root."""
        if path.startswith("/") or "\0" in path or ".." in path.split("/"):
            raise storage_error(OSError(f"the path {path!r} leaves the storage"), self.location)
        root = self._uri.path
        return f"{root.rstrip('/')}/{path}" if path else root

    def _place(self, path: str) -> str:
        """Return the full location, for errors."""
        return f"{self._uri.text}/{path}" if path else self._uri.text


class _NewFile(io.RawIOBase):
    """A new file whose faults are typed errors, also when a buffer calls `write`."""

    def __init__(self, client: HdfsClient, path: str, place: str) -> None:
        super().__init__()
        self._client = client
        self._path = path
        self._place = place
        self._size = 0
        try:
            self._writer = client.create(path)
        except Exception as error:
            raise hdfs_error(error, place) from error

    @override
    def writable(self) -> bool:
        """Return True."""
        return True

    @override
    def write(self, data: Buffer, /) -> int:
        """Write all of `data`."""
        chunk = bytes(data)
        try:
            self._client.write(self._writer, chunk)
        except Exception as error:
            raise hdfs_error(error, self._place) from error
        self._size += len(chunk)
        return len(chunk)

    def finish(self) -> None:
        """Close the file in the cluster."""
        try:
            self._client.finish(self._writer, self._path, self._size)
        except Exception as error:
            raise hdfs_error(error, self._place) from error

    def abandon(self) -> None:
        """Delete the file without writing the buffer above."""
        with contextlib.suppress(Exception):
            self._client.delete(self._path, recursive=False)


def _entry(found: Any, path: str) -> Entry:
    """Return the entry of a file's status."""
    if found.isdir:
        return Entry(path=path, is_folder=True, size=0, mtime_ns=0)
    changed = found.modification_time * _NS_PER_MS
    return Entry(path=path, is_folder=False, size=found.length, mtime_ns=changed)
