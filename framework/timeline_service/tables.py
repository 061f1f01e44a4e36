"""The tables of a service, and the freshness of their views compared with callers.

Every call names the last instant and the hash of its sender's timeline. If the hash differs from
ours, the view syncs once, under its lock. Afterwards either we have caught up, or the caller is
behind, which is remembered. A caller without a hash costs a sync each time. A view that still lacks
the caller's last instant is never used to answer.
"""

from __future__ import annotations

import hashlib
import secrets
from collections import Counter, OrderedDict
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Final
from urllib.parse import unquote

from framework.errors import PlanError
from framework.hudi.storage.object_uri import is_object_uri, parse_object_uri
from framework.hudi.timeline.timeline import Timeline, timeline_hash, timeline_hashes
from framework.hudi.view.incremental import IncrementalView
from framework.timeline_service.dto import Places
from framework.timeline_service.messages import JSON, Headers, RequestRefusedError

__all__ = ["ServedTable", "Tables", "table_id"]

_EMPTY: Final = "0"
"""The value sent by a client without an instant."""
_REMEMBERED: Final = 1_000
_LONGEST_CLAIM: Final = 256
"""Limit of a hash, since hashes of callers that are behind are remembered."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Claims:
    """The timeline of one view version, with which callers are compared.

    Attributes:
        version: the view's version.
        hashes: the timeline's hashes, in all variants.
        times: times of its instants.
        first: its first instant, None if it is empty.
        headers: headers of every response.
        behind: hashes of callers known to be behind.
    """

    version: int
    hashes: frozenset[str]
    times: frozenset[str]
    first: str | None
    headers: Headers
    behind: OrderedDict[str, None] = field(default_factory=OrderedDict)


class ServedTable:
    """A table with its view.

    Attributes:
        id: its id in our routes.
        view: its view.
        places: spelling of its file locations.
        location: its location.
        answers: number of responses by route.
    """

    def __init__(self, *, id_: str, location: str, view: IncrementalView, driver: str) -> None:
        self.id = id_
        self.location = location
        self.view = view
        self.places = Places(_plain_path(location))
        self.answers: Counter[str] = Counter()
        self._driver = driver
        self._claims: _Claims | None = None

    @property
    def headers(self) -> Headers:
        """Headers of every response: JSON, table, driver, instant and timeline."""
        return self._current().headers

    def is_fresh(self, last_instant: str, hash_: str) -> bool:
        """Return whether the view can answer this caller without a sync."""
        claims = self._claims
        if claims is None or claims.version != self.view.version:
            return False
        return (hash_ in claims.hashes and self._has(claims, last_instant)) or (
            hash_ in claims.behind
        )

    def catch_up(self, last_instant: str, hash_: str) -> None:
        """Sync the view if the caller's timeline differs; concurrent callers share one sync.

        Raises:
            RequestRefusedError: 400; the caller has an instant that the table lacks.
            CorruptFileError, StorageError: the timeline cannot be read.
        """
        if len(last_instant) > _LONGEST_CLAIM or len(hash_) > _LONGEST_CLAIM:
            raise RequestRefusedError(400, "the instant or the timeline hash is too long")
        with self.view.lock:
            if self.is_fresh(last_instant, hash_):
                return
            self.view.sync()
            claims = self._current()
            if not self._has(claims, last_instant):
                last = self.view.facts.timeline.last_requested_time
                raise RequestRefusedError(
                    400,
                    f"Last known instant from client was {last_instant} but server has the "
                    f"following last instant: {last}",
                )
            if hash_ and hash_ not in claims.hashes:
                claims.behind[hash_] = None
                if len(claims.behind) > _REMEMBERED:
                    claims.behind.popitem(last=False)

    def _current(self) -> _Claims:
        """Return the claims of the view's current version."""
        claims = self._claims
        if claims is None or claims.version != self.view.version:
            with self.view.lock:
                facts = self.view.facts
                claims = self._claims = self._claims_of(facts.timeline, self.view.version)
        return claims

    def _claims_of(self, timeline: Timeline, version: int) -> _Claims:
        times = frozenset(each.requested_time for each in timeline.instants)
        said = {
            b"x-lakestrap-table": self.id,
            b"x-lakestrap-driver": self._driver,
            b"x-lakestrap-instant": timeline.last_requested_time or _EMPTY,
            b"x-lakestrap-timeline": timeline_hash(timeline),
        }
        return _Claims(
            version=version,
            hashes=timeline_hashes(timeline),
            times=times,
            first=min(times, default=None),
            headers=(JSON, *((name, value.encode()) for name, value in said.items())),
        )

    @staticmethod
    def _has(claims: _Claims, last_instant: str) -> bool:
        """Return whether the caller's last instant is on the timeline, or before its start."""
        if last_instant in ("", _EMPTY) or last_instant in claims.times:
            return True
        return claims.first is not None and last_instant < claims.first


def table_id(location: str) -> str:
    """Return the id of a served table, independent of its location's spelling."""
    return hashlib.sha256(_plain_path(location).encode()).hexdigest()[:16]


class Tables:
    """The registered tables, by id and by base path.

    Attributes:
        driver: identifies this process in every response.
    """

    def __init__(self) -> None:
        self.driver = secrets.token_hex(8)
        self._by_id: dict[str, ServedTable] = {}
        self._by_path: dict[str, ServedTable] = {}

    def register(self, location: str, view: IncrementalView) -> ServedTable:
        """Serve a table; registering a location again replaces its view."""
        path, id_ = _plain_path(location), table_id(location)
        table = ServedTable(id_=id_, location=location, view=view, driver=self.driver)
        self._by_id[id_] = self._by_path[path] = table
        return table

    def all(self) -> tuple[ServedTable, ...]:
        """Return the tables by location."""
        return tuple(sorted(self._by_id.values(), key=lambda each: each.location))

    def find(self, location: str) -> ServedTable | None:
        """Return the table at a location, None if it is not served."""
        return self._by_path.get(_plain_path(location))

    def by_id(self, id_: str) -> ServedTable:
        """Return a table.

        Raises:
            RequestRefusedError: 404.
        """
        found = self._by_id.get(id_)
        if found is None:
            raise RequestRefusedError(404, "no table of this id is served here")
        return found

    def by_path(self, base_path: str) -> ServedTable:
        """Return the table of a base path, as Apache Hudi spells it.

        Raises:
            RequestRefusedError: 404.
        """
        found = self._by_path.get(base_path) or self._by_path.get(_plain_path(base_path))
        if found is None:
            raise RequestRefusedError(404, "no table at this base path is served here")
        return found

    def close(self) -> None:
        """Close all views."""
        for each in self.all():
            each.view.close()
        self._by_id.clear()
        self._by_path.clear()


def _plain_path(location: str) -> str:
    """Return the canonical spelling: no scheme of local files, `s3a:` for S3, no trailing slash."""
    if location.startswith("file:"):
        location = "/" + unquote(location.removeprefix("file:")).lstrip("/")
    if is_object_uri(location):
        with suppress(PlanError):  # such a location is never that of a table
            return str(parse_object_uri(location))
    return location.rstrip("/") or "/"
