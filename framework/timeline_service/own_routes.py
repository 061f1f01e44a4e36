"""Our routes: many questions in one call, answered by the records that the view holds.

`POST /v1/lakestrap/tables/<id>/select` takes `{"instant", "timeline", "queries": [{"selection",
"instant", "instants", "include_pending", "groups": [[partition, file_ids], …]}]}` and answers with
one list for each of the groups, of file id and record in turn; a record is `encode_slice`'s.
File ids of null ask for all groups. A partition of null asks for all of them; then the list is of
partition, file id and record in turn. `…/partitions` takes the first two and answers with the
partition paths.
"""

from __future__ import annotations

import json
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, TypeAlias, TypeGuard

from framework.hudi.filegroup.group import PlainRecord, encode_slice
from framework.hudi.table.layout import BOOTSTRAP_INSTANT
from framework.hudi.view.port import Query, Selection
from framework.timeline_service.messages import RequestRefusedError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from framework.hudi.filegroup.slices import FileSlice
    from framework.timeline_service.tables import ServedTable

__all__ = ["OWN_PREFIX", "VERBS", "claims_of"]

OWN_PREFIX: Final = "/v1/lakestrap/tables/"
_Group: TypeAlias = tuple[str | None, list[str] | None]
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
    asked = [_read(each) for each in queries]
    with table.view.lock:
        answers = [answer for each in asked for answer in _answers(table, *each)]
    return json.dumps(answers, ensure_ascii=False, separators=(",", ":"))


def _read(said: Any) -> tuple[Query, list[_Group]]:
    """Return one query, and the partitions and groups that it is about.

    Raises:
        RequestRefusedError: 400.
    """
    try:
        query = Query(
            selection=Selection(said["selection"]),
            instant=said.get("instant"),
            instants=frozenset(said.get("instants") or ()),
            include_pending=bool(said.get("include_pending")),
        )
        groups = [_group(*each) for each in said["groups"]]
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise RequestRefusedError(400, f"a query cannot be read: {error!r}") from error
    return query, groups


def _group(path: Any, ids: Any) -> _Group:
    """Return a partition and file ids in it.

    Raises:
        TypeError: they are something else.
    """
    is_path = path is None or isinstance(path, str)
    if not is_path or not (ids is None or isinstance(ids, list)):
        raise TypeError(path, ids)
    for each in ids or ():
        if not isinstance(each, str):
            raise TypeError(each)
    return path, ids


def _answers(table: ServedTable, query: Query, groups: list[_Group]) -> Iterator[list[str]]:
    """Yield the answers to one query, one for each of its partitions."""
    is_plain = query.selection in _PLAIN and query.instant is None
    for path, ids in groups:
        if is_plain and path is not None:
            yield _plain_answer(table, query.selection, path, ids)
            continue
        form = _with_path if path is None else _without_path
        asked = None if ids is None else tuple(ids)
        one = query._replace(partition_path=path, file_ids=asked)
        yield [text for each in table.view.select(one) for text in form(each)]


def _plain_answer(
    table: ServedTable, selection: Selection, path: str, ids: Sequence[str] | None
) -> list[str]:
    """Return the latest slices of a partition's groups; plain groups give their record as it is."""
    view = table.view
    done = view.facts.timeline.is_completed
    records = view.records(path, ids)
    answer: list[str] = []
    for file_id in sorted(records):
        text = records[file_id].decode()
        plain = PlainRecord.parse(text)
        if _is_slice(plain) and done(plain.instant) and not view.is_special(path, file_id):
            answer += (file_id, text)
        else:
            one = Query(selection=selection, partition_path=path, file_ids=(file_id,))
            answer += [part for each in view.select(one) for part in _without_path(each)]
    return answer


def _without_path(found: FileSlice) -> tuple[str, str]:
    """Return a slice as an answer about one partition has it."""
    return found.group.file_id, encode_slice(found)


def _with_path(found: FileSlice) -> tuple[str, str, str]:
    """Return a slice as an answer about all partitions has it."""
    return found.group.partition_path, *_without_path(found)


def _is_slice(plain: PlainRecord | None) -> TypeGuard[PlainRecord]:
    """Return whether a group's record is that of its slice: one file, a source where it has one."""
    return plain is not None and (plain.source is None or plain.instant == BOOTSTRAP_INSTANT)


VERBS: Final[Mapping[str, Callable[[ServedTable, dict[str, Any]], str]]] = MappingProxyType(
    {"select": _select, "partitions": _partitions}
)
"""What may be asked of a table, by the last part of the path."""
