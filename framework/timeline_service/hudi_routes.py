"""Apache Hudi's routes as a table: the query and response form of each (section 9.4)."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

import msgspec

from framework.hudi.timeline.instant import COMPACTIONS, DATA_ACTIONS, LATEST, Instant
from framework.hudi.timeline.timeline import instants_hash
from framework.hudi.view.known import Known
from framework.hudi.view.port import Query, Selection
from framework.timeline_service import dto
from framework.timeline_service.messages import RequestRefusedError, decoded, inside_table
from framework.timeline_service.tables import ServedTable

Parameters = Mapping[str, str]
Handler = Callable[[ServedTable, Parameters, bytes], str]

__all__ = ["HUDI_PREFIX", "Route", "hudi_route"]

HUDI_PREFIX: Final = "/v1/hoodie/view/"
_PATHS: Final = msgspec.json.Decoder(list[str])
_PLAIN: Final = frozenset({Selection.LATEST, Selection.MERGED})


@dataclass(frozen=True, slots=True)
class Route:
    """One route.

    Attributes:
        method: HTTP method; routes that change the service's state are `POST`.
        handler: returns the response's JSON.
        syncs: whether the caller's timeline is first compared with ours.
    """

    method: str
    handler: Handler
    syncs: bool = True


def hudi_route(path: str) -> Route | None:
    """Return the route of a path, with or without a trailing slash, or None."""
    found = _ROUTES.get(path)
    return _ROUTES.get(path.removeprefix(HUDI_PREFIX).rstrip("/")) if found is None else found


def _needed(parameters: Parameters, name: str) -> str:
    """Return a required parameter.

    Raises:
        RequestRefusedError: 400.
    """
    value = parameters.get(name)
    if not value:
        raise RequestRefusedError(400, f"the parameter {name} is missing")
    return value


def _partition(parameters: Parameters) -> str:
    """Return the partition path of a call; `""` if it has none."""
    return inside_table(parameters.get("partition", "").strip("/"))


def _query(selection: Selection, parameters: Parameters, *needs: str) -> Query:
    """Return the query of a call; `needs` names its parameters."""
    bound = next((name for name in needs if name.endswith("instant")), None)
    listed = _needed(parameters, "instants").split(",") if "instants" in needs else ()
    return Query(
        selection=selection,
        partition_path=_partition(parameters) if "partition" in needs else None,
        file_ids=(_needed(parameters, "fileid"),) if "fileid" in needs else None,
        instant=_needed(parameters, bound) if bound else None,
        instants=frozenset(listed),
        include_pending=parameters.get("includependingcompaction", "").lower() == "true",
    )


def _slices(selection: Selection, *needs: str) -> Route:
    """Return a route whose response is a list of file slices."""

    def handler(table: ServedTable, parameters: Parameters, _: bytes) -> str:
        query = _query(selection, parameters, *needs)
        if selection in _PLAIN and query.partition_path is not None:
            return _list(_latest_slices(table, query.partition_path, query))
        return _list(dto.file_slice(each, table.places) for each in table.view.select(query))

    return Route("GET", handler)


def _latest_slices(table: ServedTable, path: str, query: Query) -> Iterator[str]:
    """Yield the latest slices of a partition, with a fast path for plain groups."""
    view = table.view
    timeline, end = view.facts.timeline, query.instant or LATEST

    def counts(instant: str) -> bool:
        return instant <= end and timeline.is_completed(instant)

    for file_id, record in sorted(view.records(path, query.file_ids).items()):
        text = _plain_text(table, (path, file_id), record, counts)
        if text is not None:
            yield text
            continue
        one = query._replace(file_ids=(file_id,))
        yield from (dto.file_slice(each, table.places) for each in view.select(one))


def _plain_text(
    table: ServedTable, group: tuple[str, str], record: bytes, counts: Callable[[str], bool]
) -> str | None:
    """Return the latest slice of a plain group by the fast path, None for other groups."""
    if table.view.is_special(*group):
        return None
    return dto.plain_slice(group, record, table.places, counts)


def _bases(selection: Selection, *needs: str) -> Route:
    """Return a route whose response is a list of base files."""

    def handler(table: ServedTable, parameters: Parameters, _: bytes) -> str:
        found = table.view.select(_query(selection, parameters, *needs))
        return _list(dto.base_file(each, table.places) for each in found)

    return Route("GET", handler)


def _groups(selection: Selection, *needs: str) -> Route:
    """Return a route whose response is a list of file groups."""

    def handler(table: ServedTable, parameters: Parameters, _: bytes) -> str:
        with table.view.lock:
            found = table.view.select(_query(selection, parameters, *needs))
            return dto.file_groups(found, table.places, _known(table))

    return Route("GET", handler)


def _by_partition(selection: Selection, form: Callable[..., str]) -> Route:
    """Return a route whose response lists, per partition, each slice in `form`."""

    def handler(table: ServedTable, parameters: Parameters, _: bytes) -> str:
        query = _query(selection, {"includependingcompaction": "true", **parameters}, "maxinstant")
        with table.view.lock:
            parts: dict[str, list[str]] = {path: [] for path in table.view.partitions()}
            for each in table.view.select(query):
                parts[each.group.partition_path].append(form(each, table.places))
        texts = (f"{json.dumps(path)}:{_list(found)}" for path, found in parts.items())
        return f"{{{','.join(texts)}}}"

    return Route("GET", handler)


def _single_slice(table: ServedTable, parameters: Parameters, body: bytes) -> str:
    """Return the latest slice of one group, without a `Query`: writers call this most."""
    group = _partition(parameters), _needed(parameters, "fileid")
    record = table.view.record(*group)
    if record is None:
        return "[]"
    text = _plain_text(table, group, record, table.view.facts.timeline.is_completed)
    return _ANY_SINGLE.handler(table, parameters, body) if text is None else f"[{text}]"


_ANY_SINGLE: Final = _slices(Selection.LATEST, "partition", "fileid")


def _list(texts: Iterable[str]) -> str:
    """Return a JSON list."""
    return f"[{','.join(texts)}]"


def _known(table: ServedTable) -> Known:
    """Return the files of a view's timeline; the caller holds the lock."""
    timeline = table.view.facts.timeline
    return table.view.known or Known(files={}, timeline=timeline)


def _writes(known: Known) -> Sequence[Instant]:
    """Return the instants of Apache Hudi's view: completed writes, pending compactions."""
    return [
        each
        for each in known.timeline.instants
        if each.action in DATA_ACTIONS and (each.is_completed or each.action in COMPACTIONS)
    ]


def _last_instant(table: ServedTable, _: Parameters, __: bytes) -> str:
    """Return the last instant of the view's timeline, as a list."""
    with table.view.lock:
        known = _known(table)
        return _list(dto.instant_json(known, each) for each in _writes(known)[-1:])


def _timeline(table: ServedTable, _: Parameters, __: bytes) -> str:
    """Return the view's timeline."""
    with table.view.lock:
        known = _known(table)
        return dto.timeline_json(known, _writes(known))


def _hash(table: ServedTable, _: Parameters, __: bytes) -> str:
    """Return the hash of the view's timeline."""
    with table.view.lock:
        return json.dumps(instants_hash(_writes(_known(table))))


def _compactions(table: ServedTable, _: Parameters, __: bytes) -> str:
    """Return pending compactions."""
    return dto.compaction_operations(table.view.facts.compactions.values())


def _log_compactions(table: ServedTable, _: Parameters, __: bytes) -> str:
    """Return pending log compactions."""
    return dto.compaction_operations(table.view.facts.log_compactions.values())


def _clusterings(table: ServedTable, _: Parameters, __: bytes) -> str:
    """Return file groups under pending clustering."""
    return dto.clustering_operations(table.view.facts.pending_clusterings)


def _refresh(table: ServedTable, _: Parameters, __: bytes) -> str:
    """Sync the view."""
    table.view.sync()
    return "true"


def _close(_: ServedTable, __: Parameters, ___: bytes) -> str:
    """Do nothing: a client closes only its own view."""
    return "true"


def _load_all(table: ServedTable, _: Parameters, __: bytes) -> str:
    """Load every partition."""
    for path in list(table.view.partitions()):
        table.view.records(path)
    return "true"


def _load(table: ServedTable, parameters: Parameters, body: bytes) -> str:
    """Load some partitions: a JSON list in the body, or a comma list in the query."""
    paths = decoded(body, _PATHS) if body else parameters.get("partitions", "").split(",")
    for path in paths:
        table.view.records(_partition({"partition": path}))
    return "true"


_REPLACED = "filegroups/replaced"
_VIEW: Final[dict[str, Route]] = {
    "slices/partition/latest": _slices(Selection.LATEST, "partition"),
    "slices/partition/latest/inflight": _slices(Selection.LATEST, "partition"),
    "slices/partition/latest/stateless": _slices(Selection.LATEST, "partition"),
    "slices/file/latest": Route("GET", _single_slice),
    "slices/uncompacted/partition/latest": _slices(Selection.UNCOMPACTED, "partition"),
    "slices/all": _slices(Selection.ALL, "partition"),
    "slices/merged/beforeoron/latest": _slices(Selection.MERGED, "partition", "maxinstant"),
    "slice/merged/beforeoron/latest": _slices(
        Selection.MERGED, "partition", "maxinstant", "fileid"
    ),
    "slices/range/latest": _slices(Selection.IN_RANGE, "instants"),
    "slices/beforeoron/latest": _slices(Selection.BEFORE_OR_ON, "partition", "maxinstant"),
    "slices/all/beforeoron/latest": _by_partition(Selection.BEFORE_OR_ON, dto.file_slice),
    "compactions/pending": Route("GET", _compactions),
    "logcompactions/pending": Route("GET", _log_compactions),
    "datafiles/latest/partition": _bases(Selection.BASE_LATEST, "partition"),
    "datafile/latest/partition": _bases(Selection.BASE_LATEST, "partition", "fileid"),
    "datafiles/all": _bases(Selection.BASE_ALL, "partition"),
    "datafiles/all/latest": _bases(Selection.BASE_LATEST),
    "datafile/on/latest": _bases(Selection.BASE_ON, "partition", "instant", "fileid"),
    "datafiles/range/latest": _bases(Selection.BASE_IN_RANGE, "instants"),
    "datafiles/beforeoron/latest": _bases(Selection.BASE_BEFORE_OR_ON, "partition", "maxinstant"),
    "basefiles/all/beforeoron": _by_partition(Selection.BASE_BEFORE_OR_ON, dto.base_file),
    "filegroups/all/partition": _groups(Selection.ALL, "partition"),
    "filegroups/all/partition/stateless": _groups(Selection.ALL, "partition"),
    f"{_REPLACED}/beforeoron": _groups(Selection.REPLACED_BEFORE_OR_ON, "partition", "maxinstant"),
    f"{_REPLACED}/before": _groups(Selection.REPLACED_BEFORE, "partition", "maxinstant"),
    f"{_REPLACED}/afteroron": _groups(Selection.REPLACED_AFTER_OR_ON, "partition", "mininstant"),
    f"{_REPLACED}/partition": _groups(Selection.REPLACED, "partition"),
    "clustering/pending": Route("GET", _clusterings),
    "timeline/instant/last": Route("GET", _last_instant, syncs=False),
    "timeline/instants/last": Route("GET", _last_instant, syncs=False),
    "timeline/instants/all": Route("GET", _timeline, syncs=False),
    "timeline/hash": Route("GET", _hash, syncs=False),
    "refresh": Route("POST", _refresh, syncs=False),
    "inittimeline": Route("POST", _refresh, syncs=False),
    "close": Route("POST", _close, syncs=False),
    "loadallpartitions": Route("POST", _load_all),
    "loadpartitions": Route("POST", _load),
}
_ROUTES: Final[Mapping[str, Route]] = MappingProxyType(
    _VIEW | {f"{HUDI_PREFIX}{path}/": route for path, route in _VIEW.items()}
)
