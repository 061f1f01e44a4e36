"""The bytes of one new log file: written rows, then deleted keys.

At most one block of each kind (format sheet, sections 6.2 to 6.4). The data block is a whole
Parquet file, which readers of every release accept and which keeps Arrow's types. The delete block
deletes keys regardless of their rows' ordering values, the only semantics on which all releases
agree; a caller drops late deletes that should lose beforehand.
"""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
import pyarrow.parquet as pq

from framework.hudi.codecs.log_format import BlockKind, HeaderKey, encode_block
from framework.hudi.codecs.log_records import encode_deletes
from framework.hudi.codecs.parquet_seal import blank_seal, sealed
from framework.hudi.filegroup.base_file import leaf_paths
from framework.hudi.table.calendar import GREGORIAN
from framework.hudi.table.layout import META_COLUMNS

__all__ = ["log_file_bytes"]


def log_file_bytes(
    instant: str,
    avro_schema: str,
    *,
    rows: pa.Table | None = None,
    deleted: Sequence[tuple[str, str]] = (),
) -> bytes:
    """Return a whole log file; equal arguments give equal bytes.

    The data block comes first, so a key in both is deleted. Holds the file in memory; Java holds
    each block in one array, so the caller must keep a file under 2 GiB.

    Args:
        instant: requested time of the commit that writes it; the file's name has another instant.
        avro_schema: of the rows, as JSON, with the meta columns; required for deletes too.
        rows: the five meta columns, then the table's. Unlike in a base file, `_hoodie_file_name` is
            the file id alone, filled in by the caller. None writes no data block.
        deleted: record key and partition path of each; empty writes no delete block.

    Raises:
        ValueError: neither is given, or the rows do not start with the meta columns.
    """
    if rows is None and not deleted:
        raise ValueError("a log file without rows and keys")
    header = {HeaderKey.INSTANT_TIME: instant, HeaderKey.SCHEMA: avro_schema}
    blocks = []
    if rows is not None:
        content = _parquet(rows, avro_schema)
        blocks.append(encode_block(BlockKind.PARQUET_DATA, header, content))
    if deleted:
        blocks.append(encode_block(BlockKind.DELETE, header, encode_deletes(deleted)))
    return b"".join(blocks)


def _parquet(rows: pa.Table, avro_schema: str) -> bytes:
    """Return the rows as a Parquet file with the footer entries that Java's readers use."""
    if tuple(rows.schema.names[: len(META_COLUMNS)]) != META_COLUMNS:
        raise ValueError(f"rows of a log file start with {META_COLUMNS}")
    sink = pa.BufferOutputStream()
    with pq.ParquetWriter(
        sink, rows.schema, compression="zstd", store_schema=False, write_page_checksum=True
    ) as writer:
        writer.write_table(rows, row_group_size=max(1, rows.num_rows))
        seal = blank_seal(len(leaf_paths(rows.schema)))
        writer.add_key_value_metadata({"parquet.avro.schema": avro_schema, **GREGORIAN, **seal})
    return sealed(sink.getvalue())
