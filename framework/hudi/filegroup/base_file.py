"""The bytes of a base file with all its columns (format sheet, sections 3.2 and 3.3)."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
import pyarrow.parquet as pq

from framework.hudi.table.layout import META_COLUMNS, MetaField

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["META_FIELDS", "BaseFileBytes", "constant"]

_DELTA: Final = (MetaField.COMMIT_SEQNO.value, MetaField.RECORD_KEY.value)
_CONSTANT: Final = pa.dictionary(pa.int32(), pa.string())

META_FIELDS: Final = [
    pa.field(name, pa.string() if name in _DELTA else _CONSTANT) for name in META_COLUMNS
]
"""The meta columns as they are handed over: those with few distinct values as dictionaries."""


class BaseFileBytes:
    """Makes one base file in memory, row group by row group."""

    def __init__(self, schema: pa.Schema) -> None:
        """Begin a file of the table's columns `schema`, without meta columns."""
        self._sink = pa.BufferOutputStream()
        self._schema: pa.Schema = pa.schema([*META_FIELDS, *schema])
        self._writer = pq.ParquetWriter(
            self._sink,
            self._schema,
            compression="zstd",
            use_dictionary=[path for path in _leaf_paths(self._schema) if path not in _DELTA],
            column_encoding=dict.fromkeys(_DELTA, "DELTA_BYTE_ARRAY"),
            store_schema=False,
        )

    def add_row_group(self, columns: list[Any]) -> None:
        """Write the meta columns, then the others, as one row group."""
        table = pa.Table.from_arrays(columns, schema=self._schema)
        self._writer.write_table(table, row_group_size=max(1, table.num_rows))

    def finish(self, footers: Mapping[str, str]) -> bytes:
        """Close the file with these key-values and return its bytes."""
        self._writer.add_key_value_metadata(dict(footers))
        self._writer.close()
        return bytes(self._sink.getvalue().to_pybytes())


def constant(text: str, rows: int) -> pa.DictionaryArray:
    """Return a column that has one text in all its rows."""
    places: Any = pa.repeat(pa.scalar(0, pa.int32()), rows)
    return pa.DictionaryArray.from_arrays(places, pa.array([text], pa.string()))


@lru_cache(maxsize=8)
def _leaf_paths(schema: Any) -> tuple[str, ...]:
    """Return the Parquet paths of the leaf columns, which nested columns have several of."""
    sink = pa.BufferOutputStream()
    pq.write_table(schema.empty_table(), sink, store_schema=False)
    columns = pq.read_metadata(pa.BufferReader(sink.getvalue())).schema
    return tuple(columns.column(at).path for at in range(len(columns)))
