"""Our routes: many groups in one call, answered by the records that the view holds.

`POST /v1/lakestrap/tables/<id>/look-up` takes `{"instant", "timeline", "selection", "partitions",
"file_ids"}`, of which the selection is `latest` or `merged`, and the last two are lists of equal
length that name file groups. It answers with one list: of each group the record of its slice, or
null where it has none. A record is `encode_slice`'s.

`…/select` takes a whole query, `{"instant", "timeline", "query": {"selection", "partition_path",
"file_ids", "instant", "instants", "include_pending"}}`, and answers with one list, of partition
path, file id and record in turn. `…/partitions` answers with the partition paths.
"""

from __future__ import annotations

import json
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, TypeGuard

from framework.hudi.filegroup.group import encode_slice, slice_instant
from framework.hudi.view.port import Query, Selection
from framework.timeline_service.messages import RequestRefusedError, inside_table

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from framework.timeline_service.tables import ServedTable

__all__ = ["OWN_PREFIX", "VERBS", "claims_of"]

OWN_PREFIX: Final = "/v1/lakestrap/tables/"
_OF_ONE_SLICE: Final = frozenset({Selection.MERGED, Selection.LATEST})
_list: Final = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode


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
    return _list(tuple(table.view.partitions()))


def _look_up(table: ServedTable, said: dict[str, Any]) -> str:
    """Return the slices of named groups; that of a plain one is the group's record as it is.

    Raises:
        RequestRefusedError: 400.
    """
    selection, paths, ids = _selection(said), said.get("partitions"), said.get("file_ids")
    if selection not in _OF_ONE_SLICE:
        raise RequestRefusedError(400, "a look-up is of the latest or the merged slice")
    if not (_are_texts(paths) and _are_texts(ids) and len(paths) == len(ids)):
        raise RequestRefusedError(400, "a look-up has as many partitions as file ids, all texts")
    view = table.view
    done = view.facts.timeline.is_completed
    answer: list[str | None] = []
    for path, id_ in zip(paths, ids, strict=True):
        record = view.record(inside_table(path), id_)
        text = None if record is None else record.decode()
        instant = None if text is None else slice_instant(text)
        if text and (instant is None or not done(instant) or view.is_special(path, id_)):
            found = view.select(Query(selection, path, (id_,)))
            text = encode_slice(found[0]) if found else None
        answer.append(text)
    return _list(answer)


def _select(table: ServedTable, said: dict[str, Any]) -> str:
    """Return the answer to any query.

    Raises:
        RequestRefusedError: 400.
    """
    found = table.view.select(_query(said.get("query")))
    return _list([text for each in found for text in (*each.group, encode_slice(each))])


def _query(said: Any) -> Query:
    """Return the query of a call.

    Raises:
        RequestRefusedError: 400.
    """
    if not isinstance(said, dict):
        raise RequestRefusedError(400, "the body has no query")
    path, ids, bound = said.get("partition_path"), said.get("file_ids"), said.get("instant")
    instants = said.get("instants") or []
    texts = [each for each in (path, bound) if each is not None]
    if not (_are_texts(texts) and _are_texts(ids or []) and _are_texts(instants)):
        raise RequestRefusedError(400, "partition, file ids and instants of a query are texts")
    return Query(
        selection=_selection(said),
        partition_path=None if path is None else inside_table(path),
        file_ids=None if ids is None else tuple(ids),
        instant=bound,
        instants=frozenset(instants),
        include_pending=bool(said.get("include_pending")),
    )


def _selection(said: dict[str, Any]) -> Selection:
    """Return which slices are asked for.

    Raises:
        RequestRefusedError: 400.
    """
    try:
        return Selection(said["selection"])
    except (KeyError, ValueError) as error:
        raise RequestRefusedError(400, f"no selection: {error!r}") from error


def _are_texts(found: Any) -> TypeGuard[list[str]]:
    """Return whether it is a list of texts."""
    return isinstance(found, list) and set(map(type, found)) <= {str}


VERBS: Final[Mapping[str, Callable[[ServedTable, dict[str, Any]], str]]] = MappingProxyType(
    {"look-up": _look_up, "select": _select, "partitions": _partitions}
)
"""What may be asked of a table, by the last part of the path."""
