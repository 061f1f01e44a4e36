"""Avro schemas of the bootstrap index's values (format sheet, section 4.5).

Every field is nullable, null first, as in Hudi. Defaults are left out: a writer's schema needs
none, and each value carries its schema.
"""

from __future__ import annotations

from typing import Any, Final

__all__ = ["FILE_PARTITION_INFO", "INDEX_INFO", "PARTITION_METADATA"]


def _record(name: str, **fields: Any) -> dict[str, Any]:
    """Return a record whose first field is the version of Hudi's metadata records."""
    typed = {"version": "int", **fields}
    return {
        "type": "record",
        "name": name,
        "namespace": "org.apache.hudi.avro.model",
        "fields": [{"name": field, "type": ["null", kind]} for field, kind in typed.items()],
    }


_FILE_STATUS: Final = _record(
    "HoodieFileStatus",
    path=_record("HoodiePath", uri="string"),
    length="long",
    isDir="boolean",
    blockReplication="int",
    blockSize="long",
    modificationTime="long",
    accessTime="long",
    permission=_record(
        "HoodieFSPermission",
        userAction="string",
        groupAction="string",
        otherAction="string",
        stickyBit="boolean",
    ),
    owner="string",
    group="string",
    symlink="HoodiePath",
)

INDEX_INFO: Final = _record(
    "HoodieBootstrapIndexInfo", bootstrapBasePath="string", createdTimestamp="long", numKeys="int"
)
PARTITION_METADATA: Final = _record(
    "HoodieBootstrapPartitionMetadata",
    bootstrapPartitionPath="string",
    partitionPath="string",
    fileIdToBootstrapFile={"type": "map", "values": _FILE_STATUS},
)
FILE_PARTITION_INFO: Final = _record(
    "HoodieBootstrapFilePartitionInfo",
    bootstrapPartitionPath="string",
    bootstrapFileStatus=_FILE_STATUS,
    partitionPath="string",
)
