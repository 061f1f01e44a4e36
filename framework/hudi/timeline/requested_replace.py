"""What a requested replacecommit holds: a plan in Avro (format sheet, sections 2.4 and 2.7).

Only clustering has a plan to tell. An insert overwrite or a dropped partition leaves every field
null, and readers take a null operation for "no clustering"; so what we have to say of ourselves
stands in `extraMetadata` alone, where `read_commit_head` finds it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from framework.hudi.codecs.avro import write_container

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["REQUESTED_REPLACE", "requested_replace_bytes"]

_NAMESPACE: Final = "org.apache.hudi.avro.model"
_VERSION: Final = {"name": "version", "type": ["int", "null"], "default": 1}


def requested_replace_bytes(extra: Mapping[str, str]) -> bytes:
    """Return the file of a requested replacecommit that clusters nothing.

    Args:
        extra: what the file says under `extraMetadata`; equal mappings give equal bytes.
    """
    said = {name: extra[name] for name in sorted(extra)}
    record = {"operationType": None, "clusteringPlan": None, "extraMetadata": said, "version": 1}
    return write_container(REQUESTED_REPLACE, record)


def _record(name: str, *fields: dict[str, Any]) -> dict[str, Any]:
    """Return a record schema."""
    return {"type": "record", "name": name, "namespace": _NAMESPACE, "fields": list(fields)}


def _nullable(name: str, kind: Any) -> dict[str, Any]:
    """Return a field that may be null, and is by default."""
    return {"name": name, "type": ["null", kind], "default": None}


def _list_of(kind: Any) -> dict[str, Any]:
    """Return an array's schema."""
    return {"type": "array", "items": kind}


def _map_of(kind: Any) -> dict[str, Any]:
    """Return a map's schema."""
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
"""The schema, whole, so that a reader of any release finds every field it asks for."""
