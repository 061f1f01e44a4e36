"""Requested files: of a compaction, and of a replacecommit (format sheet, section 2.7).

A compaction has the slices to compact; a replacecommit has an empty plan, or a clustering.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from framework.hudi.codecs.avro import ContainerFormat, write_container
from framework.hudi.filegroup.slices import FileSlice
from framework.hudi.table.layout import name_of

__all__ = [
    "REQUESTED_REPLACE",
    "ClusteredGroup",
    "clustering_plan_bytes",
    "compaction_plan_bytes",
    "requested_replace_bytes",
]

_NAMES_WITHOUT_FOLDERS: Final = 2


def compaction_plan_bytes(slices: Iterable[FileSlice], extra: Mapping[str, str]) -> bytes:
    """Return a requested compaction of these slices; `extra` is its `extraMetadata`."""
    return _COMPACTION.write(
        {
            "operations": [_operation(each) for each in slices],
            "extraMetadata": dict(sorted(extra.items())),
            "version": _NAMES_WITHOUT_FOLDERS,
            "preserveHoodieMetadata": True,
        }
    )


def _operation(found: FileSlice) -> dict[str, Any]:
    """Return the entry of one slice."""
    logs = sum(each.size for each in found.logs)
    base = found.base.size if found.base else 0
    return {
        "baseInstantTime": found.base_instant,
        "deltaFilePaths": [name_of(each.path) for each in found.logs],
        "dataFilePath": name_of(found.base.path) if found.base else None,
        "fileId": found.group.file_id,
        "partitionPath": found.group.partition_path,
        "metrics": {
            "TOTAL_LOG_FILES": float(len(found.logs)),
            "TOTAL_LOG_FILES_SIZE": float(logs),
            "TOTAL_IO_READ_MB": float((base + logs) >> 20),
            "TOTAL_IO_WRITE_MB": float(base >> 20),
            "TOTAL_IO_MB": float((2 * base + logs) >> 20),
        },
        "bootstrapFilePath": found.bootstrap.uri if found.bootstrap else None,
    }


def _nullable(name: str, kind: Any) -> dict[str, Any]:
    """Return a field that may be null, and is by default."""
    return {"name": name, "type": ["null", kind], "default": None}


_TEXTS: Final = {"type": "map", "values": "string"}
_OPERATION: Final = {
    "type": "record",
    "name": "HoodieCompactionOperation",
    "fields": [
        {"name": "baseInstantTime", "type": ["null", "string"]},
        _nullable("deltaFilePaths", {"type": "array", "items": "string"}),
        _nullable("dataFilePath", "string"),
        {"name": "fileId", "type": ["null", "string"]},
        _nullable("partitionPath", "string"),
        _nullable("metrics", {"type": "map", "values": "double"}),
        _nullable("bootstrapFilePath", "string"),
    ],
}
_COMPACTION: Final = ContainerFormat(
    {
        "type": "record",
        "name": "HoodieCompactionPlan",
        "namespace": "org.apache.hudi.avro.model",
        "fields": [
            _nullable("operations", {"type": "array", "items": _OPERATION}),
            _nullable("extraMetadata", _TEXTS),
            {"name": "version", "type": ["int", "null"], "default": 1},
            {"name": "preserveHoodieMetadata", "type": ["boolean", "null"], "default": False},
        ],
    }
)


_NAMESPACE: Final = "org.apache.hudi.avro.model"
_VERSION: Final = {"name": "version", "type": ["int", "null"], "default": 1}
_STRATEGY_CLASS: Final = (
    "org.apache.hudi.client.clustering.run.strategy.SparkSortAndSizeExecutionStrategy"
)
"""With it Apache Hudi could execute the plan, with the same result but for its linear order."""
_SORT_COLUMNS: Final = "hoodie.clustering.plan.strategy.sort.columns"


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusteredGroup:
    """Slices of one partition that are written together, as `outputs` new file groups at most."""

    slices: tuple[FileSlice, ...]
    outputs: int


def requested_replace_bytes(extra: Mapping[str, str]) -> bytes:
    """Return the file of a requested replacecommit that clusters nothing.

    Args:
        extra: the file's `extraMetadata`; equal mappings give equal bytes.
    """
    said = {name: extra[name] for name in sorted(extra)}
    record = {"operationType": None, "clusteringPlan": None, "extraMetadata": said, "version": 1}
    return write_container(REQUESTED_REPLACE, record)


def clustering_plan_bytes(
    location: str, groups: Iterable[ClusteredGroup], by: Sequence[str], extra: Mapping[str, str]
) -> bytes:
    """Return the file of a requested clustering.

    Args:
        location: the table's.
        groups: the slices.
        by: columns that rows are sorted by; may be empty.
        extra: the file's `extraMetadata`.
    """
    plan = {
        "inputGroups": [_group(location, each) for each in groups],
        "strategy": {
            "strategyClassName": _STRATEGY_CLASS,
            "strategyParams": {_SORT_COLUMNS: ",".join(by)} if by else {},
            "version": 1,
        },
        "extraMetadata": {},
        "version": 1,
        "preserveHoodieMetadata": True,
    }
    record = {
        "operationType": "CLUSTER",
        "clusteringPlan": plan,
        "extraMetadata": dict(sorted(extra.items())),
        "version": 1,
    }
    return write_container(REQUESTED_REPLACE, record)


def _group(location: str, group: ClusteredGroup) -> dict[str, Any]:
    """Return the entry of slices that are written together."""
    read = float(sum(each.bytes_to_read for each in group.slices) >> 20)
    logs = sum(len(each.logs) for each in group.slices)
    return {
        "slices": [_slice(location, each) for each in group.slices],
        "metrics": {
            "TOTAL_LOG_FILES": float(logs),
            "TOTAL_IO_READ_MB": read,
            "TOTAL_IO_WRITE_MB": read,
            "TOTAL_IO_MB": 2 * read,
        },
        "numOutputFileGroups": group.outputs,
        "extraMetadata": {},
        "version": 1,
    }


def _slice(location: str, found: FileSlice) -> dict[str, Any]:
    """Return the entry of one slice, with the full paths of its files."""
    return {
        "dataFilePath": f"{location}/{found.base.path}" if found.base else "",
        "deltaFilePaths": [f"{location}/{each.path}" for each in found.logs],
        "fileId": found.group.file_id,
        "partitionPath": found.group.partition_path,
        "bootstrapFilePath": found.bootstrap.uri if found.bootstrap else "",
        "version": 1,
    }


def _record(name: str, *fields: dict[str, Any]) -> dict[str, Any]:
    return {"type": "record", "name": name, "namespace": _NAMESPACE, "fields": list(fields)}


def _list_of(kind: Any) -> dict[str, Any]:
    return {"type": "array", "items": kind}


def _map_of(kind: Any) -> dict[str, Any]:
    return {"type": "map", "values": kind}


_SLICE: Final = _record(
    "HoodieSliceInfo",
    _nullable("dataFilePath", "string"),
    _nullable("deltaFilePaths", _list_of("string")),
    {"name": "fileId", "type": ["null", "string"]},
    _nullable("partitionPath", "string"),
    _nullable("bootstrapFilePath", "string"),
    _VERSION,
)
_GROUP: Final = _record(
    "HoodieClusteringGroup",
    _nullable("slices", _list_of(_SLICE)),
    _nullable("metrics", _map_of("double")),
    {"name": "numOutputFileGroups", "type": ["int", "null"], "default": 1},
    _nullable("extraMetadata", _map_of("string")),
    _VERSION,
)
_STRATEGY: Final = _record(
    "HoodieClusteringStrategy",
    _nullable("strategyClassName", "string"),
    _nullable("strategyParams", _map_of("string")),
    _VERSION,
)
_CLUSTERING: Final = _record(
    "HoodieClusteringPlan",
    _nullable("inputGroups", _list_of(_GROUP)),
    _nullable("strategy", _STRATEGY),
    _nullable("extraMetadata", _map_of("string")),
    _VERSION,
    _nullable("preserveHoodieMetadata", "boolean"),
)
REQUESTED_REPLACE: Final = _record(
    "HoodieRequestedReplaceMetadata",
    _nullable("operationType", "string"),
    _nullable("clusteringPlan", _CLUSTERING),
    _nullable("extraMetadata", _map_of("string")),
    _VERSION,
)
"""The complete schema, so that a reader of any release finds every field it needs."""
