"""The view of another process, asked over HTTP, and what is done when that does not work (RFC-03).

An answer counts only if it says that it is of the same table and process, and was made at the very
timeline that the caller goes by. Whatever else comes, or nothing, is one thing: unreachable. Then
the caller's own view of the partition answers, as of the same instant.
"""

from __future__ import annotations

import gc
import json
import logging
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final, TypeVar

from framework.errors import CorruptFileError
from framework.hudi.filegroup.group import decode_slice
from framework.hudi.filegroup.slices import FileGroupId, FileSlice
from framework.hudi.view.http import CallFailedError, Reply, ServiceConnection
from framework.hudi.view.port import FileSystemView, Query, Selection

__all__ = ["FallbackView", "Patience", "RemoteView", "ServiceAddress", "ServiceUnreachableError"]

_LOG: Final = logging.getLogger(__name__)
_OK: Final = 200
_FAULT: Final = 500
_Told = TypeVar("_Told")


class ServiceUnreachableError(Exception):
    """The service gave no answer that may be used; the message says why."""


class _FailingError(ServiceUnreachableError):
    """The service failed; it may do better the next time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceAddress:
    """Where a table's view is served, and as of what; JSON-able, for tasks.

    Attributes:
        host: name or address.
        port: of TCP.
        token: what the service wants to see; "" where nothing.
        driver: the process that serves.
        table: the table's id there.
        instant: last instant of the timeline that the caller goes by, "" where it is empty.
        timeline: the timeline's hash.
        seconds: how long one answer is waited for.
        attempts: how often a call is made.
    """

    host: str
    port: int
    token: str
    driver: str
    table: str
    instant: str
    timeline: str
    seconds: float = 3.0
    attempts: int = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Patience:
    """How long a caller pauses.

    Attributes:
        pause: seconds before the second attempt; each further pause is twice as long.
        rest: seconds for which a service that failed is not asked again.
    """

    pause: float = 0.05
    rest: float = 30.0


class RemoteView:
    """A table's view as a service reports it. For one thread.

    Args:
        address: of the service.
        patience: how long to pause between attempts.
    """

    def __init__(self, address: ServiceAddress, patience: Patience | None = None) -> None:
        self._address = address
        self._patience = patience or Patience()
        self._connection = ServiceConnection(address.host, address.port)

    def partitions(self) -> Iterator[str]:
        """Yield the partition paths by name at each level.

        Raises:
            ServiceUnreachableError: no answer that may be used.
        """
        yield from map(str, self._call("partitions", {}))

    def select(self, query: Query) -> list[FileSlice]:
        """Return the slices that a query asks for.

        Raises:
            ServiceUnreachableError: no answer that may be used.
        """
        said = {**query._asdict(), "instants": sorted(query.instants)}
        found = self._call("select", {"query": said})
        with _reading():
            parts = iter(found)
            triples = zip(parts, parts, parts, strict=True)
            return [decode_slice(FileGroupId(path, id_), record) for path, id_, record in triples]

    def look_up(
        self,
        groups: Sequence[FileGroupId],
        selection: Selection = Selection.MERGED,
        *,
        are_there: bool = False,
    ) -> list[FileSlice]:
        """Return the slices of some groups of any partitions, in their order, by one call.

        Args:
            groups: of which partitions and file ids. One that is not there has no answer.
            selection: `LATEST` or `MERGED`.
            are_there: whether the caller knows that each has a slice, so that an answer without
                one may not be used.

        Raises:
            ServiceUnreachableError: no answer that may be used.
        """
        paths, ids = zip(*groups, strict=True) if groups else ((), ())
        said = {"selection": selection, "partitions": paths, "file_ids": ids}
        found = self._call("look-up", said)
        if len(found) != len(groups):
            raise ServiceUnreachableError("the answer is one to other questions")
        if are_there and None in found:
            raise ServiceUnreachableError("the answer lacks groups that are there")
        with _reading():
            return [
                decode_slice(group, record)
                for group, record in zip(groups, found, strict=True)
                if record is not None
            ]

    def latest_slices(self, partition_path: str) -> Sequence[FileSlice]:
        """Return the newest state of each file group, by file id.

        Raises:
            ServiceUnreachableError: no answer that may be used.
        """
        return self.select(Query(selection=Selection.MERGED, partition_path=partition_path))

    def close(self) -> None:
        """End the connection."""
        self._connection.close()

    def _call(self, verb: str, said: dict[str, Any]) -> list[Any]:
        """Return the list that a route answers with; asks again after a pause."""
        address = self._address
        body = json.dumps({**said, "instant": address.instant, "timeline": address.timeline})
        path = f"/v1/lakestrap/tables/{address.table}/{verb}"
        headers = {"content-type": "application/json"}
        if address.token:
            headers["authorization"] = f"Bearer {address.token}"
        pause = self._patience.pause
        for attempt in range(1, address.attempts + 1):
            try:
                reply = self._connection.post(path, body.encode(), headers, address.seconds)
                return self._used(reply)
            except (CallFailedError, _FailingError) as error:
                if attempt == address.attempts:
                    raise ServiceUnreachableError(str(error)) from error
                time.sleep(pause)
                pause *= 2
        raise ServiceUnreachableError("it is never asked")

    def _used(self, reply: Reply) -> list[Any]:
        """Return what a reply says, if it may be used.

        Raises:
            ServiceUnreachableError: it may not.
        """
        address = self._address
        if reply.status >= _FAULT:
            raise _FailingError(f"status {reply.status}: {reply.body[:200]!r}")
        if reply.status != _OK:
            raise ServiceUnreachableError(f"status {reply.status}: {reply.body[:200]!r}")
        expected = {
            "x-lakestrap-table": address.table,
            "x-lakestrap-driver": address.driver,
            "x-lakestrap-timeline": address.timeline,
        }
        for name, value in expected.items():
            if reply.headers.get(name) != value:
                raise ServiceUnreachableError(f"{name} is {reply.headers.get(name)}, not {value}")
        try:
            found = json.loads(reply.body)
        except ValueError as error:
            raise ServiceUnreachableError("the answer is no JSON") from error
        if not isinstance(found, list):
            raise ServiceUnreachableError("the answer is no list")
        return found


class FallbackView:
    """A remote view, and a local one for when that does not answer. For one thread.

    Args:
        remote: asked first.
        local: makes the view that answers otherwise, as of the same timeline; once, when needed.
        patience: how long the remote one is left alone after it failed.
        clock: seconds, monotonic.

    Attributes:
        fallbacks: how many queries the local view answered, one for each partition of a look-up.
    """

    def __init__(
        self,
        remote: RemoteView,
        local: Callable[[], FileSystemView],
        patience: Patience | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._remote = remote
        self._make = local
        self._local: FileSystemView | None = None
        self._patience = patience or Patience()
        self._clock = clock
        self._down_until = float("-inf")
        self.fallbacks = 0

    def partitions(self) -> Iterator[str]:
        """Yield the partition paths by name at each level."""
        found = self._asked(lambda: list(self._remote.partitions()), 1)
        yield from self._own().partitions() if found is None else found

    def select(self, query: Query) -> Sequence[FileSlice]:
        """Return the slices that a query asks for."""
        found = self._asked(lambda: self._remote.select(query), 1)
        return self._own().select(query) if found is None else found

    def look_up(
        self,
        groups: Sequence[FileGroupId],
        selection: Selection = Selection.MERGED,
        *,
        are_there: bool = False,
    ) -> Sequence[FileSlice]:
        """Return the slices of some groups of any partitions; as of `RemoteView.look_up`.

        They come partition by partition where the local view answers.
        """
        by_path: dict[str, list[str]] = {}
        for path, file_id in groups:
            by_path.setdefault(path, []).append(file_id)
        answer = self._asked(
            lambda: self._remote.look_up(groups, selection, are_there=are_there), len(by_path)
        )
        if answer is not None:
            return answer
        queries = [Query(selection, path, tuple(ids)) for path, ids in by_path.items()]
        return [found for each in queries for found in self._own().select(each)]

    def latest_slices(self, partition_path: str) -> Sequence[FileSlice]:
        """Return the newest state of each file group, by file id."""
        return self.select(Query(selection=Selection.MERGED, partition_path=partition_path))

    def close(self) -> None:
        """End the connection."""
        self._remote.close()

    def _asked(self, call: Callable[[], _Told], queries: int) -> _Told | None:
        """Return the remote answer, None where there is none; that is counted and logged."""
        if self._clock() >= self._down_until:
            try:
                return call()
            except ServiceUnreachableError as error:
                self._down_until = self._clock() + self._patience.rest
                _LOG.warning("the timeline service is not used, folders are listed: %s", error)
        self.fallbacks += queries
        return None

    def _own(self) -> FileSystemView:
        """Return the local view."""
        if self._local is None:
            self._local = self._make()
        return self._local


@contextmanager
def _reading() -> Iterator[None]:
    """Let an answer become slices; whatever cannot be read is no answer.

    Slices are tuples without cycles, of which the garbage collector could free none, and would look
    at them over and over while they become many: a fifth of the time of a large look-up. So it
    pauses meanwhile; who found it at rest leaves it so.
    """
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    except (AttributeError, CorruptFileError, TypeError, ValueError) as error:
        raise ServiceUnreachableError(f"the answer cannot be read: {error}") from error
    finally:
        if was_on:
            gc.enable()
