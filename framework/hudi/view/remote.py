"""The view of another process over HTTP, with a local fallback (RFC-03).

A response counts only if it names the same table and process, and exactly the caller's timeline.
Any other response, or none, means that the service is unreachable. Then the caller's own view of
the partition is used, as of the same instant.
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
_Result = TypeVar("_Result")


class ServiceUnreachableError(Exception):
    """The service gave no usable response; the message has the reason."""


class _FailingError(ServiceUnreachableError):
    """The service failed; a retry may succeed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceAddress:
    """The address of a table's view in a service, and its timeline; JSON-able, for tasks.

    Attributes:
        host: name or address.
        port: TCP port.
        token: the service's access token; "" if none.
        driver: id of the serving process.
        table: the table's id in the service.
        instant: last instant of the caller's timeline, "" if it is empty.
        timeline: hash of that timeline.
        seconds: timeout of one call.
        attempts: number of attempts per call.
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
    """Pauses of a caller.

    Attributes:
        pause: seconds before the second attempt; each further pause is twice as long.
        rest: seconds for which a failed service is not called again.
    """

    pause: float = 0.05
    rest: float = 30.0


class RemoteView:
    """A table's view as reported by a service. For one thread.

    Args:
        address: the service's address.
        patience: pauses between attempts.
    """

    def __init__(self, address: ServiceAddress, patience: Patience | None = None) -> None:
        self._address = address
        self._patience = patience or Patience()
        self._connection = ServiceConnection(address.host, address.port)

    def partitions(self) -> Iterator[str]:
        """Yield the partition paths by name at each level.

        Raises:
            ServiceUnreachableError: no usable response.
        """
        yield from map(str, self._call("partitions", {}))

    def select(self, query: Query) -> list[FileSlice]:
        """Return the slices that a query selects.

        Raises:
            ServiceUnreachableError: no usable response.
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
        """Return the slices of groups in any partitions, in their order, by one call.

        Args:
            groups: the groups' ids. A missing group has no result.
            selection: `LATEST` or `MERGED`.
            are_there: whether the caller knows that each group has a slice, so that a response
                without one is unusable.

        Raises:
            ServiceUnreachableError: no usable response.
        """
        paths, ids = zip(*groups, strict=True) if groups else ((), ())
        said = {"selection": selection, "partitions": paths, "file_ids": ids}
        found = self._call("look-up", said)
        if len(found) != len(groups):
            raise ServiceUnreachableError("the response has another number of groups")
        if are_there and None in found:
            raise ServiceUnreachableError("the response lacks existing groups")
        with _reading():
            return [
                decode_slice(group, record)
                for group, record in zip(groups, found, strict=True)
                if record is not None
            ]

    def latest_slices(self, partition_path: str) -> Sequence[FileSlice]:
        """Return the newest state of each file group, by file id.

        Raises:
            ServiceUnreachableError: no usable response.
        """
        return self.select(Query(selection=Selection.MERGED, partition_path=partition_path))

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()

    def _call(self, verb: str, said: dict[str, Any]) -> list[Any]:
        """Return the list that a route returns; retry after a pause."""
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
        raise ServiceUnreachableError("no attempts are allowed")

    def _used(self, reply: Reply) -> list[Any]:
        """Return the content of a usable reply.

        Raises:
            ServiceUnreachableError: it is not usable.
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
            raise ServiceUnreachableError("the response is not JSON") from error
        if not isinstance(found, list):
            raise ServiceUnreachableError("the response is not a list")
        return found


class FallbackView:
    """A remote view with a local fallback. For one thread.

    Args:
        remote: used first.
        local: creates the fallback view, as of the same timeline; called once, when needed.
        patience: how long the remote view is not used after a failure.
        clock: monotonic clock in seconds.

    Attributes:
        fallbacks: queries answered by the local view, one for each partition of a lookup.
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
        """Return the slices that a query selects."""
        found = self._asked(lambda: self._remote.select(query), 1)
        return self._own().select(query) if found is None else found

    def look_up(
        self,
        groups: Sequence[FileGroupId],
        selection: Selection = Selection.MERGED,
        *,
        are_there: bool = False,
    ) -> Sequence[FileSlice]:
        """Return the slices of groups in any partitions, as in `RemoteView.look_up`.

        The local view returns them partition by partition.
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
        """Close the connection."""
        self._remote.close()

    def _asked(self, call: Callable[[], _Result], queries: int) -> _Result | None:
        """Return the remote result, or None after counting and logging a failure."""
        if self._clock() >= self._down_until:
            try:
                return call()
            except ServiceUnreachableError as error:
                self._down_until = self._clock() + self._patience.rest
                _LOG.warning("the timeline service is not used, folders are listed: %s", error)
        self.fallbacks += queries
        return None

    def _own(self) -> FileSystemView:
        if self._local is None:
            self._local = self._make()
        return self._local


@contextmanager
def _reading() -> Iterator[None]:
    """Decode a response into slices; an unreadable response counts as unreachable.

    Slices are tuples without cycles. The garbage collector cannot free any, but would scan them
    repeatedly as they grow, a fifth of the time of a large lookup. So it is disabled meanwhile, and
    stays off if it was off before.
    """
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    except (AttributeError, CorruptFileError, TypeError, ValueError) as error:
        raise ServiceUnreachableError(f"the response cannot be read: {error}") from error
    finally:
        if was_on:
            gc.enable()
