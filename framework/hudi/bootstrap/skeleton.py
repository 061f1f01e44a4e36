"""Writing one skeleton: the meta columns of one source file, row group for row group.

A pure function of the source's bytes, the rule and the target: every attempt makes the same bytes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from framework.hudi.bootstrap.footers import SKELETON_SCHEMA, SOURCE, key_footers
from framework.hudi.bootstrap.key_pass import BloomChoice, KeyFacts, KeyPass
from framework.hudi.bootstrap.row_numbers import RowNumbers
from framework.hudi.bootstrap.skeleton_bytes import SkeletonBytes
from framework.hudi.filegroup.read_back import check_keys, key_digest

if TYPE_CHECKING:
    import numpy as np

    from framework.hudi.bootstrap.source_file import SourceReader
    from framework.hudi.keygen.rule import KeyRule
    from framework.hudi.table.partition_path import PartitionValue

__all__ = ["BaseFileTarget", "WrittenBaseFile", "write_skeleton"]


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
