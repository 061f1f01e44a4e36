"""Records of archived instants, as Apache Hudi 1.2.0 makes them (format sheet, section 2.8).

A record has the content of the instant's file: commits, which are JSON, field by field as Java
converts them, and Avro files as they are. Java drops what only log appends have, such as
`logOffset`, and so does this. A rollback's plan has no place in the schema.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import msgspec

from framework.errors import CorruptFileError, Where
from framework.hudi.codecs.avro import read_container
from framework.hudi.timeline.archive_schema import STAT_COUNTS
from framework.hudi.timeline.instant import COMPACTIONS, Action, Instant, InstantState

__all__ = ["InstantFile", "archive_entries"]


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
