"""The requested file of a replacecommit: an empty plan, or a clustering (format sheet, 2.7)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from framework.hudi.codecs.avro import write_container
from framework.hudi.filegroup.slices import FileSlice

__all__ = [
    "REQUESTED_REPLACE",
    "ClusteredGroup",
    "clustering_plan_bytes",
    "requested_replace_bytes",
]

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


def _nullable(name: str, kind: Any) -> dict[str, Any]:
    """Return a field that is null by default."""
    return {"name": name, "type": ["null", kind], "default": None}


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
_PLAN: Final = _record(
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
    _nullable("clusteringPlan", _PLAN),
    _nullable("extraMetadata", _map_of("string")),
    _VERSION,
)
"""The complete schema, so that a reader of any release finds every field it needs."""
