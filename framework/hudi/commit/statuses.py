"""Files to be added to a table: their statuses, written or audited."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final, Self

import pyarrow as pa

from framework.hudi.bootstrap.inventory import InventoryFile
from framework.hudi.bootstrap.key_pass import KeyFacts
from framework.hudi.commit.segments import SEGMENT_SCHEMA, SegmentRef
from framework.vocabulary import BootstrapMode

__all__ = [
    "AuditedFiles",
    "FileStatus",
    "SourceFileStatus",
    "Statuses",
    "WrittenFiles",
    "written_files",
]

_GATHERED: Final = 1024
_GATHERED_SCHEMA: Final = pa.schema([each for each in SEGMENT_SCHEMA if each.name != "crc32c"])
"""A segment's columns without checksums, which are known once all files are stored."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WrittenFiles:
    """Files that successful tasks reported.

    Attributes:
        segments: the segments with their statuses, ordered by first number.
        files: their number.
        rows: total rows.
        bytes: total size.
    """

    segments: tuple[SegmentRef, ...]
    files: int
    rows: int
    bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditedFiles:
    """Written files that passed the audits; only the audit step creates one.

    Attributes:
        written: the files that were audited.
        proof: JSON-ready record of what was proven and how; it is stored in the commit.
    """

    written: WrittenFiles
    proof: Mapping[str, object]


def written_files(segments: Iterable[SegmentRef]) -> WrittenFiles:
    """Return the segments with their totals."""
    ordered = tuple(sorted(segments, key=lambda each: (each.first, each.path)))
    return WrittenFiles(
        segments=ordered,
        files=sum(each.files for each in ordered),
        rows=sum(each.rows for each in ordered),
        bytes=sum(each.bytes for each in ordered),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class FileStatus:
    """A written file; attributes as in `SEGMENT_SCHEMA`."""

    number: int
    partition_path: str
    rows: int
    inserts: int
    min_key: str | None
    max_key: str | None
    file_id: str = ""
    name: str = ""
    staged: str = ""
    size: int = 0
    previous: str | None = None
    updates: int = 0
    deletes: int = 0
    base_name: str | None = None
    null_keys: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceFileStatus(FileStatus):
    """A file written from one source file, all of whose rows are new."""

    mode: BootstrapMode
    source_path: str
    source_size: int
    source_mtime_ns: int
    order_first: bytes | None
    order_last: bytes | None
    increasing: bool
    injective: bool
    null_keys: int

    @classmethod
    def of(cls, file: InventoryFile, mode: BootstrapMode, facts: KeyFacts) -> Self:
        """Return the status of a source file for which nothing is written."""
        return cls(
            number=file.number,
            partition_path=file.partition_path,
            inserts=facts.rows,
            mode=mode,
            source_path=file.fingerprint.path,
            source_size=file.fingerprint.size,
            source_mtime_ns=file.fingerprint.mtime_ns,
            **asdict(facts),
        )


class Statuses:
    """Collects statuses, in batches as Arrow, which takes a tenth of the memory."""

    def __init__(self) -> None:
        self._rows: list[tuple[Any, ...]] = []
        self._tables: list[pa.Table] = []

    def add(self, status: FileStatus) -> None:
        """Add a status."""
        self._rows.append(tuple(getattr(status, name, None) for name in _GATHERED_SCHEMA.names))
        if len(self._rows) >= _GATHERED:
            self._gather()

    def table(self, checksums: Sequence[int] | None = None) -> pa.Table:
        """Return all statuses in the order they were added, with the CRC32C of each file.

        Without `checksums`, because nothing was written, they are 0.
        """
        self._gather()
        found = pa.concat_tables([_GATHERED_SCHEMA.empty_table(), *self._tables])
        column = pa.array(checksums or [0] * found.num_rows, pa.uint32())
        return found.append_column("crc32c", column).select(SEGMENT_SCHEMA.names)

    def _gather(self) -> None:
        """Convert the newest statuses to Arrow."""
        columns = list(zip(*self._rows, strict=True)) or [()] * len(_GATHERED_SCHEMA)
        arrays = [pa.array(c, f.type) for c, f in zip(columns, _GATHERED_SCHEMA, strict=True)]
        self._tables.append(pa.Table.from_arrays(arrays, schema=_GATHERED_SCHEMA))
        self._rows = []
