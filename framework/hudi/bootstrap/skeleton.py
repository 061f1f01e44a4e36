"""Writing one skeleton: the meta columns of one source file, row group for row group.

A pure function of the source's bytes, the rule and the target: every attempt makes the same bytes.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, Final
from uuid import NAMESPACE_URL, uuid5

import numpy as np

from framework.hudi.bootstrap.key_pass import BloomChoice, KeyFacts, KeyPass
from framework.hudi.bootstrap.row_numbers import RowNumbers
from framework.hudi.bootstrap.skeleton_bytes import SkeletonBytes
from framework.hudi.bootstrap.source_file import SourceReader
from framework.hudi.codecs.bloom import BloomSpec
from framework.hudi.filegroup.key_footer import BLOOM, BLOOM_TYPE, MAX_KEY, MIN_KEY
from framework.hudi.filegroup.names import BaseFileName
from framework.hudi.filegroup.read_back import check_keys, key_digest
from framework.hudi.keygen.rule import KeyRule
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
    "write_skeleton",
]

SOURCE: Final = "lakestrap.source"
"""The fingerprint of the source file, as `Fingerprint.as_json` writes it."""
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

    A skeleton's is a bare UUID, as Apache Hudi's own are; a full file's has the usual `-0`
    (format sheet, section 3.1).
    """
    name = str(uuid5(NAMESPACE_URL, f"lakestrap:{source_path}"))
    return name if mode is BootstrapMode.METADATA_ONLY else f"{name}-0"


def base_file_name(identity: str, number: int, instant: str) -> str:
    """Return the base file's name; the write token holds the file's number in the inventory."""
    return str(BaseFileName(file_id=identity, write_token=f"{number}-0-0", instant=instant))


def key_footers(keys: KeyPass, bloom: BloomSpec | None, avro_schema: str) -> dict[str, str]:
    """Return the entries that Apache Hudi's writers look for, also for a file without rows.

    A file without keys has no least and greatest key; it still has an (empty) bloom filter.
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
    """Which base file is written, and by which rule.

    Attributes:
        instant: requested time of the commit.
        number: the source file's place in the inventory.
        partition_path: Hudi's, and the source's.
        file_id: names the file group.
        name: file name of the base file.
        rule: how rows get their key.
        values: typed values of the partition's folder.
        key_schema: Arrow fields of the key columns, in the table's types.
        bloom: the filter to make.
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
        """What sequence numbers, and automatic keys, begin with."""
        return RowNumbers(instant=self.instant, number=self.number)


@dataclass(frozen=True, slots=True, kw_only=True)
class WrittenBaseFile:
    """A base file's bytes and what is known of its keys.

    Attributes:
        data: the whole file.
        facts: about the keys, compared with what the bytes hold.
        hashes: one uint64 per row, in order.
    """

    data: bytes
    facts: KeyFacts
    hashes: np.ndarray


def write_skeleton(source: SourceReader, target: BaseFileTarget) -> WrittenBaseFile:
    """Return the skeleton of `source`; its keys were read back and compared.

    Holds in memory the skeleton's bytes, eight bytes per row, and one row group's keys.

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
