"""Writes archive files: log files of Avro blocks, as Apache Hudi 1.2.0 does at version 6.

Each archival makes a file of its own, numbered after the newest, and complete before it has its
name. Apache Hudi's own files may hold an instant again; readers count it once.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

import fastavro

from framework.errors import CorruptFileError, Where
from framework.hudi.codecs.avro import AVRO_FAULTS
from framework.hudi.codecs.log_format import BlockKind, HeaderKey, encode_block
from framework.hudi.codecs.log_records import encode_records
from framework.hudi.storage.port import Storage
from framework.hudi.table.layout import ARCHIVED, HOODIE, join, name_of
from framework.hudi.timeline.archive import ARCHIVE_PROPERTIES, archive_files
from framework.hudi.timeline.archive_schema import ENTRY

__all__ = ["archive_bytes", "newest_first", "next_archive_file"]

_NUMBER: Final = re.compile(r"\.commits_.*\.archive\.([0-9]+).*")
_SCHEMA_TEXT: Final = json.dumps(ENTRY, separators=(",", ":"))
_SCHEMA: Final = fastavro.parse_schema(json.loads(_SCHEMA_TEXT))
_RECORDS_OF_A_BLOCK: Final = 10
"""As many as Apache Hudi puts in one (`hoodie.commits.archival.batch`)."""


def archive_bytes(entries: Sequence[Mapping[str, Any]], *, where: Where | None = None) -> bytes:
    """Return the file that holds these entries, in their order.

    Args:
        entries: as `archive_entries` returns them.
        where: the location for errors.

    Raises:
        CorruptFileError: `timeline/not-archivable`; an instant's file has values of other types.
    """
    starts = range(0, len(entries), _RECORDS_OF_A_BLOCK)
    blocks = (entries[start : start + _RECORDS_OF_A_BLOCK] for start in starts)
    return b"".join(_block(each, where or Where()) for each in blocks)


def _block(entries: Sequence[Mapping[str, Any]], where: Where) -> bytes:
    """Return one block."""
    try:
        content = encode_records(entries, _SCHEMA)
    except (*AVRO_FAULTS, AttributeError) as error:
        raise CorruptFileError(
            "timeline/not-archivable",
            f"an instant from {entries[0]['commitTime']} to {entries[-1]['commitTime']} has values "
            f"that the archive has no place for: {error}",
            where=where,
            remedy="Nothing was archived. The file of the instant is damaged, or of a release that "
            "is not known; let Apache Hudi archive.",
        ) from error
    return encode_block(BlockKind.AVRO_DATA, {HeaderKey.SCHEMA: _SCHEMA_TEXT}, content)


def newest_first(storage: Storage, properties: Mapping[str, str]) -> tuple[str, ...]:
    """Return the paths of all archive files, the one with the greatest number first.

    Costs one listing per folder that may hold some.
    """
    return tuple(sorted(archive_files(storage, properties), key=_number, reverse=True))


def next_archive_file(storage: Storage, properties: Mapping[str, str]) -> str:
    """Return the path of the file that a next archival makes."""
    numbers = map(_number, archive_files(storage, properties))
    folder = properties.get(ARCHIVE_PROPERTIES[0])
    place = join(HOODIE, folder) if folder else ARCHIVED
    return join(place, f".commits_.archive.{max(numbers, default=0) + 1}_1-0-1")


def _number(path: str) -> int:
    """Return the number of an archive file."""
    found = _NUMBER.fullmatch(name_of(path))
    return int(found[1]) if found else 0
