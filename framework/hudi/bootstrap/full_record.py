"""Writing one full base file: every column of one source file, meta columns first, row for row."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from framework.hudi.bootstrap.footers import key_footers
from framework.hudi.bootstrap.key_pass import KeyPass
from framework.hudi.bootstrap.read_back import check_keys, key_digest
from framework.hudi.bootstrap.skeleton import WrittenBaseFile
from framework.hudi.table.layout import META_COLUMNS, MetaField

if TYPE_CHECKING:
    from collections.abc import Sequence

    from framework.hudi.bootstrap.skeleton import BaseFileTarget
    from framework.hudi.bootstrap.source_file import SourceReader

__all__ = ["write_full_record"]

_CHUNK_ROWS: Final = 1 << 20
_CONSTANT: Final = pa.dictionary(pa.int32(), pa.string())
_DELTA: Final = (MetaField.COMMIT_SEQNO.value, MetaField.RECORD_KEY.value)
_META: Final = [
    pa.field(name, pa.string() if name in _DELTA else _CONSTANT) for name in META_COLUMNS
]


def write_full_record(
    source: SourceReader, target: BaseFileTarget, schema: Any, avro_schema: str
) -> WrittenBaseFile:
    """Return the full base file of `source`; its keys were read back and compared.

    Row groups are those of the source. Holds in memory the file's bytes, eight bytes per row, and
    one row group.

    Args:
        source: where the rows are from.
        target: names and rule.
        schema: the table's Arrow schema without meta columns; columns are cast to it, those that
            only the folder has are filled from it, absent ones are null.
        avro_schema: the same with meta columns, for the footer.

    Raises:
        CorruptFileError: `source/corrupt-data`, `source/value-does-not-fit`,
            `bootstrap/read-back-differs`.
    """
    bloom = target.bloom.spec(source.fingerprint.rows)
    keys = KeyPass(target.rule, target.values, bloom, target.numbers)
    key_schema = source.schema_for_keys(target.key_schema, target.values)
    writing = _Writing(target, schema)
    digests = []
    for group in source.row_groups():
        batches = list(source.batches(group, schema))
        texts = [keys.add(batch.select(key_schema.names)) for batch in batches]
        writing.add_row_group([_filled(batch, source, target) for batch in batches], texts)
        digests.append(key_digest(texts))
    data = writing.finish(key_footers(keys, bloom, avro_schema))
    check_keys(data, digests, target.name)
    return WrittenBaseFile(data=data, facts=keys.facts(), hashes=keys.hash64())


class _Writing:
    """Makes one full file in memory, row group by row group."""

    def __init__(self, target: BaseFileTarget, schema: Any) -> None:
        self._constants = (target.instant, target.partition_path, target.name)
        self._numbers = target.numbers
        self._rows = 0
        self._sink = pa.BufferOutputStream()
        self._schema = pa.schema([*_META, *schema])
        self._writer = pq.ParquetWriter(
            self._sink,
            self._schema,
            compression="zstd",
            use_dictionary=[path for path in _leaf_paths(self._schema) if path not in _DELTA],
            column_encoding=dict.fromkeys(_DELTA, "DELTA_BYTE_ARRAY"),
            store_schema=False,
        )

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
        zeros = pa.array(np.zeros(rows, np.int32))
        time, partition, name = (
            pa.DictionaryArray.from_arrays(zeros, pa.array([text], pa.string()))
            for text in self._constants
        )
        keys = pa.chunked_array(texts, pa.string())
        data = pa.Table.from_batches(batches).columns
        columns = [time, seqno, keys, partition, name, *data]
        table = pa.Table.from_arrays(columns, schema=self._schema)
        self._writer.write_table(table, row_group_size=rows)
        self._rows += rows

    def finish(self, footers: dict[str, str]) -> bytes:
        """Close the file with these key-values and return its bytes."""
        self._writer.add_key_value_metadata(footers)
        self._writer.close()
        return bytes(self._sink.getvalue().to_pybytes())


def _filled(batch: Any, source: SourceReader, target: BaseFileTarget) -> Any:
    """Return the batch with the folder's values in the columns that the file leaves to it."""
    for name, value in target.values.items():
        at = batch.schema.get_field_index(name)
        if source.lacks(name) and at >= 0:
            field = batch.schema.field(at)
            column = pa.repeat(pa.scalar(value, field.type), batch.num_rows)
            batch = batch.set_column(at, field, column)
    return batch


@lru_cache(maxsize=8)
def _leaf_paths(schema: Any) -> tuple[str, ...]:
    """Return the Parquet paths of the leaf columns, which nested columns have several of."""
    sink = pa.BufferOutputStream()
    pq.write_table(schema.empty_table(), sink, store_schema=False)
    columns = pq.read_metadata(pa.BufferReader(sink.getvalue())).schema
    return tuple(columns.column(at).path for at in range(len(columns)))
