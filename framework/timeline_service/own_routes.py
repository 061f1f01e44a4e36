"""Our routes: many questions in one call, answered by the records that the view holds.

`POST /v1/lakestrap/tables/<id>/select` takes `{"instant", "timeline", "queries": [{"selection",
"partition", "file_ids", "instant", "instants", "include_pending"}]}` and answers with one list per
query, of `[partition, file_id, record]`, where the record is `encode_slice`'s. `…/partitions` takes
the first two and answers with the partition paths.
"""

from __future__ import annotations

import json
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, TypeGuard

from framework.hudi.filegroup.group import PlainRecord, encode_slice
from framework.hudi.table.layout import BOOTSTRAP_INSTANT
from framework.hudi.view.port import Query, Selection
from framework.timeline_service.messages import RequestRefusedError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from framework.timeline_service.tables import ServedTable

__all__ = ["OWN_PREFIX", "VERBS", "claims_of"]

OWN_PREFIX: Final = "/v1/lakestrap/tables/"
_PLAIN: Final = frozenset({Selection.MERGED, Selection.LATEST})


def claims_of(body: bytes) -> tuple[dict[str, Any], str, str]:
    """Return what a call's body says, and its sender's last instant and timeline hash.

    Raises:
        RequestRefusedError: 400.
    """
    try:
        said = json.loads(body)
    except ValueError as error:
        raise RequestRefusedError(400, "the body is no JSON") from error
    if not isinstance(said, dict):
        raise RequestRefusedError(400, "the body is no object")
    return said, str(said.get("instant") or ""), str(said.get("timeline") or "")


def _partitions(table: ServedTable, _: dict[str, Any]) -> str:
    """Return the partition paths of the table."""
    return json.dumps(list(table.view.partitions()), ensure_ascii=False)


def _select(table: ServedTable, said: dict[str, Any]) -> str:
    """Return the answers to all queries of a call, as of one timeline.

    Raises:
        RequestRefusedError: 400.
    """
    queries = said.get("queries")
    if not isinstance(queries, list):
        raise RequestRefusedError(400, "the body has no list of queries")
    with table.view.lock:
        answers = [list(_answer(table, _query(each))) for each in queries]
    return json.dumps(answers, ensure_ascii=False, separators=(",", ":"))


def _query(said: Any) -> Query:
    """Return one query.

    Raises:
        RequestRefusedError: 400.
    """
    try:
        ids = said.get("file_ids")
        return Query(
            selection=Selection(said["selection"]),
            partition_path=said.get("partition"),
            file_ids=None if ids is None else tuple(ids),
            instant=said.get("instant"),
            instants=frozenset(said.get("instants") or ()),
            include_pending=bool(said.get("include_pending")),
        )
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise RequestRefusedError(400, f"a query cannot be read: {error!r}") from error


def _answer(table: ServedTable, query: Query) -> Iterator[tuple[str, str, str]]:
    """Yield the slices of one query; plain groups give their record as it is."""
    path = query.partition_path
    if path is None or query.selection not in _PLAIN or query.instant is not None:
        yield from _selected(table, query)
        return
    view = table.view
    done = view.facts.timeline.is_completed
    for file_id, record in sorted(view.records(path, query.file_ids).items()):
        text = record.decode()
        plain = PlainRecord.parse(text)
        if _is_slice(plain) and done(plain.instant) and not view.is_special(path, file_id):
            yield path, file_id, text
        else:
            one = Query(selection=query.selection, partition_path=path, file_ids=(file_id,))
            yield from _selected(table, one)


def _selected(table: ServedTable, query: Query) -> Iterator[tuple[str, str, str]]:
    """Yield the slices of a query, made one by one."""
    for each in table.view.select(query):
        yield each.group.partition_path, each.group.file_id, encode_slice(each)


def _is_slice(plain: PlainRecord | None) -> TypeGuard[PlainRecord]:
    """Return whether a group's record is that of its slice: one file, a source where it has one."""
    return plain is not None and (plain.source is None or plain.instant == BOOTSTRAP_INSTANT)


VERBS: Final[Mapping[str, Callable[[ServedTable, dict[str, Any]], str]]] = MappingProxyType(
    {"select": _select, "partitions": _partitions}
)
"""What may be asked of a table, by the last part of the path."""
