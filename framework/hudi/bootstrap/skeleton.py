"""The base file of one source file: a skeleton with its meta columns, or a full record file.

Both are a pure function of the source's bytes, the rule and the target, with the source's rows in
order: every attempt makes the same bytes. A skeleton also has the source's row groups.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final
from uuid import NAMESPACE_URL, uuid5

import numpy as np
import pyarrow as pa

from framework.hudi.bootstrap.key_pass import BloomChoice, KeyFacts, KeyPass
from framework.hudi.bootstrap.seqno_pages import RowNumbers
from framework.hudi.bootstrap.skeleton_bytes import SkeletonBytes
from framework.hudi.bootstrap.source_file import SourceReader
from framework.hudi.codecs.bloom import BloomSpec
from framework.hudi.filegroup import base_file
from framework.hudi.filegroup.base_file import (
    BLOOM,
    BLOOM_TYPE,
    MAX_KEY,
    MIN_KEY,
    check_keys,
    key_digest,
)
from framework.hudi.filegroup.slices import BaseFileName
from framework.hudi.keygen.rule import KeyRule
from framework.hudi.table.calendar import GREGORIAN
from framework.hudi.table.layout import META_COLUMNS
from framework.hudi.table.partition_path import PartitionValue
from framework.vocabulary import BootstrapMode

__all__ = [
    "SKELETON_SCHEMA",
    "SOURCE",
    "BaseFileTarget",
    "WrittenBaseFile",
    "base_file_name",
    "file_id",
    "key_footers",
    "write_full_record",
    "write_skeleton",
]

SOURCE: Final = "lakestrap.source"
"""The fingerprint of the source file, as written by `Fingerprint.as_json`."""
SKELETON_SCHEMA: Final = json.dumps(
    {
        "type": "record",
        "name": "HoodieRecordKey",
        "doc": "",
        "fields": [
            {"name": name, "type": ["null", "string"], "doc": "", "default": None}
            for name in META_COLUMNS
        ],
    },
    separators=(",", ":"),
)
"""Avro schema of a skeleton; without a namespace, as Apache Hudi writes it."""


def file_id(source_path: str, mode: BootstrapMode) -> str:
    """Return the file id for a source file, given its path relative to the source root.

    A skeleton's id is a bare UUID, as Apache Hudi's are; a full file's has the usual `-0`
    (format sheet, section 3.1).
    """
    name = str(uuid5(NAMESPACE_URL, f"lakestrap:{source_path}"))
    return name if mode is BootstrapMode.METADATA_ONLY else f"{name}-0"


def base_file_name(identity: str, number: int, instant: str) -> str:
    """Return the base file's name; the write token contains the file's inventory number."""
    return str(BaseFileName(file_id=identity, write_token=f"{number}-0-0", instant=instant))


def key_footers(keys: KeyPass, bloom: BloomSpec | None, avro_schema: str) -> dict[str, str]:
    """Return the footer entries that Apache Hudi's writers read, also for a file without rows.

    A file without keys has no least and greatest key, but still an (empty) bloom filter.
    """
    facts = keys.facts()
    found = {"parquet.avro.schema": avro_schema, "writer.model.name": "avro"}
    text = keys.bloom_footer()
    if bloom and text is not None:
        found |= {BLOOM: text, BLOOM_TYPE: bloom.type_code}
    if facts.min_key is not None and facts.max_key is not None:
        found |= {MIN_KEY: facts.min_key, MAX_KEY: facts.max_key}
    return found


@dataclass(frozen=True, slots=True, kw_only=True)
class BaseFileTarget:
    """The base file to write, and its rule.

    Attributes:
        instant: requested time of the commit.
        number: the source file's position in the inventory.
        partition_path: the same in Hudi and in the source.
        file_id: identifies the file group.
        name: file name of the base file.
        rule: rule of the rows' keys.
        values: typed values of the partition's folder.
        key_schema: Arrow fields of the key columns, in the table's types.
        bloom: the bloom filter to build.
    """

    instant: str
    number: int
    partition_path: str
    file_id: str
    name: str
    rule: KeyRule
    values: dict[str, PartitionValue]
    key_schema: Any
    bloom: BloomChoice

    @property
    def numbers(self) -> RowNumbers:
        """The start of sequence numbers and automatic keys."""
        return RowNumbers(instant=self.instant, number=self.number)


@dataclass(frozen=True, slots=True, kw_only=True)
class WrittenBaseFile:
    """A base file's bytes and the facts of its keys.

    Attributes:
        data: the whole file.
        facts: facts of the keys, verified against the bytes.
        hashes: one uint64 per row, in order.
    """

    data: bytes
    facts: KeyFacts
    hashes: np.ndarray


def write_skeleton(source: SourceReader, target: BaseFileTarget) -> WrittenBaseFile:
    """Return the skeleton of `source`, after verifying its keys by reading them back.

    Holds the skeleton's bytes, eight bytes per row, and one row group's keys in memory.

    Raises:
        CorruptFileError: `source/corrupt-data`, `bootstrap/read-back-differs`.
    """
    bloom = target.bloom.spec(source.fingerprint.rows)
    keys = KeyPass(target.rule, target.values, bloom, target.numbers)
    out = SkeletonBytes(
        numbers=target.numbers,
        partition_path=target.partition_path,
        name=target.name,
        numbers_are_keys=target.rule.is_automatic,
    )
    digests = []
    schema = source.schema_for_keys(target.key_schema, target.values)
    for group in source.row_groups():
        texts = [keys.add(batch) for batch in source.batches(group, schema)]
        out.add_row_group(texts)
        digests.append(key_digest(texts))
    footers = key_footers(keys, bloom, SKELETON_SCHEMA) | {SOURCE: source.fingerprint.as_json()}
    data = out.finish(footers)
    check_keys(data, digests, target.name)
    return WrittenBaseFile(data=data, facts=keys.facts(), hashes=keys.hash64())


_CHUNK_ROWS: Final = 1 << 20
_NONE: Final = np.empty(0, np.int64)


def write_full_record(
    source: SourceReader,
    target: BaseFileTarget,
    schema: Any,
    avro_schema: str,
    *,
    gone: np.ndarray = _NONE,
) -> WrittenBaseFile:
    """Return the full base file of `source`, after verifying its keys by reading them back.

    Row groups are those of the source, without the rows in `gone`; a group without rows is omitted
    unless it is the first. Holds the file's bytes, eight bytes per row, and one row group in
    memory.

    Args:
        source: the file that contains the rows.
        target: names and rule.
        schema: the table's Arrow schema without meta columns; columns are cast to it, columns from
            the folder are filled, absent ones are null.
        avro_schema: the same with meta columns, for the footer.
        gone: positions of rows to omit, ascending.

    Raises:
        CorruptFileError: `source/corrupt-data`, `source/value-does-not-fit`,
            `bootstrap/read-back-differs`.
    """
    bloom = target.bloom.spec(source.fingerprint.rows)
    keys = KeyPass(target.rule, target.values, bloom, target.numbers)
    key_schema = source.schema_for_keys(target.key_schema, target.values)
    writing = _Writing(target, schema)
    digests: list[base_file.KeyDigest] = []
    before = 0
    for group in source.row_groups():
        whole = list(source.batches(group, schema))
        batches = list(_without(whole, before, gone)) if gone.size else whole
        before += sum(batch.num_rows for batch in whole)
        if gone.size and digests and not any(batch.num_rows for batch in batches):
            continue
        texts = [keys.add(batch.select(key_schema.names)) for batch in batches]
        writing.add_row_group([_filled(batch, source, target) for batch in batches], texts)
        digests.append(base_file.key_digest(texts))
    data = writing.finish({**key_footers(keys, bloom, avro_schema), **GREGORIAN})
    base_file.check_keys(data, digests, target.name)
    return WrittenBaseFile(data=data, facts=keys.facts(), hashes=keys.hash64())


def _without(batches: Sequence[Any], before: int, gone: np.ndarray) -> Iterator[Any]:
    """Yield batches without the rows at `gone`; `before` rows of the file precede them."""
    for batch in batches:
        end = before + batch.num_rows
        first, last = np.searchsorted(gone, [before, end]).tolist()
        stays = np.ones(batch.num_rows, dtype=bool)
        stays[gone[first:last] - before] = False
        yield batch.filter(pa.array(stays))
        before = end


class _Writing:
    """Builder of one full file in memory, row group by row group."""

    def __init__(self, target: BaseFileTarget, schema: Any) -> None:
        self._constants = (target.instant, target.partition_path, target.name)
        self._numbers = target.numbers
        self._rows = 0
        self._out = base_file.BaseFileBytes(schema)

    def add_row_group(self, batches: Sequence[Any], texts: Sequence[Any]) -> None:
        """Write batches of data columns with their keys as one row group."""
        rows = sum(map(len, texts))
        seqno = pa.chunked_array(
            [
                self._numbers.texts(self._rows + at, min(_CHUNK_ROWS, rows - at))
                for at in range(0, rows, _CHUNK_ROWS)
            ],
            pa.string(),
        )
        time, partition, name = (base_file.constant(text, rows) for text in self._constants)
        keys = pa.chunked_array(texts, pa.string())
        data = pa.Table.from_batches(batches).columns
        self._out.add_row_group([time, seqno, keys, partition, name, *data])
        self._rows += rows

    def finish(self, footers: dict[str, str]) -> bytes:
        """Close the file with these key-values and return its bytes."""
        return self._out.finish(footers)


def _filled(batch: Any, source: SourceReader, target: BaseFileTarget) -> Any:
    """Return the batch with the folder's values in columns that the file lacks."""
    for name, value in target.values.items():
        at = batch.schema.get_field_index(name)
        if source.lacks(name) and at >= 0:
            field = batch.schema.field(at)
            column = pa.repeat(pa.scalar(value, field.type), batch.num_rows)
            batch = batch.set_column(at, field, column)
    return batch
