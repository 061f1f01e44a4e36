"""The task that reads footers, and the listing that says which."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final
from uuid import uuid4

import pyarrow as pa

from framework.engine.tasks import decode
from framework.hudi.bootstrap.fingerprint import read_footer
from framework.hudi.bootstrap.inventory import INVENTORY_SCHEMA
from framework.hudi.bootstrap.source_schema import SchemaCache, SchemaFacts, encode_schema
from framework.hudi.storage.locations import open_storage
from framework.hudi.table.layout import join
from framework.vocabulary import SourceTrait

if TYPE_CHECKING:
    from collections.abc import Iterable

    from framework.hudi.bootstrap.discovery import SourceFile
    from framework.hudi.storage.port import Storage

__all__ = ["LISTING_BATCH", "FooterTask", "footers_task", "write_listing"]

LISTING_BATCH: Final = 4096
_LISTED: Final = ("partition_path", "path", "size", "mtime_ns")
_LISTING_SCHEMA: Final = pa.schema([INVENTORY_SCHEMA.field(name) for name in _LISTED])
_SEGMENT_SCHEMA: Final = pa.schema([f for f in INVENTORY_SCHEMA if f.name != "number"])


@dataclass(frozen=True, slots=True, kw_only=True)
class FooterTask:
    """Some neighbouring files of a listing.

    Attributes:
        source: location of the source root.
        work: location of a folder for listing and results.
        listing: path in it.
        start: place of the first file in the listing.
        stop: the place after the last.
    """

    source: str
    work: str
    listing: str
    start: int
    stop: int


def write_listing(storage: Storage, path: str, files: Iterable[SourceFile]) -> int:
    """Write the files as they come, in batches of a fixed size; return how many."""
    count = 0
    with storage.create(path) as out, pa.ipc.new_file(out, _LISTING_SCHEMA) as writer:
        rows: list[tuple[Any, ...]] = []
        for file in files:
            rows.append((file.partition_path, file.path, file.size, file.mtime_ns))
            count += 1
            if len(rows) == LISTING_BATCH:
                writer.write_batch(_listing_batch(rows))
                rows = []
        if rows:
            writer.write_batch(_listing_batch(rows))
    return count


def footers_task(descriptor: str) -> str:
    """Read the footers of a `FooterTask`; return where they are and their schemas, as JSON.

    The JSON has `start`, `path`, `schemas`: hash to `schema` (encoded), `example` (path) and
    `files`, and `examples`: partition path to trait to the first file and column that have it.

    Raises:
        CorruptFileError: as of `read_footer`; the first such file in order.
        StorageError: a file cannot be opened.
    """
    task = decode(FooterTask, descriptor)
    work = open_storage(task.work)
    gathering = _Gathering(open_storage(task.source))
    with work.open_input(task.listing) as stream:
        reader = pa.ipc.open_file(stream)
        for index in range(task.start // LISTING_BATCH, -(-task.stop // LISTING_BATCH)):
            first = index * LISTING_BATCH
            begin = max(task.start - first, 0)
            for row in reader.get_batch(index).slice(begin, task.stop - first - begin).to_pylist():
                gathering.add(row)
    path = join("footers", f"{uuid4().hex}.arrow")
    table = pa.table(gathering.columns, schema=_SEGMENT_SCHEMA)
    with work.create(path) as out, pa.ipc.new_stream(out, _SEGMENT_SCHEMA) as writer:
        writer.write_table(table)
    found = {"schemas": gathering.schemas, "examples": gathering.examples}
    return json.dumps({"start": task.start, "path": path, **found})


class _Gathering:
    """Reads footers one by one and keeps what an inventory needs."""

    def __init__(self, source: Storage) -> None:
        self._source = source
        self._cache = SchemaCache()
        self.columns: dict[str, list[Any]] = {name: [] for name in _SEGMENT_SCHEMA.names}
        self.schemas: dict[str, dict[str, Any]] = {}
        self.examples: dict[str, dict[str, tuple[str, str]]] = {}

    def add(self, listed: dict[str, Any]) -> None:
        """Read one listed file's footer."""
        path = listed["path"]
        with self._source.open_input(path) as stream:
            footer = read_footer(stream, stream.size(), f"{self._source.location}/{path}")
            size = stream.size()
        facts = self._cache.facts(footer.metadata)
        found = {**footer.traits, **({SourceTrait.COLON_NAME: ""} if ":" in path else {})}
        row = listed | {
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
            examples = self.examples.setdefault(listed["partition_path"], {})
            for trait, column in found.items():
                examples.setdefault(trait, (path, column))

    def _count(self, facts: SchemaFacts, path: str) -> None:
        """Count one more file with this schema."""
        known = self.schemas.get(facts.hash)
        if known is None:
            known = {"schema": encode_schema(facts.schema), "example": path, "files": 0}
            self.schemas[facts.hash] = known
        known["files"] += 1


def _listing_batch(rows: list[tuple[Any, ...]]) -> Any:
    """Return rows of the listing as a record batch."""
    columns = [list(column) for column in zip(*rows, strict=True)]
    arrays = [pa.array(c, f.type) for c, f in zip(columns, _LISTING_SCHEMA, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, schema=_LISTING_SCHEMA)
