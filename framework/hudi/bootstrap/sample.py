"""A sample of a source: what its keys and rows weigh, and how long this machine takes for them.

Only estimates depend on it. Durations are CPU time of the calling thread, nanoseconds.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, Final

import pyarrow as pa
import pyarrow.parquet as pq

from framework.hudi.bootstrap.key_pass import KeyPass
from framework.hudi.bootstrap.skeleton import BaseFileTarget
from framework.hudi.bootstrap.skeleton_bytes import SkeletonBytes
from framework.hudi.bootstrap.source_file import SourceReader
from framework.hudi.filegroup.base_file import row_group_file
from framework.hudi.table.layout import MetaField

__all__ = ["SAMPLE_ROWS", "Sample", "fastest", "sample_file"]

SAMPLE_ROWS: Final = 1 << 15
"""Rows in the sample of a file; keys compress no better with more of them in a page."""

_MOST_VALUES: Final = 1 << 20
"""Values that are encoded at most with all columns: some 30 ms, whatever the number of columns."""
_SAMPLED: Final = frozenset({MetaField.RECORD_KEY.value, MetaField.COMMIT_SEQNO.value})


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """Sums over the sampled files.

    Attributes:
        files: sampled files that have rows.
        rows: sampled rows.
        key_bytes: compressed bytes of their keys and sequence numbers.
        key_ns: duration of reading, making and encoding their keys, with the bloom filter.
        file_ns: duration of opening the files, which the caller measures, and of closing their
            skeletons.
        stored_bytes: bytes in the source files, by their footers, of rows that were encoded with
            all columns; 0 if none was.
        rewritten_bytes: bytes of these rows in a base file, without meta columns.
        rewrite_ns: duration of reading and encoding them.
    """

    files: int = 0
    rows: int = 0
    key_bytes: int = 0
    key_ns: int = 0
    file_ns: int = 0
    stored_bytes: int = 0
    rewritten_bytes: int = 0
    rewrite_ns: int = 0

    def __add__(self, other: Sample) -> Sample:
        """Return the sums of both samples."""
        return Sample(
            **{f.name: getattr(self, f.name) + getattr(other, f.name) for f in fields(Sample)}
        )


def fastest(turns: Sequence[Sample]) -> Sample:
    """Return the sample of one file that was sampled several times, with its shortest durations.

    Turns without rewritten rows do not count for these.
    """
    whole = (turn for turn in turns if turn.rewrite_ns)
    rewritten = min(whole, key=lambda turn: turn.rewrite_ns, default=turns[0])
    return replace(
        rewritten,
        key_ns=min(turn.key_ns for turn in turns),
        file_ns=min(turn.file_ns for turn in turns),
    )


def sample_file(
    source: SourceReader, target: BaseFileTarget, schema: Any, *, rewrites: bool
) -> Sample:
    """Return the sample of one file: at most `SAMPLE_ROWS` rows of its first row group with rows.

    An empty sample for a file without rows.

    Args:
        source: the file.
        target: its base file.
        schema: the table's Arrow schema without meta columns.
        rewrites: whether all columns are encoded too, as in a full base file.

    Raises:
        CorruptFileError: as in `SourceReader.batches`.
    """
    group = next(source.row_groups(), None)
    if group is None:
        return Sample()
    out = SkeletonBytes(
        numbers=target.numbers,
        partition_path=target.partition_path,
        name=target.name,
        numbers_are_keys=target.rule.is_automatic,
    )
    bloom = target.bloom.spec(source.fingerprint.rows)
    keys = KeyPass(target.rule, target.values, bloom, target.numbers)
    wanted = source.schema_for_keys(target.key_schema, target.values)
    begun = time.thread_time_ns()
    batch = next(source.batches(group, wanted, most=SAMPLE_ROWS))
    out.add_row_group([keys.add(batch)])
    key_ns = time.thread_time_ns() - begun
    begun = time.thread_time_ns()
    data = out.finish({})
    file_ns = time.thread_time_ns() - begun
    columns = pq.read_metadata(pa.BufferReader(data)).row_group(0)
    chunks = (columns.column(at) for at in range(columns.num_columns))
    found = Sample(
        files=1,
        rows=batch.num_rows,
        key_bytes=sum(c.total_compressed_size for c in chunks if c.path_in_schema in _SAMPLED),
        key_ns=key_ns,
        file_ns=file_ns,
    )
    return found + _rewritten(source, group, schema) if rewrites else found


def _rewritten(source: SourceReader, group: int, schema: Any) -> Sample:
    """Return the sample of rows with all columns, encoded as in a base file."""
    rows = min(SAMPLE_ROWS, max(1, _MOST_VALUES // len(schema)))
    begun = time.thread_time_ns()
    batch = next(source.batches(group, schema, most=rows))
    data = row_group_file(pa.Table.from_batches([batch]))
    return Sample(
        rewrite_ns=time.thread_time_ns() - begun,
        rewritten_bytes=data.size,
        stored_bytes=source.stored_bytes(group)
        * batch.num_rows
        // source.fingerprint.row_groups[group],
    )
