"""The requested file of a compaction, with the slices to compact (format sheet, section 2.7)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from framework.hudi.codecs.avro import ContainerFormat
from framework.hudi.filegroup.slices import FileSlice
from framework.hudi.table.layout import name_of

__all__ = ["compaction_plan_bytes"]

_NAMES_WITHOUT_FOLDERS: Final = 2


def compaction_plan_bytes(slices: Iterable[FileSlice], extra: Mapping[str, str]) -> bytes:
    """Return a requested compaction of these slices; `extra` is its `extraMetadata`."""
    return _PLAN.write(
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
_PLAN: Final = ContainerFormat(
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
