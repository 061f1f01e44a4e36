"""Fingerprints, which prove that a source file is unchanged: its facts and its footer's hash.

One read of the file's last 64 KiB serves both the fingerprint and the Parquet metadata.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Final

import pyarrow as pa
import pyarrow.parquet as pq

from framework.errors import CorruptFileError, FrameworkError, SourceDriftError, Where
from framework.hudi.bootstrap.footer_facts import FooterFacts, read_facts
from framework.hudi.bootstrap.source_schema import calendar_traits, format_traits
from framework.hudi.codecs.parquet_seal import UNREADABLE
from framework.vocabulary import SourceTrait

__all__ = ["Fingerprint", "Footer", "drift", "read_footer"]

_TAIL_BYTES: Final = 64 * 1024
_MAGIC: Final = b"PAR1"
_ENCRYPTED: Final = b"PARE"
_TRAILER_BYTES: Final = 8
_SMALLEST: Final = 12


@dataclass(frozen=True, slots=True, kw_only=True)
class Footer:
    """A Parquet file's footer.

    Attributes:
        metadata: `pyarrow.parquet.FileMetaData`.
        length: bytes of the Thrift structure, without the eight bytes that follow it.
        sha256: hash of these bytes, lower-case hexadecimal.
        row_groups: rows of each row group, in file order.
        traits: traits of codecs, encodings, types and days, each with its first column; empty if
            the footer was known.
    """

    metadata: Any
    length: int
    sha256: str
    row_groups: tuple[int, ...]
    traits: Mapping[SourceTrait, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Fingerprint:
    """The recorded identity of one source file (reliability.md, section 5.F).

    Attributes:
        path: relative to the source root.
        size: bytes.
        mtime_ns: last modification, nanoseconds since the epoch.
        footer_length: `length` of `Footer`.
        footer_sha256: `sha256` of `Footer`.
        rows: rows of the file.
        row_groups: rows of each row group, in file order.
        schema_hash: as in `framework.hudi.bootstrap.source_schema.SchemaFacts`.
        etag: an object store's name for these very bytes; empty for other files.
    """

    path: str
    size: int
    mtime_ns: int
    footer_length: int
    footer_sha256: str
    rows: int
    row_groups: tuple[int, ...]
    schema_hash: str
    etag: str = ""

    def as_json(self) -> str:
        """Return the text of a skeleton's footer `lakestrap.source`; without an empty ETag."""
        known = {name: value for name, value in asdict(self).items() if value != ""}
        return json.dumps(known, separators=(",", ":"), ensure_ascii=False)

    @classmethod
    def from_json(cls, text: str | bytes) -> Fingerprint:
        """Return the fingerprint that `as_json` wrote.

        Raises:
            CorruptFileError: `source/bad-fingerprint`.
        """
        try:
            value: Mapping[str, Any] = json.loads(text)
            return cls(**{**value, "row_groups": tuple(value["row_groups"])})
        except (KeyError, TypeError, ValueError) as error:
            raise CorruptFileError(
                "source/bad-fingerprint", f"not a fingerprint: {error!r}"
            ) from error


def read_footer(stream: Any, size: int, file: str, known: Fingerprint | None = None) -> Footer:
    """Return the footer of the Parquet file in `stream`.

    Costs one read of at most 64 KiB, a second one if the footer is larger, and a parse of the
    footer unless it matches `known`.

    Args:
        stream: a `pyarrow.NativeFile`; its position changes.
        size: bytes of the file.
        file: its full location, for errors.
        known: the fingerprint from an earlier read of the file.

    Raises:
        CorruptFileError: `source/zero-bytes`, `source/not-parquet`, `source/truncated`,
            `source/encrypted`, `source/data-elsewhere`, `source/corrupt-footer`.
    """
    if size == 0:
        raise _bad("zero-bytes", "the file is empty (0 bytes)", file, 0)
    tail = _read(stream, max(0, size - _TAIL_BYTES), size)
    length = _footer_length(tail, size, file, stream)
    start = size - _TRAILER_BYTES - length
    if length + _TRAILER_BYTES > len(tail):
        tail = _read(stream, start, size)
    raw = memoryview(tail)[len(tail) - _TRAILER_BYTES - length : len(tail) - _TRAILER_BYTES]
    try:
        metadata = pq.ParquetFile(pa.BufferReader(tail)).metadata
    except pa.ArrowNotImplementedError as error:
        raise _bad("not-supported", f"the footer is not supported: {error}", file, start) from error
    except UNREADABLE as error:
        raise _bad("corrupt-footer", f"the footer cannot be read: {error}", file, start) from error
    digest = hashlib.sha256(raw).hexdigest()
    if known is not None and known.footer_sha256 == digest:
        groups, traits = known.row_groups, {}
    else:
        facts = _facts(bytes(raw), metadata.num_rows, start, file)
        groups = facts.row_groups
        traits = format_traits(facts) | calendar_traits(metadata, facts)
    return Footer(metadata=metadata, length=length, sha256=digest, row_groups=groups, traits=traits)


def drift(expected: Fingerprint, what: str, root: str) -> SourceDriftError:
    """Return the error for a source file below `root` that has changed."""
    return SourceDriftError(
        "source/drift",
        f"the source file changed since it was fingerprinted: {what}",
        where=Where(file=f"{root}/{expected.path}"),
        remedy="Stop all writers to the source, then run the same command again.",
    )


def _read(stream: Any, start: int, stop: int) -> Any:
    """Return the bytes from `start` (inclusive) to `stop` as an Arrow buffer."""
    stream.seek(start)
    return stream.read_buffer(stop - start)


def _footer_length(tail: Any, size: int, file: str, stream: Any) -> int:
    """Return the footer length from the last eight bytes, after checking magic and bounds."""
    end = bytes(memoryview(tail)[-_TRAILER_BYTES:])
    if size < _SMALLEST or end[4:] != _MAGIC:
        raise _no_magic(end[4:], file, size, bytes(memoryview(_read(stream, 0, min(4, size)))))
    length = int.from_bytes(end[:4], "little")
    if length > size - _SMALLEST:
        raise _bad("corrupt-footer", f"the footer claims {length} bytes", file, size - 8)
    return length


def _no_magic(end: bytes, file: str, size: int, head: bytes) -> FrameworkError:
    """Return the error for a file that does not end as a Parquet file."""
    if end == _ENCRYPTED:
        return _bad("encrypted", "the Parquet footer is encrypted", file, size - 4)
    if head == _MAGIC:
        return _bad("truncated", "the Parquet file is truncated: its end is missing", file, size)
    return _bad("not-parquet", "the file is not Parquet", file, 0)


def _facts(raw: bytes, rows: int, start: int, file: str) -> FooterFacts:
    """Return the footer's facts, after checking that its data can be read.

    `start` is the footer's offset in its file, before which all data must end.
    """
    try:
        facts = read_facts(raw)
    except ValueError as error:
        raise _bad("corrupt-footer", f"the footer cannot be read: {error}", file, start) from error
    if facts.is_encrypted:
        raise _bad("encrypted", "columns of the file are encrypted", file, start)
    if facts.is_elsewhere:
        raise _bad("data-elsewhere", "the file's columns are in other files", file, start)
    if sum(facts.row_groups) != rows or min(facts.row_groups, default=0) < 0:
        raise _bad("corrupt-footer", "the row counts of row groups and file differ", file, start)
    if facts.data_end > start:
        raise _bad("truncated", "the footer points past itself; data is missing", file, start)
    return facts


def _bad(condition: str, message: str, file: str, offset: int) -> CorruptFileError:
    """Return the typed error for bytes that are not a usable source file."""
    return CorruptFileError(
        f"source/{condition}",
        message,
        where=Where(file=file, offset=offset),
        remedy="Restore the file, or move it out of the source folder.",
    )
