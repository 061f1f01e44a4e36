"""The Avro files of table services: plans and results (format sheet, section 2.7).

Lakestrap's plans have an additional field, `extraMetadata`, with the run's write id; Java resolves
fields by name and skips it in releases that do not know it.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Final

from framework.errors import CorruptFileError, Where
from framework.hudi.codecs.avro import AVRO_MAGIC, ContainerFormat, read_container
from framework.hudi.filegroup.slices import LogFileName
from framework.hudi.storage.port import Storage
from framework.hudi.table.layout import join, name_of, parent_of

__all__ = [
    "PlannedRollback",
    "RolledBackPart",
    "read_rollback_plan",
    "read_savepoint",
    "restore_bytes",
    "restore_plan_bytes",
    "rollback_bytes",
    "rollback_plan_bytes",
    "savepoint_bytes",
]

_COMMANDS: Final = "lakestrap.commands"
_VERSION: Final = {"name": "version", "type": ["int", "null"], "default": 1}


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedRollback:
    """What a rollback is about to do.

    Attributes:
        instant: requested time of the instant that is rolled back.
        action: of that instant, as its completed file is named.
        files: paths to delete, relative to the table, by partition path.
        commands: log files to write, relative to the table, by path of a log file that stays
            because other instants wrote to it too; each makes readers skip the blocks of `instant`.
    """

    instant: str
    action: str
    files: Mapping[str, tuple[str, ...]] = field(default_factory=lambda: MappingProxyType({}))
    commands: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))


@dataclass(frozen=True, slots=True, kw_only=True)
class RolledBackPart:
    """What a rollback did in one partition.

    Attributes:
        deleted: paths, relative to the table, also of files that were missing already.
        written: sizes of log files whose command block makes readers skip what was rolled back.
        left: sizes of log files that the rolled-back instant wrote to, and that stay.
    """

    deleted: tuple[str, ...] = ()
    written: Mapping[str, int] = field(default_factory=lambda: MappingProxyType({}))
    left: Mapping[str, int] = field(default_factory=lambda: MappingProxyType({}))


def rollback_plan_bytes(location: str, plan: PlannedRollback, extra: Mapping[str, str]) -> bytes:
    """Return a requested rollback; `extra` is what the file says under `extraMetadata`."""
    requests: list[dict[str, Any]] = [
        {
            "partitionPath": partition,
            "fileId": "",
            "latestBaseInstant": "",
            "filesToBeDeleted": [f"{location}/{path}" for path in paths],
            "logBlocksToBeDeleted": {},
        }
        for partition, paths in plan.files.items()
    ]
    requests += [_blocks_request(location, path) for path in plan.commands]
    if plan.commands:
        extra = {**extra, _COMMANDS: json.dumps(dict(plan.commands), sort_keys=True)}
    return _ROLLBACK_PLAN.write(
        {
            "instantToRollback": {"commitTime": plan.instant, "action": plan.action},
            "RollbackRequests": requests,
            "extraMetadata": dict(sorted(extra.items())),
            "version": 1,
        }
    )


def _blocks_request(location: str, path: str) -> dict[str, Any]:
    """Return the request to take back the blocks in a log file that stays."""
    log = LogFileName.parse(name_of(path))
    return {
        "partitionPath": parent_of(path),
        "fileId": log.file_id if log else "",
        "latestBaseInstant": log.base_instant if log else "",
        "filesToBeDeleted": [],
        "logBlocksToBeDeleted": {f"{location}/{path}": 1},
    }


def read_rollback_plan(storage: Storage, path: str) -> PlannedRollback:
    """Return what a requested rollback is about to do; one small read.

    Raises:
        CorruptFileError: `avro/corrupt`, `timeline/corrupt-plan`.
    """
    record = _read(storage, path)
    try:
        undone = record["instantToRollback"]
        files = {
            each["partitionPath"]: tuple(
                join(each["partitionPath"], name_of(file)) for file in each["filesToBeDeleted"]
            )
            for each in record["RollbackRequests"] or ()
            if each["filesToBeDeleted"]
        }
        commands = json.loads((record.get("extraMetadata") or {}).get(_COMMANDS, "{}"))
        return PlannedRollback(
            instant=undone["commitTime"], action=undone["action"], files=files, commands=commands
        )
    except (KeyError, TypeError, ValueError) as error:
        raise _corrupt(storage, path, error) from error


def rollback_bytes(
    location: str,
    time: str,
    undone: PlannedRollback,
    parts: Mapping[str, RolledBackPart],
    *,
    took_ms: int,
) -> bytes:
    """Return a completed rollback at `time` of one instant."""
    return _ROLLBACK.write(_rollback(location, time, undone, parts, took_ms))


def restore_plan_bytes(
    instants: Sequence[PlannedRollback], savepoint: str | None, extra: Mapping[str, str]
) -> bytes:
    """Return a requested restore; `instants` are rolled back in this order, newest first."""
    return _RESTORE_PLAN.write(
        {
            "instantsToRollback": [_info(each) for each in instants],
            "savepointToRestoreTimestamp": savepoint,
            "extraMetadata": dict(sorted(extra.items())),
            "version": 1,
        }
    )


def restore_bytes(
    location: str,
    time: str,
    undone: Sequence[tuple[PlannedRollback, Mapping[str, RolledBackPart]]],
    *,
    took_ms: int,
) -> bytes:
    """Return a completed restore at `time`: what it rolled back, newest first."""
    return _RESTORE.write(
        {
            "startRestoreTime": time,
            "timeTakenInMillis": took_ms,
            "instantsToRollback": [each.instant for each, _ in undone],
            "hoodieRestoreMetadata": {
                each.instant: [_rollback(location, time, each, parts, took_ms)]
                for each, parts in undone
            },
            "restoreInstantInfo": [_info(each) for each, _ in undone],
        }
    )


def savepoint_bytes(
    parts: Mapping[str, Iterable[str]], *, by: str, at_ms: int, comments: str
) -> bytes:
    """Return a completed savepoint of the files of each partition, by name."""
    return _SAVEPOINT.write(
        {
            "savepointedBy": by,
            "savepointedAt": at_ms,
            "comments": comments,
            "partitionMetadata": {
                path: {"partitionPath": path, "savepointDataFile": list(names)}
                for path, names in parts.items()
            },
        }
    )


def read_savepoint(storage: Storage, path: str) -> Mapping[str, frozenset[str]]:
    """Return the names of the files that a completed savepoint holds, by partition path.

    Raises:
        CorruptFileError: `avro/corrupt`, `timeline/corrupt-plan`.
    """
    record = _read(storage, path)
    try:
        return {
            partition: frozenset(name_of(file) for file in part["savepointDataFile"])
            for partition, part in record["partitionMetadata"].items()
        }
    except (KeyError, TypeError, AttributeError) as error:
        raise _corrupt(storage, path, error) from error


def _rollback(
    location: str,
    time: str,
    undone: PlannedRollback,
    parts: Mapping[str, RolledBackPart],
    took_ms: int,
) -> dict[str, Any]:
    """Return the record of a rollback."""
    return {
        "startRollbackTime": time,
        "timeTakenInMillis": took_ms,
        "totalFilesDeleted": sum(len(each.deleted) for each in parts.values()),
        "commitsRollback": [undone.instant],
        "partitionMetadata": {
            path: {
                "partitionPath": path,
                "successDeleteFiles": [f"{location}/{file}" for file in each.deleted],
                "failedDeleteFiles": [],
                "rollbackLogFiles": {f"{location}/{n}": s for n, s in each.written.items()} or None,
                "logFilesFromFailedCommit": {f"{location}/{n}": s for n, s in each.left.items()}
                or None,
            }
            for path, each in parts.items()
        },
        "instantsRollback": [_info(undone)],
    }


def _info(undone: PlannedRollback) -> dict[str, str]:
    return {"commitTime": undone.instant, "action": undone.action}


def _read(storage: Storage, path: str) -> Mapping[str, Any]:
    """Return the Avro record in a file."""
    with storage.open_input(path) as source:
        data = bytes(source.read())
    if not data.startswith(AVRO_MAGIC):
        raise _corrupt(storage, path, "it is not an Avro file")
    return read_container(data, where=Where(file=f"{storage.location}/{path}"))


def _corrupt(storage: Storage, path: str, reason: object) -> CorruptFileError:
    """Return the error for a file that is damaged."""
    return CorruptFileError(
        "timeline/corrupt-plan",
        f"the file cannot be used: {reason}",
        where=Where(file=f"{storage.location}/{path}"),
        remedy="The file is damaged; restore it from a copy, nothing was changed.",
    )


def _record(name: str, *fields: dict[str, Any]) -> dict[str, Any]:
    """Return a record schema."""
    namespace = "org.apache.hudi.avro.model"
    return {"type": "record", "name": name, "namespace": namespace, "fields": list(fields)}


def _field(name: str, kind: Any) -> dict[str, Any]:
    """Return a field without a default."""
    return {"name": name, "type": kind}


def _nullable(name: str, kind: Any) -> dict[str, Any]:
    """Return a field that may be null."""
    return {"name": name, "type": ["null", kind], "default": None}


def _list_of(kind: Any) -> dict[str, Any]:
    """Return an array's schema."""
    return {"type": "array", "items": kind}


def _map_of(kind: Any) -> dict[str, Any]:
    """Return a map's schema."""
    return {"type": "map", "values": kind}


_INFO: Final = _record(
    "HoodieInstantInfo", _field("commitTime", "string"), _field("action", "string")
)
_ROLLBACK_PLAN: Final = ContainerFormat(
    _record(
        "HoodieRollbackPlan",
        _nullable("instantToRollback", _INFO),
        _nullable(
            "RollbackRequests",
            _list_of(
                _record(
                    "HoodieRollbackRequest",
                    _field("partitionPath", "string"),
                    _nullable("fileId", "string"),
                    _nullable("latestBaseInstant", "string"),
                    {"name": "filesToBeDeleted", "type": _list_of("string"), "default": []},
                    _nullable("logBlocksToBeDeleted", _map_of("long")),
                )
            ),
        ),
        _VERSION,
        _nullable("extraMetadata", _map_of("string")),
    )
)
_RESTORE_PLAN: Final = ContainerFormat(
    _record(
        "HoodieRestorePlan",
        {"name": "instantsToRollback", "type": _list_of(_INFO), "default": []},
        _VERSION,
        _nullable("savepointToRestoreTimestamp", "string"),
        _nullable("extraMetadata", _map_of("string")),
    )
)
_ROLLBACK_RECORD: Final = _record(
    "HoodieRollbackMetadata",
    _field("startRollbackTime", "string"),
    _field("timeTakenInMillis", "long"),
    _field("totalFilesDeleted", "int"),
    _field("commitsRollback", _list_of("string")),
    _field(
        "partitionMetadata",
        _map_of(
            _record(
                "HoodieRollbackPartitionMetadata",
                _field("partitionPath", "string"),
                _field("successDeleteFiles", _list_of("string")),
                _field("failedDeleteFiles", _list_of("string")),
                _nullable("rollbackLogFiles", _map_of("long")),
                _nullable("logFilesFromFailedCommit", _map_of("long")),
            )
        ),
    ),
    _VERSION,
    {
        "name": "instantsRollback",
        "type": _list_of(
            _record("HoodieInstantInfo", _field("commitTime", "string"), _field("action", "string"))
        ),
        "default": [],
    },
)
_ROLLBACK: Final = ContainerFormat(_ROLLBACK_RECORD)
_RESTORE: Final = ContainerFormat(
    _record(
        "HoodieRestoreMetadata",
        _field("startRestoreTime", "string"),
        _field("timeTakenInMillis", "long"),
        _field("instantsToRollback", _list_of("string")),
        _field("hoodieRestoreMetadata", _map_of(_list_of(["null", _ROLLBACK_RECORD]))),
        _VERSION,
        {"name": "restoreInstantInfo", "type": _list_of("HoodieInstantInfo"), "default": []},
    )
)
_SAVEPOINT: Final = ContainerFormat(
    _record(
        "HoodieSavepointMetadata",
        _field("savepointedBy", "string"),
        _field("savepointedAt", "long"),
        _field("comments", "string"),
        _field(
            "partitionMetadata",
            _map_of(
                _record(
                    "HoodieSavepointPartitionMetadata",
                    _field("partitionPath", "string"),
                    _field("savepointDataFile", _list_of("string")),
                )
            ),
        ),
        _VERSION,
    )
)
