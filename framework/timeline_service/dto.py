"""Responses in the JSON of Apache Hudi's clients (format sheet, section 9.5).

Written by hand, since encoding dominates the cost of a lookup: a slice of one base file is made
from its record with a few substitutions. `modificationTime` is 0, as in Apache Hudi's own
incremental view, since instants record sizes but no ages.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from functools import lru_cache
from json.encoder import encode_basestring as _text
from typing import Any, Final, TypeAlias
from urllib.parse import quote

from framework.hudi.filegroup.group import PlainRecord
from framework.hudi.filegroup.slices import BaseFile, FileSlice, LogFile
from framework.hudi.table.layout import BOOTSTRAP_INSTANT
from framework.hudi.timeline.instant import Instant
from framework.hudi.view.facts import CompactionOperation
from framework.hudi.view.known import Known

__all__ = [
    "Places",
    "base_file",
    "clustering_operations",
    "compaction_operations",
    "file_groups",
    "file_slice",
    "instant_json",
    "plain_slice",
    "timeline_json",
]

_Folder: TypeAlias = tuple[str, str, str]
_Name: TypeAlias = tuple[str, str, str]
"""File id as JSON text without quotes, the rest of the file's name, its instant."""
_list: Final = json.JSONEncoder(ensure_ascii=False).encode
_BLOCK_BYTES: Final = 33_554_432
"""The value of Hadoop's local file system; a reader that splits by blocks must not get 0."""
_AGED: Final = f'"isdir":false,"blockReplication":0,"blocksize":{_BLOCK_BYTES},"modificationTime":'
"""The rest of a `FileStatusDTO` after path and length."""
_AGELESS: Final = f"{_AGED}0"
_OF_NO_GROUP: Final = '"commitTime":null,"fileId":null,"bootstrapBaseFile":null'
_SAFE: Final = "/:@!$&'()*+,;=-._~"


class Places:
    """Locations of a table's files, in Apache Hudi's spellings.

    Args:
        location: the table's absolute folder, or a URI.
    """

    def __init__(self, location: str) -> None:
        root = location if ":/" in location else f"file:{location}"
        scheme, _, path = root.partition(":")
        path = "/" + path.lstrip("/") if scheme == "file" else path
        self._root = f"{scheme}:{path}"
        self._uri = f"{scheme}:{'//' if scheme == 'file' else ''}{quote(path, safe=_SAFE)}"
        self.folder = lru_cache(maxsize=4096)(self._folder)

    def _folder(self, partition_path: str) -> _Folder:
        """Return a partition's JSON text, and the prefixes of its files' paths and URIs.

        The last two are JSON text without quotes, ending in `/`.
        """
        below = f"/{partition_path}" if partition_path else ""
        full, uri = f"{self._root}{below}/", f"{self._uri}{quote(below, safe=_SAFE)}/"
        return _text(partition_path), _inner(full), _inner(uri)


def file_slice(found: FileSlice, places: Places) -> str:
    """Return a `FileSliceDTO`."""
    base = "null" if found.base is None else base_file(found, places)
    logs = ",".join(_log_file(each, found, places) for each in found.logs)
    partition, _, _ = places.folder(found.group.partition_path)
    return (
        f'{{"baseFile":{base},"logFiles":[{logs}],"partition":{partition},'
        f'"fileId":{_text(found.group.file_id)},"baseInstant":"{found.base_instant}"}}'
    )


def base_file(found: FileSlice, places: Places) -> str:
    """Return the `BaseFileDTO` of a slice's base file, which it must have."""
    base: BaseFile | None = found.base
    if base is None:
        raise ValueError("the slice has no base file")
    file_id, behind = found.group.file_id, found.bootstrap
    name = (_inner(file_id), str(base.name)[len(file_id) :], base.name.instant)
    source = None if behind is None else _source_file(behind.uri, behind.size, behind.mtime_ms)
    return _base_file(places.folder(found.group.partition_path), name, base.size, source)


def _base_file(folder: _Folder, named: _Name, size: int | str, source: str | None) -> str:
    _, full, uri = folder
    id_, rest, instant = named
    return (
        f'{{"fileStatus":{{"path":{{"uri":"{uri}{id_}{rest}"}},"length":{size},{_AGELESS}}},'
        f'"fullPath":"{full}{id_}{rest}","fileLen":{size},"commitTime":"{instant}",'
        f'"fileId":"{id_}","bootstrapBaseFile":{source or "null"}}}'
    )


def _inner(text: str) -> str:
    """Return JSON text without its quotes."""
    return _text(text)[1:-1]


def _source_file(uri: str, size: int | str, mtime_ms: int | str) -> str:
    """Return the `BaseFileDTO` of a skeleton's source file."""
    there = _inner(uri)
    return (
        f'{{"fileStatus":{{"path":{{"uri":"{there}"}},"length":{size},{_AGED}{mtime_ms}}},'
        f'"fullPath":"{there}","fileLen":{size},{_OF_NO_GROUP}}}'
    )


def _log_file(log: LogFile, found: FileSlice, places: Places) -> str:
    """Return a `LogFileDTO`."""
    _, full, uri = places.folder(found.group.partition_path)
    name = _inner(str(log.name))
    return (
        f'{{"fileStatus":{{"path":{{"uri":"{uri}{name}"}},"length":{log.size},{_AGELESS}}},'
        f'"path":"{full}{name}","len":{log.size}}}'
    )


def file_groups(found: Sequence[FileSlice], places: Places, known: Known) -> str:
    """Return a list of `FileGroupDTO`; in `found`, the slices of a group are contiguous.

    Each group has the timeline: older clients read it in each group, newer ones in the first.
    """
    groups: dict[tuple[str, str], list[str]] = {}
    for each in found:
        key = (each.group.partition_path, each.group.file_id)
        groups.setdefault(key, []).append(file_slice(each, places))
    timeline = timeline_json(known, known.timeline.instants)
    texts = (
        f'{{"partition":{_text(path)},"fileId":{_text(id_)},"slices":[{",".join(slices)}],'
        f'"timeline":{timeline}}}'
        for (path, id_), slices in groups.items()
    )
    return f"[{','.join(texts)}]"


def timeline_json(known: Known, instants: Iterable[Instant]) -> str:
    """Return a `TimelineDTO`."""
    return f'{{"instants":[{",".join(instant_json(known, each) for each in instants)}]}}'


def instant_json(known: Known, instant: Instant) -> str:
    """Return an `InstantDTO`."""
    done = _text(_completion(known, instant)) if instant.is_completed else "null"
    return (
        f'{{"action":"{instant.action}","ts":"{instant.requested_time}",'
        f'"state":"{instant.state.upper()}","requestedTime":"{instant.requested_time}",'
        f'"completionTime":{done}}}'
    )


def _completion(known: Known, instant: Instant) -> str:
    """Return when an instant completed: in layout 1, the modification time of its file."""
    _, mtime_ns = known.files[instant.file_name]
    when = datetime.fromtimestamp(mtime_ns // 1_000_000 / 1000, tz=UTC)
    return f"{when:%Y%m%d%H%M%S}{when.microsecond // 1000:03}"


def compaction_operations(found: Iterable[CompactionOperation]) -> str:
    """Return a list of `CompactionOpDTO`."""
    return _list([_operation(each) for each in found])


def _operation(planned: CompactionOperation) -> dict[str, Any]:
    """Return one operation, with both names of the source's member, which was renamed."""
    return {
        "baseInstant": planned.base_instant,
        "compactionInstant": planned.instant,
        "dataFileInstant": None if planned.base_file is None else planned.base_instant,
        "deltaFiles": list(planned.logs),
        "baseFile": planned.base_file,
        "id": planned.group.file_id,
        "partition": planned.group.partition_path,
        "metrics": dict(planned.metrics),
        "externalBaseFile": planned.source,
        "bootstrapBaseFile": planned.source,
    }


def clustering_operations(found: Mapping[Any, Instant]) -> str:
    """Return a list of `ClusteringOpDTO`, of instants by file group."""
    return _list(
        [
            {
                "id": group.file_id,
                "partition": group.partition_path,
                "instantTime": instant.requested_time,
                "instantState": instant.state.upper(),
                "instantAction": str(instant.action),
            }
            for group, instant in found.items()
        ]
    )


def plain_slice(
    group: tuple[str, str], record: bytes, places: Places, counts: Callable[[str], bool]
) -> str | None:
    """Return the `FileSliceDTO` of a group's record, None if it is not one file that counts.

    Equal to `file_slice` of the decoded record in a fifth of the time; single lookups depend on it.

    Args:
        group: partition path and file id.
        record: the group's record.
        places: locations of the table's files.
        counts: whether files of an instant are part of the table.
    """
    plain = PlainRecord.parse(record.decode())
    if plain is None:
        return None
    instant = plain.instant
    if not counts(instant):
        return None
    folder, id_ = places.folder(group[0]), _inner(group[1])
    source = None
    if plain.source_size and instant == BOOTSTRAP_INSTANT:
        source = _source_file(plain.source_uri, plain.source_size, plain.source_mtime_ms)
    base = _base_file(folder, (id_, plain.rest, instant), plain.size, source)
    return (
        f'{{"baseFile":{base},"logFiles":[],"partition":{folder[0]},"fileId":"{id_}",'
        f'"baseInstant":"{instant}"}}'
    )
