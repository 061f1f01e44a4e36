"""The task that reads footers, and the listing of the files to read."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final
from uuid import uuid4

import pyarrow as pa

from framework.engine.tasks import decode, encode
from framework.hudi.bootstrap.discovery import SourceFile
from framework.hudi.bootstrap.fingerprint import read_footer
from framework.hudi.bootstrap.inventory import INVENTORY_SCHEMA
from framework.hudi.bootstrap.source_schema import SchemaCache, SchemaFacts, encode_schema
from framework.hudi.storage.locations import open_storage
from framework.hudi.storage.overlap import overlapped
from framework.hudi.storage.port import Storage
from framework.hudi.table.layout import join
from framework.vocabulary import SourceTrait

__all__ = [
    "LISTING_BATCH",
    "Examples",
    "FooterShare",
    "FooterTask",
    "SeenSchema",
    "footers_task",
    "write_listing",
]

LISTING_BATCH: Final = 4096
_LISTED: Final = ("partition_path", "path", "size", "mtime_ns", "etag")
_LISTING_SCHEMA: Final = pa.schema([INVENTORY_SCHEMA.field(name) for name in _LISTED])
_SEGMENT_SCHEMA: Final = pa.schema([f for f in INVENTORY_SCHEMA if f.name != "number"])


@dataclass(frozen=True, slots=True, kw_only=True)
class FooterTask:
    """Some consecutive files of a listing.

    Attributes:
        source: location of the source root.
        work: location of a folder for listing and results.
        listing: path in it.
        start: place of the first file in the listing, inclusive.
        stop: place after the last file, exclusive.
    """

    source: str
    work: str
    listing: str
    start: int
    stop: int


@dataclass(slots=True, kw_only=True)
class SeenSchema:
    """A schema, encoded, with the path of the first file that has it, and how many files do."""

    schema: str
    example: str
    files: int = 0


Examples = dict[str, dict[str, tuple[str, str]]]
"""Partition path to trait to the first file that has it, and the column."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FooterShare:
    """The result of a footer task.

    Attributes:
        start: as in the task.
        path: the files, as a stream of `INVENTORY_SCHEMA` without `number`.
        schemas: by their hash, in order of first occurrence.
        examples: of traits.
    """

    start: int
    path: str
    schemas: dict[str, SeenSchema] = field(default_factory=dict)
    examples: Examples = field(default_factory=dict)


def write_listing(storage: Storage, path: str, files: Iterable[SourceFile]) -> int:
    """Write the files in order, in batches of a fixed size; return their number."""
    count = 0
    with storage.create(path) as out, pa.ipc.new_file(out, _LISTING_SCHEMA) as writer:
        rows: list[tuple[Any, ...]] = []
        for file in files:
            rows.append((file.partition_path, file.path, file.size, file.mtime_ns, file.etag))
            count += 1
            if len(rows) == LISTING_BATCH:
                writer.write_batch(_listing_batch(rows))
                rows = []
        if rows:
            writer.write_batch(_listing_batch(rows))
    return count


def footers_task(descriptor: str) -> str:
    """Read the footers of a `FooterTask`; return the `FooterShare` as JSON.

    Raises:
        CorruptFileError: see `read_footer`; the first such file in order.
        StorageError: a file cannot be opened.
    """
    task = decode(FooterTask, descriptor)
    work = open_storage(task.work)
    share = FooterShare(start=task.start, path=join("footers", f"{uuid4().hex}.arrow"))
    gathering = _Gathering(open_storage(task.source), share)
    with work.open_input(task.listing) as stream:
        reader = pa.ipc.open_file(stream)
        for index in range(task.start // LISTING_BATCH, -(-task.stop // LISTING_BATCH)):
            first = index * LISTING_BATCH
            begin = max(task.start - first, 0)
            rows = reader.get_batch(index).slice(begin, task.stop - first - begin).to_pylist()
            gathering.add_all(rows)
    table = pa.table(gathering.columns, schema=_SEGMENT_SCHEMA)
    with work.create(share.path) as out, pa.ipc.new_stream(out, _SEGMENT_SCHEMA) as writer:
        writer.write_table(table)
    return encode(share)


class _Gathering:
    """Reads footers one by one and collects the inventory's columns."""

    def __init__(self, source: Storage, share: FooterShare) -> None:
        self._source = source
        self._share = share
        self._cache = SchemaCache()
        self.columns: dict[str, list[Any]] = {name: [] for name in _SEGMENT_SCHEMA.names}

    def add_all(self, listed: Iterable[Mapping[str, Any]]) -> None:
        """Read the footers of rows of the listing, in order."""

        def opened(row: Mapping[str, Any]) -> tuple[Mapping[str, Any], Any]:
            """Return a row and its open file."""
            return row, self._source.open_input(row["path"])

        for row, opened_file in overlapped(self._source, opened, listed):
            self._add(row, opened_file)

    def _add(self, listed: Mapping[str, Any], opened: Any) -> None:
        """Read the footer of one row of the listing."""
        path = listed["path"]
        with opened as stream:
            footer = read_footer(stream, stream.size(), f"{self._source.location}/{path}")
            size = stream.size()
        facts = self._cache.facts(footer.metadata)
        found = {**footer.traits, **({SourceTrait.COLON_NAME: ""} if ":" in path else {})}
        row = {
            **listed,
            "size": size,
            "footer_length": footer.length,
            "footer_sha256": bytes.fromhex(footer.sha256),
            "rows": footer.metadata.num_rows,
            "row_groups": list(footer.row_groups),
            "schema_hash": facts.hash,
            "traits": sorted({*facts.traits, *found}),
        }
        for name, value in row.items():
            self.columns[name].append(value)
        self._count(facts, path)
        if found:
            examples = self._share.examples.setdefault(listed["partition_path"], {})
            for trait, column in found.items():
                examples.setdefault(trait, (path, column))

    def _count(self, facts: SchemaFacts, path: str) -> None:
        """Count one more file with this schema."""
        known = self._share.schemas.get(facts.hash)
        if known is None:
            known = SeenSchema(schema=encode_schema(facts.schema), example=path)
            self._share.schemas[facts.hash] = known
        known.files += 1


def _listing_batch(rows: list[tuple[Any, ...]]) -> Any:
    columns = [list(column) for column in zip(*rows, strict=True)]
    arrays = [pa.array(c, f.type) for c, f in zip(columns, _LISTING_SCHEMA, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, schema=_LISTING_SCHEMA)
