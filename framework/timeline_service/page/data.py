"""The page's data in JSON: `GET /v1/lakestrap/page/tables`, and below it by a table's id.

`…/tables` and `…/tables/<id>` take `offset` and `limit`; `…/tables/<id>/partitions` also takes
`like`, a substring of the path; `…/tables/<id>/slices` requires `partition`. Each response has a
`fingerprint`. A request with that as `known` gets `{"fingerprint": …, "same": true}` while nothing
has changed.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from threading import Lock
from types import MappingProxyType
from typing import Any, Final

from framework.timeline_service import messages
from framework.timeline_service.page.documents import Part
from framework.timeline_service.page.table_summary import TableSummary
from framework.timeline_service.tables import Tables

__all__ = ["PAGE_PREFIX", "PageData"]


PAGE_PREFIX: Final = "/v1/lakestrap/page/"
_TABLES: Final = "tables"
_USUAL: Final = 50
_READERS: Final = 2
_HEADERS: Final = (
    messages.JSON,
    (b"cache-control", b"no-store"),
    (b"x-content-type-options", b"nosniff"),
)


class PageData:
    """Handler of the page's requests.

    Args:
        tables: the served tables.
    """

    def __init__(self, tables: Tables) -> None:
        self._tables = tables
        self._pool = ThreadPoolExecutor(_READERS, thread_name_prefix="page-reading")
        self._summaries: dict[str, TableSummary] = {}
        self._lock = Lock()

    def answer(self, request: messages.Request) -> messages.Answer:
        """Answer one request below `PAGE_PREFIX`; it may take as long as listing a partition.

        Raises:
            RequestRefusedError: no such route, table or partition; another method than GET.
            FrameworkError: the table cannot be read.
        """
        if request.method not in {"GET", "HEAD"}:
            raise messages.RequestRefusedError(405, "this route requires GET")
        said = messages.parameters(request.query)
        return _answer(self._found(request.path, said), said.get("known", ""))

    def close(self) -> None:
        """Release threads and stop reading."""
        for each in self._summaries.values():
            each.close()
        self._pool.shutdown(wait=False, cancel_futures=True)

    def _found(self, path: str, said: Mapping[str, str]) -> dict[str, Any]:
        """Return the data of a path."""
        head, *rest = path.removeprefix(PAGE_PREFIX).rstrip("/").split("/")
        if head == _TABLES and not rest:
            return self._list(Part.of(said, _USUAL))
        handler = _OF_A_TABLE.get("/".join(rest[1:])) if head == _TABLES else None
        if handler is None:
            raise messages.RequestRefusedError(404, "there is no such route")
        return handler(self._table(rest[0]), said)

    def _list(self, part: Part) -> dict[str, Any]:
        """Return a part of the tables, by location."""
        every = self._tables.all()
        items = [self._table(each.id).in_short() for each in part.of_list(every)]
        return {"driver": self._tables.driver, **part.document(items, len(every))}

    def _table(self, id_: str) -> TableSummary:
        table = self._tables.by_id(id_)
        with self._lock:
            summary = self._summaries.get(id_)
            if summary is None or summary.table is not table:
                if summary is not None:
                    summary.close()
                summary = self._summaries[id_] = TableSummary(table, self._pool)
        return summary


def _full(table: TableSummary, said: Mapping[str, str]) -> dict[str, Any]:
    return table.in_full(Part.of(said, _USUAL))


def _partitions(table: TableSummary, said: Mapping[str, str]) -> dict[str, Any]:
    return table.counts.partitions(said.get("like", ""), Part.of(said, _USUAL))


def _slices(table: TableSummary, said: Mapping[str, str]) -> dict[str, Any]:
    if "partition" not in said:
        raise messages.RequestRefusedError(400, "partition is missing; it may be empty")
    return table.counts.slices(said["partition"], Part.of(said, _USUAL))


_OF_A_TABLE: Final[Mapping[str, Callable[[TableSummary, Mapping[str, str]], dict[str, Any]]]] = (
    MappingProxyType({"": _full, "partitions": _partitions, "slices": _slices})
)
"""The requests on a table, by the path after its id."""


def _answer(found: Mapping[str, Any], known: str) -> messages.Answer:
    """Return a response, or only `same` if the caller already has it."""
    text = json.dumps(found, ensure_ascii=False, separators=(",", ":"))
    fingerprint = hashlib.sha256(text.encode()).hexdigest()[:16]
    more = {"same": True} if fingerprint == known else found
    answer = {"fingerprint": fingerprint, **more}
    body = json.dumps(answer, ensure_ascii=False, separators=(",", ":")).encode()
    return messages.Answer(body=body, headers=_HEADERS)
