"""The service, independent of a server: access, table, freshness and route of a request."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from threading import Lock
from typing import Final

from framework.errors import FrameworkError
from framework.timeline_service.access import Access
from framework.timeline_service.hudi_routes import HUDI_PREFIX, Route, hudi_route
from framework.timeline_service.marker_routes import is_marker_route
from framework.timeline_service.messages import Answer, Request, RequestRefusedError, parameters
from framework.timeline_service.metrics import Metrics
from framework.timeline_service.own_routes import OWN_PREFIX, VERBS, question_of
from framework.timeline_service.tables import ServedTable, Tables

__all__ = ["Service"]

_QUICK_GROUPS: Final = 256
"""A larger partition is answered on a thread, so that others need not wait for it."""


@dataclass(frozen=True, slots=True)
class _Kept:
    """A cached response for one version of a table's view."""

    table: ServedTable
    version: int
    answer: Answer


class Service:
    """Answers requests about tables.

    Args:
        tables: the served tables.
        access: the access rules.
        kept_bytes: bound of the response cache.
        further: handlers of other routes by path prefix; the same access rules apply.

    Attributes:
        metrics: counters of the responses.
    """

    def __init__(
        self,
        tables: Tables,
        access: Access,
        *,
        kept_bytes: int = 8 << 20,
        further: Mapping[str, Callable[[Request], Answer]] | None = None,
    ) -> None:
        self.tables = tables
        self.access = access
        self.metrics = Metrics()
        self._further = dict(further or {})
        self._kept: OrderedDict[str, _Kept] = OrderedDict()
        self._kept_bound = kept_bytes
        self._kept_bytes = 0
        self._keeping = Lock()

    def quick(self, request: Request) -> Answer | None:
        """Answer without waiting; return None if `answer` must be called on a thread.

        It answers if the caller's timeline is the view's, no sync is in progress, and the partition
        is loaded.
        """
        kept = None
        if "fileid=" not in request.query:  # a single lookup is as fast as the cache
            kept = self._kept.get(f"{request.path}?{request.query}")
        if kept is not None and kept.version == kept.table.view.version:
            if self._refusal(request) is None:
                self.metrics.cached += 1
                return self._counted(request, kept.answer)
            return None
        return self._guarded(request, self._quick)

    def answer(self, request: Request) -> Answer:
        """Answer a request, waiting as long as needed."""
        found = self._guarded(request, self._slow)
        return found or Answer.of({"error": "there is no such route"}, status=404)

    def table_of(self, request: Request) -> ServedTable | None:
        """Return the table that a request queries, None if it queries none served here."""
        try:
            if request.path.startswith(OWN_PREFIX):
                return self.tables.by_id(_id_and_verb(request)[0])
            if not request.path.startswith(HUDI_PREFIX):
                return None
            return self.tables.by_path(parameters(request.query).get("basepath", ""))
        except RequestRefusedError:
            return None

    def _guarded(
        self, request: Request, answering: Callable[[Request], Answer | None]
    ) -> Answer | None:
        """Answer under the access rules; turn every error into a response."""
        try:
            self.access.check(request.headers)
            found = answering(request)
        except RequestRefusedError as refusal:
            found = refusal.answer()
        except FrameworkError as error:
            said = {"error": str(error), "condition": error.condition}
            found = Answer.of(said, status=500)
        return None if found is None else self._counted(request, found)

    def _quick(self, request: Request) -> Answer | None:
        """Answer one of Apache Hudi's routes if everything is loaded."""
        route = hudi_route(request.path)
        if route is None or request.method != "GET" or not route.syncs:
            return None
        said = parameters(request.query)
        table = self.tables.by_path(said.get("basepath", ""))
        path = said.get("partition")
        view = table.view
        if path is None or not view.lock.acquire(blocking=False):
            return None
        try:
            fresh = table.is_fresh(said.get("lastinstantts", ""), said.get("timelinehash", ""))
            if not fresh or not view.store.is_loaded(path):
                return None
            if "fileid" not in said and len(view.records(path)) > _QUICK_GROUPS:
                return None
            return self._answer(request, table, route, said)
        finally:
            view.lock.release()

    def _slow(self, request: Request) -> Answer | None:
        """Answer any route."""
        if request.path.startswith(OWN_PREFIX):
            return self._own(request)
        if not request.path.startswith(HUDI_PREFIX):
            return self._from_further(request)
        route = hudi_route(request.path)
        if route is None:
            return None
        if request.method != route.method:
            raise RequestRefusedError(405, f"this route requires {route.method}")
        said = parameters(request.query)
        table = self.tables.by_path(said.get("basepath", ""))
        if route.syncs and said.get("refreshoff", "") != "true":
            table.catch_up(said.get("lastinstantts", ""), said.get("timelinehash", ""))
        with table.view.lock:
            return self._answer(request, table, route, said)

    def _from_further(self, request: Request) -> Answer | None:
        """Answer a route of `further`, None if there is none."""
        for prefix, answering in self._further.items():
            if request.path.startswith(prefix):
                return answering(request)
        return None

    def _answer(
        self, request: Request, table: ServedTable, route: Route, said: dict[str, str]
    ) -> Answer:
        """Return the response of a route, and cache it if it is for a whole partition.

        The caller holds the view's lock.
        """
        version = table.view.version
        text = route.handler(table, said, request.body)
        answer = Answer(body=text.encode(), headers=table.headers)
        if _is_kept(request, said) and version == table.view.version:
            self._keep(f"{request.path}?{request.query}", _Kept(table, version, answer))
        return answer

    def _own(self, request: Request) -> Answer:
        """Answer one of our routes."""
        id_, verb = _id_and_verb(request)
        table = self.tables.by_id(id_)
        if verb not in VERBS:
            raise RequestRefusedError(404, "there is no such route")
        if request.method != "POST":
            raise RequestRefusedError(405, "this route requires POST")
        question = question_of(verb, request.body)
        table.answers[verb] += 1
        with table.view.lock:
            table.catch_up(question.instant or "", question.timeline or "")
            text = question.answer(table)
            return Answer(body=text.encode(), headers=table.headers)

    def _keep(self, target: str, kept: _Kept) -> None:
        """Cache a response, evicting the oldest ones."""
        size = _cost(target, kept)
        if size * 4 > self._kept_bound:
            return
        with self._keeping:
            before = self._kept.pop(target, None)
            self._kept_bytes += size - (_cost(target, before) if before else 0)
            self._kept[target] = kept
            while self._kept_bytes > self._kept_bound:
                self._kept_bytes -= _cost(*self._kept.popitem(last=False))

    def _refusal(self, request: Request) -> RequestRefusedError | None:
        """Return why a caller has no access, None if it has."""
        try:
            self.access.check(request.headers)
        except RequestRefusedError as refusal:
            return refusal
        return None

    def _counted(self, request: Request, answer: Answer) -> Answer:
        """Count a response."""
        self.metrics.count(_counted_as(request.path), answer.status)
        return answer


def _cost(target: str, kept: _Kept) -> int:
    """Return the bytes of a cached response with its request."""
    return len(target) + len(kept.answer.body)


@lru_cache(maxsize=256)
def _counted_as(path: str) -> str:
    """Return the counter name of a path; unknown paths share one."""
    if hudi_route(path) or is_marker_route(path):
        return path.rstrip("/")
    verb = path.rpartition("/")[2]
    return verb if verb in VERBS else "other"


def _id_and_verb(request: Request) -> tuple[str, str]:
    """Return the table's id and the verb in the path of one of our routes."""
    id_, _, verb = request.path.removeprefix(OWN_PREFIX).partition("/")
    return id_, verb


def _is_kept(request: Request, said: dict[str, str]) -> bool:
    """Return whether a response may be cached: the request names a timeline and no group."""
    return request.method == "GET" and "fileid" not in said and bool(said.get("timelinehash"))
