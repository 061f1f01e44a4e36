"""Our routes: many groups in one call, answered from the view's records.

`POST /v1/lakestrap/tables/<id>/look-up` takes `{"instant", "timeline", "selection", "partitions",
"file_ids"}`. The selection is `latest` or `merged`; the last two are lists of equal length that
name file groups. It returns one list with each group's slice record (`encode_slice`), or null if it
has none.

`…/select` takes a whole query, `{"instant", "timeline", "query": {"selection", "partition_path",
"file_ids", "instant", "instants", "include_pending"}}`, and returns one list of partition path,
file id and record in turn. `…/partitions` returns the partition paths.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

import msgspec

from framework.hudi.filegroup.group import encode_slice, slice_instant
from framework.hudi.view.port import Query, Selection
from framework.timeline_service.messages import RequestRefusedError, decoded, inside_table
from framework.timeline_service.tables import ServedTable

__all__ = ["OWN_PREFIX", "VERBS", "Question", "question_of"]

OWN_PREFIX: Final = "/v1/lakestrap/tables/"
_OF_ONE_SLICE: Final = frozenset({Selection.MERGED, Selection.LATEST})
_list: Final = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode


class Question(msgspec.Struct, frozen=True):
    """A request for the partition paths of a table; the base of the other requests.

    Attributes:
        instant: last instant of the sender's timeline.
        timeline: hash of the sender's timeline.
    """

    instant: str | None = None
    timeline: str | None = None

    def answer(self, table: ServedTable) -> str:
        """Return the response's JSON; the caller holds the view's lock."""
        return _list(tuple(table.view.partitions()))


class _LookUp(Question, frozen=True, kw_only=True):
    """A request for the slices of groups; a plain group's slice record is its own record."""

    selection: Selection
    partitions: list[str]
    file_ids: list[str]

    def answer(self, table: ServedTable) -> str:
        """Return the response's JSON.

        Raises:
            RequestRefusedError: 400.
        """
        if self.selection not in _OF_ONE_SLICE:
            raise RequestRefusedError(400, "a look-up returns the latest or the merged slice")
        if len(self.partitions) != len(self.file_ids):
            raise RequestRefusedError(400, "a look-up needs as many partitions as file ids")
        view = table.view
        done = view.facts.timeline.is_completed
        answer: list[str | None] = []
        for path, id_ in zip(self.partitions, self.file_ids, strict=True):
            record = view.record(inside_table(path), id_)
            text = None if record is None else record.decode()
            instant = None if text is None else slice_instant(text)
            if text and (instant is None or not done(instant) or view.is_special(path, id_)):
                found = view.select(Query(self.selection, path, (id_,)))
                text = encode_slice(found[0]) if found else None
            answer.append(text)
        return _list(answer)


class _Asked(msgspec.Struct, frozen=True):
    """A `Query` in JSON."""

    selection: Selection
    partition_path: str | None = None
    file_ids: tuple[str, ...] | None = None
    instant: str | None = None
    instants: frozenset[str] = frozenset()
    include_pending: bool = False


class _Select(Question, frozen=True, kw_only=True):
    """A request for any query."""

    query: _Asked

    def answer(self, table: ServedTable) -> str:
        """Return the response's JSON.

        Raises:
            RequestRefusedError: 400.
        """
        query = Query(**msgspec.structs.asdict(self.query))
        if query.partition_path is not None:
            inside_table(query.partition_path)
        found = table.view.select(query)
        return _list([text for each in found for text in (*each.group, encode_slice(each))])


VERBS: Final[Mapping[str, msgspec.json.Decoder[Question]]] = MappingProxyType(
    {
        "look-up": msgspec.json.Decoder(_LookUp),
        "select": msgspec.json.Decoder(_Select),
        "partitions": msgspec.json.Decoder(Question),
    }
)
"""The requests on a table, by the last part of the path."""


def question_of(verb: str, body: bytes) -> Question:
    """Decode the body of a call.

    Args:
        verb: one of `VERBS`.
        body: the call's body.

    Raises:
        RequestRefusedError: 400.
    """
    return decoded(body, VERBS[verb])
