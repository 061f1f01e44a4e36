"""How many bytes keys take in a skeleton, estimated from the first rows of a source file."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
import pyarrow.parquet as pq

from framework.hudi.bootstrap.key_pass import KeyPass
from framework.hudi.bootstrap.row_numbers import RowNumbers
from framework.hudi.bootstrap.skeleton_bytes import SkeletonBytes
from framework.hudi.table.layout import BOOTSTRAP_INSTANT, MetaField

if TYPE_CHECKING:
    from collections.abc import Mapping

    from framework.hudi.bootstrap.source_file import SourceReader
    from framework.hudi.keygen.rule import KeyRule
    from framework.hudi.table.partition_path import PartitionValue

__all__ = ["SAMPLE_ROWS", "sample_keys"]

SAMPLE_ROWS: Final = 1 << 15
"""Rows that are looked at; keys compress no better with more of them in a page."""

_TOLD: Final = frozenset({MetaField.RECORD_KEY.value, MetaField.COMMIT_SEQNO.value})


def sample_keys(
    source: SourceReader, rule: KeyRule, values: Mapping[str, PartitionValue], key_schema: Any
) -> tuple[int, int]:
    """Return rows that were looked at, and bytes of their keys and sequence numbers.

    Reads the key columns of the first row group that has rows; of a file without rows it is (0, 0).

    Raises:
        CorruptFileError: as of `SourceReader.batches`.
    """
    group = next(source.row_groups(), None)
    if group is None:
        return 0, 0
    schema = source.schema_for_keys(key_schema, values)
    batch = next(source.batches(group, schema)).slice(0, SAMPLE_ROWS)
    numbers = RowNumbers(instant=BOOTSTRAP_INSTANT, number=0)
    out = SkeletonBytes(
        numbers=numbers, partition_path="", name="", numbers_are_keys=rule.is_automatic
    )
    out.add_row_group([KeyPass(rule, values, None, numbers).add(batch)])
    columns = pq.read_metadata(pa.BufferReader(out.finish({}))).row_group(0)
    chunks = (columns.column(at) for at in range(columns.num_columns))
    return batch.num_rows, sum(c.total_compressed_size for c in chunks if c.path_in_schema in _TOLD)
