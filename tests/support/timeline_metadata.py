"""What Apache Hudi's table services write to the timeline: Avro records (format sheet, 2.7)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from framework.hudi.codecs.avro import ContainerFormat
from framework.hudi.timeline.requested_plans import REQUESTED_REPLACE

__all__ = [
    "Cleaned",
    "Operation",
    "RolledBack",
    "clean_bytes",
    "clustering_plan_bytes",
    "compaction_plan_bytes",
    "restore_bytes",
    "rollback_bytes",
    "savepoint_bytes",
]

_VERSION: Final = {"name": "version", "type": ["int", "null"], "default": 1}


@dataclass(kw_only=True)
class Cleaned:
    """What a clean did in one partition: paths that it deleted, and that it failed to delete."""

    deleted: list[str] = field(default_factory=list)
    failed: list[str] = field(default_factory=list)
    dropped: bool = False


@dataclass(kw_only=True)
class RolledBack:
    """Effects of a rollback in one partition.

    Attributes:
        deleted: paths.
        failed: paths that it could not delete.
        written: sizes of log files that make readers skip rolled-back blocks.
        left: sizes of log files of the failed instant that are kept.
    """

    deleted: list[str] = field(default_factory=list)
    failed: list[str] = field(default_factory=list)
    written: dict[str, int] = field(default_factory=dict)
    left: dict[str, int] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Operation:
    """What is planned for one file group."""

    partition_path: str
    file_id: str
    base_instant: str
    base_file: str | None = None
    logs: tuple[str, ...] = ()


def clean_bytes(time: str, parts: Mapping[str, Cleaned]) -> bytes:
    """Return a completed clean."""
    return _CLEAN.write(
        {
            "startCleanTime": time,
            "timeTakenInMillis": 1,
            "totalFilesDeleted": sum(len(each.deleted) for each in parts.values()),
            "earliestCommitToRetain": time,
            "partitionMetadata": {
                path: {
                    "partitionPath": path,
                    "policy": "KEEP_LATEST_COMMITS",
                    "deletePathPatterns": each.deleted + each.failed,
                    "successDeleteFiles": each.deleted,
                    "failedDeleteFiles": each.failed,
                    "isPartitionDeleted": each.dropped,
                }
                for path, each in parts.items()
            },
        }
    )


def rollback_bytes(time: str, undone: Sequence[str], parts: Mapping[str, RolledBack]) -> bytes:
    """Return a completed rollback of `undone`."""
    return _ROLLBACK.write(_rollback(time, undone, parts))


def restore_bytes(time: str, rollbacks: Sequence[tuple[str, Mapping[str, RolledBack]]]) -> bytes:
    """Return a completed restore: the instants that it rolled back, and what it did for each."""
    undone = [each for each, _ in rollbacks]
    return _RESTORE.write(
        {
            "startRestoreTime": time,
            "timeTakenInMillis": 1,
            "instantsToRollback": undone,
            "hoodieRestoreMetadata": {
                each: [_rollback(time, [each], parts) if parts else None]
                for each, parts in rollbacks
            },
            "restoreInstantInfo": [{"commitTime": each, "action": "commit"} for each in undone],
        }
    )


def savepoint_bytes(parts: Mapping[str, Sequence[str]]) -> bytes:
    """Return a completed savepoint of the files of each partition."""
    return _SAVEPOINT.write(
        {
            "savepointedBy": "tests",
            "savepointedAt": 1,
            "comments": "",
            "partitionMetadata": {
                path: {"partitionPath": path, "savepointDataFile": list(names)}
                for path, names in parts.items()
            },
        }
    )


def compaction_plan_bytes(operations: Iterable[Operation]) -> bytes:
    """Return a requested compaction or log compaction."""
    found = [
        {
            "baseInstantTime": each.base_instant,
            "deltaFilePaths": list(each.logs),
            "dataFilePath": each.base_file,
            "fileId": each.file_id,
            "partitionPath": each.partition_path,
            "metrics": {"TOTAL_LOG_FILES": float(len(each.logs))},
            "bootstrapFilePath": None,
        }
        for each in operations
    ]
    return _COMPACTION.write({"operations": found, "version": 2})


def clustering_plan_bytes(operations: Iterable[Operation]) -> bytes:
    """Return a requested replacecommit that is to cluster groups."""
    slices = [
        {
            "dataFilePath": each.base_file,
            "deltaFilePaths": list(each.logs),
            "fileId": each.file_id,
            "partitionPath": each.partition_path,
            "bootstrapFilePath": "",
        }
        for each in operations
    ]
    groups = [{"slices": [each], "numOutputFileGroups": 1} for each in slices]
    return _REPLACE.write({"operationType": "CLUSTER", "clusteringPlan": {"inputGroups": groups}})


def _rollback(time: str, undone: Sequence[str], parts: Mapping[str, RolledBack]) -> dict[str, Any]:
    """Return the record of a rollback."""
    return {
        "startRollbackTime": time,
        "timeTakenInMillis": 1,
        "totalFilesDeleted": sum(len(each.deleted) for each in parts.values()),
        "commitsRollback": list(undone),
        "partitionMetadata": {
            path: {
                "partitionPath": path,
                "successDeleteFiles": each.deleted,
                "failedDeleteFiles": each.failed,
                "rollbackLogFiles": each.written or None,
                "logFilesFromFailedCommit": each.left or None,
            }
            for path, each in parts.items()
        },
        "instantsRollback": [{"commitTime": each, "action": "commit"} for each in undone],
    }


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


_CLEAN: Final = ContainerFormat(
    _record(
        "HoodieCleanMetadata",
        _field("startCleanTime", "string"),
        _field("timeTakenInMillis", "long"),
        _field("totalFilesDeleted", "int"),
        _field("earliestCommitToRetain", "string"),
        {"name": "lastCompletedCommitTimestamp", "type": "string", "default": ""},
        _field(
            "partitionMetadata",
            _map_of(
                _record(
                    "HoodieCleanPartitionMetadata",
                    _field("partitionPath", "string"),
                    _field("policy", "string"),
                    _field("deletePathPatterns", _list_of("string")),
                    _field("successDeleteFiles", _list_of("string")),
                    _field("failedDeleteFiles", _list_of("string")),
                    _nullable("isPartitionDeleted", "boolean"),
                )
            ),
        ),
        _VERSION,
        _nullable("bootstrapPartitionMetadata", _map_of("HoodieCleanPartitionMetadata")),
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
_COMPACTION: Final = ContainerFormat(
    _record(
        "HoodieCompactionPlan",
        _nullable(
            "operations",
            _list_of(
                _record(
                    "HoodieCompactionOperation",
                    _field("baseInstantTime", ["null", "string"]),
                    _nullable("deltaFilePaths", _list_of("string")),
                    _nullable("dataFilePath", "string"),
                    _field("fileId", ["null", "string"]),
                    _nullable("partitionPath", "string"),
                    _nullable("metrics", _map_of("double")),
                    _nullable("bootstrapFilePath", "string"),
                )
            ),
        ),
        _nullable("extraMetadata", _map_of("string")),
        _VERSION,
    )
)
_REPLACE: Final = ContainerFormat(REQUESTED_REPLACE)
