"""Paths inside a table (format sheet, sections 1.1 and 4.4), and its partition metadata (3.5).

Paths are relative to the table's root, with `/` between segments and no `/` at either end; `""` is
the root.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum, unique
from typing import Final, Self

from framework.errors import CorruptFileError, Where
from framework.hudi.codecs.java_properties import parse, render

__all__ = [
    "ADOPTED_FILEIDS_INDEX",
    "ADOPTED_PARTITIONS_INDEX",
    "ARCHIVED",
    "AUX",
    "BOOTSTRAP_FILEIDS_INDEX",
    "BOOTSTRAP_INSTANT",
    "BOOTSTRAP_PARTITIONS_INDEX",
    "HOODIE",
    "LAKESTRAP",
    "LAYOUT_VERSION",
    "LEASE",
    "METADATA_TABLE",
    "META_COLUMNS",
    "PARTITION_METADATA",
    "PROPERTIES",
    "PROPERTIES_BACKUP",
    "RELOCATED",
    "TABLE_VERSION",
    "TEMP",
    "MetaField",
    "PartitionMetadata",
    "crc_sidecar",
    "join",
    "name_of",
    "parent_of",
    "temp_folder",
    "write_folder",
]

TABLE_VERSION: Final = 6
LAYOUT_VERSION: Final = 1

HOODIE: Final = ".hoodie"
PROPERTIES: Final = ".hoodie/hoodie.properties"
PROPERTIES_BACKUP: Final = ".hoodie/hoodie.properties.backup"
TEMP: Final = ".hoodie/.temp"
AUX: Final = ".hoodie/.aux"
ARCHIVED: Final = ".hoodie/archived"
METADATA_TABLE: Final = ".hoodie/metadata"
PARTITION_METADATA: Final = ".hoodie_partition_metadata"

BOOTSTRAP_INSTANT: Final = "00000000000001"
_INDEX_FILE: Final = f"00000000-0000-0000-0000-000000000000-0_1-0-1_{BOOTSTRAP_INSTANT}.hfile"
BOOTSTRAP_PARTITIONS_INDEX: Final = f"{AUX}/.bootstrap/.partitions/{_INDEX_FILE}"
BOOTSTRAP_FILEIDS_INDEX: Final = f"{AUX}/.bootstrap/.fileids/{_INDEX_FILE}"

LAKESTRAP: Final = ".hoodie/.lakestrap"
LEASE: Final = f"{LAKESTRAP}/lease"
ADOPTED_PARTITIONS_INDEX: Final = f"{LAKESTRAP}/state/adopted-partitions.hfile"
ADOPTED_FILEIDS_INDEX: Final = f"{LAKESTRAP}/state/adopted-fileids.hfile"
"""The bootstrap index before a clean first shrank it: all adopted files; see ADR 0037."""
RELOCATED: Final = f"{LAKESTRAP}/state/relocated.json"
"""Where the source of a bootstrap is, once it was relocated; see ADR 0044."""


@unique
class MetaField(StrEnum):
    """The first five columns of each base file, in file order (format sheet, section 3.2)."""

    COMMIT_TIME = "_hoodie_commit_time"
    COMMIT_SEQNO = "_hoodie_commit_seqno"
    RECORD_KEY = "_hoodie_record_key"
    PARTITION_PATH = "_hoodie_partition_path"
    FILE_NAME = "_hoodie_file_name"


META_COLUMNS: Final[tuple[str, ...]] = tuple(field.value for field in MetaField)


def join(*parts: str) -> str:
    """Return the parts as one path; empty parts, such as the root, add nothing."""
    return "/".join(filter(None, parts))


def parent_of(path: str) -> str:
    """Return the parent folder of `path`; `""` for a name directly below the root."""
    return path.rpartition("/")[0]


def name_of(path: str) -> str:
    """Return the last segment of `path`."""
    return path.rpartition("/")[2]


def crc_sidecar(path: str) -> str:
    """Return the file in which Java's local file system keeps the checksums of `path`.

    Delete it whenever you replace or delete `path`, or Java refuses the new bytes (format sheet,
    section 1.4).
    """
    return join(parent_of(path), f".{name_of(path)}.crc")


def temp_folder(instant: str) -> str:
    """Return the folder of Hudi's markers of `instant`, which may contain nothing else."""
    return join(TEMP, instant)


def write_folder(write_id: str) -> str:
    """Return the private folder of one lakestrap run."""
    return join(LAKESTRAP, write_id)


_COMMIT_TIME = "commitTime"
_DEPTH = "partitionDepth"


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionMetadata:
    """The content of a partition metadata file.

    Attributes:
        commit_time: requested time of the instant that created the partition.
        depth: levels from the table's root down to the partition; 0 for an unpartitioned table.
    """

    commit_time: str
    depth: int

    @classmethod
    def of(cls, partition_path: str, commit_time: str) -> Self:
        """Return the metadata of a partition that `commit_time` creates."""
        depth = partition_path.count("/") + 1 if partition_path else 0
        return cls(commit_time=commit_time, depth=depth)

    @classmethod
    def parse(cls, text: str, file: str) -> Self:
        """Parse the text of `file`.

        Raises:
            CorruptFileError: `partition/bad-metadata`.
        """
        entries = parse(text)
        try:
            return cls(commit_time=entries[_COMMIT_TIME], depth=int(entries[_DEPTH]))
        except (KeyError, ValueError) as error:
            raise CorruptFileError(
                "partition/bad-metadata",
                f"not a partition's metadata: {error!r}",
                where=Where(file=file),
                remedy="Restore the file, or let Apache Hudi's repair command add it again.",
            ) from error

    def render(self) -> str:
        """Return the file's text, without Java's date comment so that retries are equal."""
        pairs = {_COMMIT_TIME: self.commit_time, _DEPTH: str(self.depth)}
        return render(pairs, ("partition metadata",))
