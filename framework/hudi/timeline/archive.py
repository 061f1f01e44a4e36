"""The archived timeline of version 6: what was moved out of the active one (section 2.8).

An archive is log files of Avro blocks, one record per instant and state. Old releases keep them in
`archived`, newer ones in `history`, and a property may name another folder.

Files are written as by Apache Hudi 1.2.0. Each archival makes a file of its own, numbered after the
newest, and complete before it has its name. Apache Hudi's own files may hold an instant again;
readers count it once.

A record has the content of the instant's file: commits, which are JSON, field by field as Java
converts them, and Avro files as they are. Java drops what only log appends have, such as
`logOffset`, and so does this. A rollback's plan has no place in the schema.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Final

import fastavro
import msgspec

from framework.errors import CorruptFileError, Where
from framework.hudi.codecs.avro import AVRO_FAULTS, read_container
from framework.hudi.codecs.log_format import (
    BlockKind,
    HeaderKey,
    encode_block,
    read_blocks,
    read_content,
)
from framework.hudi.codecs.log_records import decode_records, encode_records
from framework.hudi.storage.port import Storage
from framework.hudi.table.layout import ARCHIVED, HOODIE, join, name_of
from framework.hudi.timeline.archive_schema import ENTRY, STAT_COUNTS
from framework.hudi.timeline.instant import COMPACTIONS, Action, Instant, InstantState

__all__ = [
    "ArchivedInstant",
    "InstantFile",
    "archive_bytes",
    "archive_entries",
    "archive_files",
    "archived_file_ids",
    "archived_instants",
    "newest_first",
    "next_archive_file",
]

_ARCHIVE_PROPERTIES: Final = ("hoodie.archivelog.folder", "hoodie.timeline.history.path")
_FOLDERS: Final = ("archived", "history")
_NAME: Final = re.compile(r"\.commits_.*\.archive\.[0-9]+.*")
_COMMITS: Final = ("hoodieCommitMetadata", "hoodieReplaceCommitMetadata")


@dataclass(frozen=True, slots=True, kw_only=True)
class ArchivedInstant:
    """One action in one state, as an archive holds it.

    Attributes:
        requested_time: of the instant.
        action: as the active timeline named it.
        state: a completed action has records of its earlier states too.
        extra: `extraMetadata` of a completed commit; empty for all else.
    """

    requested_time: str
    action: Action
    state: InstantState
    extra: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))


def archive_files(storage: Storage, properties: Mapping[str, str]) -> tuple[str, ...]:
    """Return the paths of all archive files; costs one listing per folder that may hold some.

    Args:
        storage: the table.
        properties: of the table; `_ARCHIVE_PROPERTIES` name further folders below `.hoodie`.
    """
    named = [properties.get(key, "") for key in _ARCHIVE_PROPERTIES]
    folders = dict.fromkeys(join(HOODIE, name) for name in (*_FOLDERS, *named) if name)
    return tuple(
        entry.path
        for folder in folders
        for entry in storage.list(folder)
        if not entry.is_folder and _NAME.fullmatch(entry.name)
    )


def archived_instants(storage: Storage, paths: tuple[str, ...]) -> Iterator[ArchivedInstant]:
    """Yield what archive files hold, file by file; an instant may come more than once.

    Reads and decodes every file whole. Records of actions that this release does not know are
    skipped.

    Raises:
        CorruptFileError: `timeline/corrupt-archive`, `log/block`, `log/content`.
        UnsupportedTableError: `log/data-version`.
    """
    for path in paths:
        where = Where(file=f"{storage.location}/{path}")
        for record in _records(storage, path, where):
            found = _instant(record, where)
            if found is not None:
                yield found


def archived_file_ids(
    storage: Storage, paths: Iterable[str], time: str
) -> Mapping[str, frozenset[str]] | None:
    """Return the file ids that an archived commit wrote, by partition path; None without it.

    Reads and decodes files whole, up to the one that has the commit.

    Args:
        storage: the table.
        paths: of archive files.
        time: requested time of the commit.

    Raises:
        CorruptFileError, UnsupportedTableError: as of `archived_instants`.
    """
    for path in paths:
        where = Where(file=f"{storage.location}/{path}")
        for record in _records(storage, path, where):
            if record.get("commitTime") == time:
                bodies = (record.get(name) or {} for name in _COMMITS)
                stats = next((s for b in bodies if (s := b.get("partitionToWriteStats"))), None)
                if stats:
                    return {
                        partition: frozenset(each["fileId"] for each in found)
                        for partition, found in stats.items()
                    }
    return None


def _records(storage: Storage, path: str, where: Where) -> Iterator[Mapping[str, Any]]:
    """Yield the records of an archive file."""
    with storage.open_input(path) as source:
        for block in read_blocks(source, where=where):
            if block.kind is not BlockKind.AVRO_DATA:
                raise _corrupt(where, f"it has a block of kind {block.kind.name}")
            schema = block.header.get(HeaderKey.SCHEMA, "")
            yield from decode_records(read_content(source, block), schema, where=where)


def _instant(record: Mapping[str, Any], where: Where) -> ArchivedInstant | None:
    """Return one record; None for an action that is not known."""
    try:
        action = Action(record["actionType"])
        # records of very old releases have no state, and are all of completed instants
        state = InstantState(str(record.get("actionState") or "COMPLETED").lower())
        time = str(record["commitTime"])
    except ValueError:
        return None
    except KeyError as error:
        raise _corrupt(where, f"a record has no {error}") from error
    extra: Mapping[str, str] = {}
    if state is InstantState.COMPLETED:
        bodies = (record.get(name) or {} for name in _COMMITS)
        extra = next((body["extraMetadata"] for body in bodies if body.get("extraMetadata")), {})
    return ArchivedInstant(
        requested_time=time, action=action, state=state, extra=MappingProxyType(dict(extra))
    )


def _corrupt(where: Where, reason: str) -> CorruptFileError:
    """Return the error for an archive that cannot be used."""
    return CorruptFileError(
        "timeline/corrupt-archive",
        f"the archived timeline is not readable: {reason}",
        where=where,
        remedy="The file is damaged, or of a release that is not known; restore it from a copy.",
    )


_NUMBER: Final = re.compile(r"\.commits_.*\.archive\.([0-9]+).*")
_SCHEMA_TEXT: Final = json.dumps(ENTRY, separators=(",", ":"))
_SCHEMA: Final = fastavro.parse_schema(json.loads(_SCHEMA_TEXT))
_RECORDS_OF_A_BLOCK: Final = 10
"""As many as Apache Hudi puts in one (`hoodie.commits.archival.batch`)."""


def archive_bytes(entries: Sequence[Mapping[str, Any]], *, where: Where | None = None) -> bytes:
    """Return the file that holds these entries, in their order.

    Args:
        entries: as `archive_entries` returns them.
        where: the location for errors.

    Raises:
        CorruptFileError: `timeline/not-archivable`; an instant's file has values of other types.
    """
    starts = range(0, len(entries), _RECORDS_OF_A_BLOCK)
    blocks = (entries[start : start + _RECORDS_OF_A_BLOCK] for start in starts)
    return b"".join(_block(each, where or Where()) for each in blocks)


def _block(entries: Sequence[Mapping[str, Any]], where: Where) -> bytes:
    """Return one block."""
    try:
        content = encode_records(entries, _SCHEMA)
    except (*AVRO_FAULTS, AttributeError) as error:
        raise CorruptFileError(
            "timeline/not-archivable",
            f"an instant from {entries[0]['commitTime']} to {entries[-1]['commitTime']} has values "
            f"that the archive has no place for: {error}",
            where=where,
            remedy="Nothing was archived. The file of the instant is damaged, or of a release that "
            "is not known; let Apache Hudi archive.",
        ) from error
    return encode_block(BlockKind.AVRO_DATA, {HeaderKey.SCHEMA: _SCHEMA_TEXT}, content)


def newest_first(storage: Storage, properties: Mapping[str, str]) -> tuple[str, ...]:
    """Return the paths of all archive files, the one with the greatest number first.

    Costs one listing per folder that may hold some.
    """
    return tuple(sorted(archive_files(storage, properties), key=_number, reverse=True))


def next_archive_file(storage: Storage, properties: Mapping[str, str]) -> str:
    """Return the path of the file that a next archival makes."""
    numbers = map(_number, archive_files(storage, properties))
    folder = properties.get(_ARCHIVE_PROPERTIES[0])
    place = join(HOODIE, folder) if folder else ARCHIVED
    return join(place, f".commits_.archive.{max(numbers, default=0) + 1}_1-0-1")


def _number(path: str) -> int:
    """Return the number of an archive file."""
    found = _NUMBER.fullmatch(name_of(path))
    return int(found[1]) if found else 0


@dataclass(frozen=True, slots=True, kw_only=True)
class InstantFile:
    """The file of an instant in one state.

    Attributes:
        instant: as the file is named.
        data: its bytes.
        changed: when it was made, in the form of an instant.
        where: it is, for errors.
    """

    instant: Instant
    data: bytes
    changed: str
    where: Where


def archive_entries(files: Sequence[InstantFile]) -> list[dict[str, Any]]:
    """Return the records of an instant, one for each state.

    Args:
        files: of one instant, in the order of its states. The inflight file of a clean may be
            empty; its plan is the requested one then.

    Raises:
        CorruptFileError: `timeline/corrupt-commit`, `avro/corrupt`; a file is not readable.
    """
    entries: list[dict[str, Any]] = []
    for file in files:
        entry = _entry(file)
        if file.instant.action is Action.CLEAN and entries and not file.data:
            entry[_CLEAN_PLAN] = entries[-1].get(_CLEAN_PLAN)
        entries.append(entry)
    return entries


def _entry(file: InstantFile) -> dict[str, Any]:
    """Return the record of an instant in one state."""
    instant = file.instant
    entry: dict[str, Any] = {
        "commitTime": instant.requested_time,
        "actionType": instant.action.value,
        "version": None,
        "actionState": instant.state.value.upper(),
        "stateTransitionTime": file.changed,
    }
    name = _FIELDS.get((instant.action, instant.state))
    if name is not None and file.data:
        read = _commit if name in _JSON else _avro
        entry[name] = read(file, name)
    return entry


_COMMIT: Final = "hoodieCommitMetadata"
_REPLACE: Final = "hoodieReplaceCommitMetadata"
_INFLIGHT_REPLACE: Final = "HoodieInflightReplaceMetadata"
_CLEAN_PLAN: Final = "hoodieCleanerPlan"
_JSON: Final = frozenset({_COMMIT, _REPLACE, _INFLIGHT_REPLACE})
_FIELDS: Final[Mapping[tuple[Action, InstantState], str]] = {
    **{(a, state): _COMMIT for a in (Action.COMMIT, Action.DELTACOMMIT) for state in InstantState},
    (Action.REPLACECOMMIT, InstantState.REQUESTED): "hoodieRequestedReplaceMetadata",
    (Action.REPLACECOMMIT, InstantState.INFLIGHT): _INFLIGHT_REPLACE,
    (Action.REPLACECOMMIT, InstantState.COMPLETED): _REPLACE,
    (Action.CLEAN, InstantState.REQUESTED): _CLEAN_PLAN,
    (Action.CLEAN, InstantState.INFLIGHT): _CLEAN_PLAN,
    (Action.CLEAN, InstantState.COMPLETED): "hoodieCleanMetadata",
    (Action.ROLLBACK, InstantState.COMPLETED): "hoodieRollbackMetadata",
    **{(action, InstantState.REQUESTED): "hoodieCompactionPlan" for action in COMPACTIONS},
}
"""The field that holds the content, by action and state."""

_TEXTS: Final = ("fileId", "path", "prevCommit", "partitionPath", "prevBaseFile", "tempPath")
_RUNTIME: Final = ("totalScanTime", "totalCreateTime", "totalUpsertTime")


class _Commit(msgspec.Struct, rename="camel"):
    """The members of a commit's file."""

    partition_to_write_stats: dict[str, list[dict[str, Any]] | None] | None = None
    compacted: bool = False
    extra_metadata: dict[str, str | None] | None = None
    operation_type: str | None = None
    partition_to_replace_file_ids: dict[str, list[str] | None] | None = None


_DECODER: Final = msgspec.json.Decoder(_Commit)


def _avro(file: InstantFile, field: str) -> dict[str, Any]:
    """Return the content of an Avro file."""
    del field
    return read_container(file.data, where=file.where)


def _commit(file: InstantFile, field: str) -> dict[str, Any]:
    """Return the content of a commit's file."""
    try:
        found = _DECODER.decode(file.data)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise CorruptFileError(
            "timeline/corrupt-commit",
            f"the commit cannot be used: {error}",
            where=file.where,
            remedy="The file is damaged; restore it from a copy, nothing was changed.",
        ) from error
    stats = found.partition_to_write_stats or {}
    extra = found.extra_metadata or {}
    metadata = {
        "partitionToWriteStats": {
            path: [_stat(s) for s in each or ()] for path, each in stats.items()
        },
        "compacted": found.compacted,
        "extraMetadata": {name: text for name, text in extra.items() if text is not None},
        "version": None,
        "operationType": found.operation_type,
    }
    if field == _REPLACE:
        replaced = found.partition_to_replace_file_ids or {}
        metadata["partitionToReplaceFileIds"] = {path: ids or [] for path, ids in replaced.items()}
    return metadata


def _stat(stat: Mapping[str, Any]) -> dict[str, Any]:
    """Return a write stat; numbers that are missing are 0, as in Java."""
    times = stat.get("runtimeStats")
    return {
        **{name: stat.get(name) for name in _TEXTS},
        **{name: stat.get(name) or 0 for name in STAT_COUNTS},
        "cdcStats": stat.get("cdcStats"),
        "minEventTime": stat.get("minEventTime"),
        "maxEventTime": stat.get("maxEventTime"),
        "runtimeStats": times and {name: times.get(name) or 0 for name in _RUNTIME},
    }
