"""The Avro schema of archived instants, `HoodieArchivedMetaEntry` (format sheet, section 2.8).

It is the one of Apache Hudi 1.2.0, which has every field of earlier releases; those resolve fields
by name and skip what they do not know. One record holds one instant in one state.
"""

from __future__ import annotations

from typing import Any, Final

__all__ = ["ENTRY", "STAT_COUNTS"]

_TEXT: Final = {"type": "string", "avro.java.string": "String"}
"""Java reads other strings as `Utf8`, which its readers of archives do not expect."""

STAT_COUNTS: Final = (
    "numWrites",
    "numDeletes",
    "numUpdateWrites",
    "totalWriteBytes",
    "totalWriteErrors",
    "totalLogRecords",
    "totalUpdatedRecordsCompacted",
    "numInserts",
    "totalLogBlocks",
    "totalCorruptLogBlock",
    "totalRollbackBlocks",
    "fileSizeInBytes",
    "totalLogFilesCompacted",
    "totalLogReadTimeMs",
    "totalLogSizeCompacted",
    "numUpdates",
)
"""Fields of a write stat that Java holds as numbers, so that they are 0 and never null."""


def _record(name: str, *fields: dict[str, Any]) -> dict[str, Any]:
    return {"type": "record", "name": name, "fields": list(fields)}


def _field(name: str, kind: Any) -> dict[str, Any]:
    """Return a field without a default."""
    return {"name": name, "type": kind}


def _nullable(name: str, kind: Any) -> dict[str, Any]:
    """Return a field that is null by default."""
    return {"name": name, "type": ["null", kind], "default": None}


def _default(name: str, kind: Any, value: Any) -> dict[str, Any]:
    """Return a field with a default of its own."""
    return {"name": name, "type": kind, "default": value}


def _list_of(kind: Any) -> dict[str, Any]:
    return {"type": "array", "items": kind}


def _map_of(kind: Any) -> dict[str, Any]:
    return {"type": "map", "values": kind, "avro.java.string": "String"}


_VERSION: Final = _default("version", ["int", "null"], 1)
_TEXTS: Final = _list_of(_TEXT)
_TEXT_MAP: Final = _map_of(_TEXT)

_STAT: Final = _record(
    "HoodieWriteStat",
    *(_nullable(name, _TEXT) for name in ("fileId", "path", "prevCommit")),
    *(_nullable(name, "long") for name in STAT_COUNTS[:5]),
    _nullable("partitionPath", _TEXT),
    *(_nullable(name, "long") for name in ("totalLogRecords", "totalLogFiles")),
    *(_nullable(name, "long") for name in STAT_COUNTS[6:12]),
    _nullable("logVersion", "int"),
    _nullable("logOffset", "long"),
    _nullable("baseFile", _TEXT),
    _nullable("logFiles", _TEXTS),
    _nullable("cdcStats", _map_of("long")),
    _nullable("prevBaseFile", _TEXT),
    *(_nullable(name, "long") for name in ("minEventTime", "maxEventTime")),
    _nullable(
        "runtimeStats",
        _record(
            "HoodieRuntimeStats",
            *(
                _nullable(name, "long")
                for name in ("totalScanTime", "totalCreateTime", "totalUpsertTime")
            ),
        ),
    ),
    *(_nullable(name, "long") for name in STAT_COUNTS[12:15]),
    _nullable("tempPath", _TEXT),
    _nullable("numUpdates", "long"),
)
_COMMIT: Final = _record(
    "HoodieCommitMetadata",
    _nullable("partitionToWriteStats", _map_of(_list_of(_STAT))),
    _nullable("compacted", "boolean"),
    _nullable("extraMetadata", _TEXT_MAP),
    _VERSION,
    _nullable("operationType", _TEXT),
)
_CLEAN: Final = _record(
    "HoodieCleanMetadata",
    _field("startCleanTime", _TEXT),
    _field("timeTakenInMillis", "long"),
    _field("totalFilesDeleted", "int"),
    _field("earliestCommitToRetain", _TEXT),
    _default("lastCompletedCommitTimestamp", _TEXT, ""),
    _field(
        "partitionMetadata",
        _map_of(
            _record(
                "HoodieCleanPartitionMetadata",
                _field("partitionPath", _TEXT),
                _field("policy", _TEXT),
                _field("deletePathPatterns", _TEXTS),
                _field("successDeleteFiles", _TEXTS),
                _field("failedDeleteFiles", _TEXTS),
                _nullable("isPartitionDeleted", "boolean"),
            )
        ),
    ),
    _VERSION,
    _nullable("bootstrapPartitionMetadata", _map_of("HoodieCleanPartitionMetadata")),
    _nullable("extraMetadata", _TEXT_MAP),
)
_OLD_COMPACTION: Final = _record(
    "HoodieCompactionMetadata",
    _field(
        "partitionToCompactionWriteStats",
        [
            "null",
            _map_of(
                _list_of(
                    _record(
                        "HoodieCompactionWriteStat",
                        _nullable("partitionPath", _TEXT),
                        *(_nullable(name, "long") for name in ("totalLogRecords", "totalLogFiles")),
                        _nullable("totalUpdatedRecordsCompacted", "long"),
                        _nullable("hoodieWriteStat", "HoodieWriteStat"),
                    )
                )
            ),
        ],
    ),
)
_ROLLBACK: Final = _record(
    "HoodieRollbackMetadata",
    _field("startRollbackTime", _TEXT),
    _field("timeTakenInMillis", "long"),
    _field("totalFilesDeleted", "int"),
    _field("commitsRollback", _TEXTS),
    _field(
        "partitionMetadata",
        _map_of(
            _record(
                "HoodieRollbackPartitionMetadata",
                _field("partitionPath", _TEXT),
                _field("successDeleteFiles", _TEXTS),
                _field("failedDeleteFiles", _TEXTS),
                _nullable("rollbackLogFiles", _map_of("long")),
                _nullable("logFilesFromFailedCommit", _map_of("long")),
            )
        ),
    ),
    _VERSION,
    _default(
        "instantsRollback",
        _list_of(
            _record("HoodieInstantInfo", _field("commitTime", _TEXT), _field("action", _TEXT))
        ),
        [],
    ),
)
_SAVEPOINT: Final = _record(
    "HoodieSavepointMetadata",
    _field("savepointedBy", _TEXT),
    _field("savepointedAt", "long"),
    _field("comments", _TEXT),
    _field(
        "partitionMetadata",
        _map_of(
            _record(
                "HoodieSavepointPartitionMetadata",
                _field("partitionPath", _TEXT),
                _field("savepointDataFile", _TEXTS),
            )
        ),
    ),
    _VERSION,
)
_COMPACTION_PLAN: Final = _record(
    "HoodieCompactionPlan",
    _nullable(
        "operations",
        _list_of(
            _record(
                "HoodieCompactionOperation",
                _field("baseInstantTime", ["null", _TEXT]),
                _nullable("deltaFilePaths", _TEXTS),
                _nullable("dataFilePath", _TEXT),
                _field("fileId", ["null", _TEXT]),
                _nullable("partitionPath", _TEXT),
                _nullable("metrics", _map_of("double")),
                _nullable("bootstrapFilePath", _TEXT),
            )
        ),
    ),
    _nullable("extraMetadata", _TEXT_MAP),
    _VERSION,
    _nullable(
        "strategy",
        _record(
            "HoodieCompactionStrategy",
            _nullable("compactorClassName", _TEXT),
            _nullable("strategyParams", _TEXT_MAP),
            _VERSION,
        ),
    ),
    _default("preserveHoodieMetadata", ["boolean", "null"], False),
    _nullable("missingSchedulePartitions", _TEXTS),
)
_CLEAN_PLAN: Final = _record(
    "HoodieCleanerPlan",
    _nullable(
        "earliestInstantToRetain",
        _record(
            "HoodieActionInstant",
            *(_field(name, _TEXT) for name in ("timestamp", "action", "state")),
        ),
    ),
    _default("lastCompletedCommitTimestamp", _TEXT, ""),
    _field("policy", _TEXT),
    _nullable("filesToBeDeletedPerPartition", _map_of(_TEXTS)),
    _VERSION,
    _nullable(
        "filePathsToBeDeletedPerPartition",
        _map_of(
            _list_of(
                _record(
                    "HoodieCleanFileInfo",
                    _nullable("filePath", _TEXT),
                    _nullable("isBootstrapBaseFile", "boolean"),
                )
            )
        ),
    ),
    _nullable("partitionsToBeDeleted", _TEXTS),
    _nullable("extraMetadata", _TEXT_MAP),
)
_REPLACE: Final = _record(
    "HoodieReplaceCommitMetadata",
    _nullable("partitionToWriteStats", _map_of(_list_of("HoodieWriteStat"))),
    _nullable("compacted", "boolean"),
    _nullable("extraMetadata", _TEXT_MAP),
    _VERSION,
    _nullable("operationType", _TEXT),
    _nullable("partitionToReplaceFileIds", _map_of(_TEXTS)),
)
_CLUSTERING_GROUP: Final = _record(
    "HoodieClusteringGroup",
    _nullable(
        "slices",
        _list_of(
            _record(
                "HoodieSliceInfo",
                _nullable("dataFilePath", _TEXT),
                _nullable("deltaFilePaths", _TEXTS),
                _field("fileId", ["null", _TEXT]),
                _nullable("partitionPath", _TEXT),
                _nullable("bootstrapFilePath", _TEXT),
                _VERSION,
            )
        ),
    ),
    _nullable("metrics", _map_of("double")),
    _default("numOutputFileGroups", ["int", "null"], 1),
    _nullable("extraMetadata", _TEXT_MAP),
    _VERSION,
)
_REQUESTED_REPLACE: Final = _record(
    "HoodieRequestedReplaceMetadata",
    _nullable("operationType", _TEXT),
    _nullable(
        "clusteringPlan",
        _record(
            "HoodieClusteringPlan",
            _nullable("inputGroups", _list_of(_CLUSTERING_GROUP)),
            _nullable(
                "strategy",
                _record(
                    "HoodieClusteringStrategy",
                    _nullable("strategyClassName", _TEXT),
                    _nullable("strategyParams", _TEXT_MAP),
                    _VERSION,
                ),
            ),
            _nullable("extraMetadata", _TEXT_MAP),
            _VERSION,
            _nullable("preserveHoodieMetadata", "boolean"),
            _nullable("missingSchedulePartitions", _TEXTS),
        ),
    ),
    _nullable("extraMetadata", _TEXT_MAP),
    _VERSION,
)
_INDEX: Final = _record(
    "HoodieIndexCommitMetadata",
    _VERSION,
    _nullable("operationType", _TEXT),
    _nullable(
        "indexPartitionInfos",
        _list_of(
            _record(
                "HoodieIndexPartitionInfo",
                _VERSION,
                _nullable("metadataPartitionPath", _TEXT),
                _nullable("indexUptoInstant", _TEXT),
                _nullable("extraMetadata", _TEXT_MAP),
            )
        ),
    ),
)

ENTRY: Final[dict[str, Any]] = {
    **_record(
        "HoodieArchivedMetaEntry",
        _nullable("hoodieCommitMetadata", _COMMIT),
        _nullable("hoodieCleanMetadata", _CLEAN),
        _nullable("hoodieCompactionMetadata", _OLD_COMPACTION),
        _nullable("hoodieRollbackMetadata", _ROLLBACK),
        _nullable("hoodieSavePointMetadata", _SAVEPOINT),
        _nullable("commitTime", _TEXT),
        _nullable("actionType", _TEXT),
        _VERSION,
        _nullable("hoodieCompactionPlan", _COMPACTION_PLAN),
        _nullable("hoodieCleanerPlan", _CLEAN_PLAN),
        _nullable("actionState", _TEXT),
        _nullable("hoodieReplaceCommitMetadata", _REPLACE),
        _nullable("hoodieRequestedReplaceMetadata", _REQUESTED_REPLACE),
        _nullable("HoodieInflightReplaceMetadata", "HoodieCommitMetadata"),
        _nullable("hoodieIndexCommitMetadata", _INDEX),
        _nullable("stateTransitionTime", _TEXT),
    ),
    "namespace": "org.apache.hudi.avro.model",
}
"""The schema as JSON values; each nested type is inside its namespace."""
