"""Where keys can be read again: from staged base files, or from the source by the key rule."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq

from framework.errors import CorruptFileError, Where
from framework.hudi.bootstrap.inventory import InventoryHandle, read_files
from framework.hudi.bootstrap.source_file import open_source
from framework.hudi.bootstrap.source_schema import decode_schema
from framework.hudi.keygen.rule import KeyRule
from framework.hudi.keygen.text import null_rows, record_keys
from framework.hudi.storage.opening import open_storage
from framework.hudi.table.layout import MetaField
from framework.hudi.table.partition_path import partition_values

if TYPE_CHECKING:
    from collections.abc import Iterator

    import numpy as np

__all__ = ["KeySource", "key_batches", "source_keys", "source_null_rows", "staged_keys"]


@dataclass(frozen=True, slots=True, kw_only=True)
class KeySource:
    """How the keys of a source are made, as JSON-able fields.

    Attributes:
        source: location of the source root.
        inventory: fields of the `InventoryHandle`.
        rule: as `KeyRule.as_json` gives it.
        key_schema: encoded Arrow schema of the key columns that files have, in the table's types.
    """

    source: str
    inventory: dict[str, Any]
    rule: dict[str, Any]
    key_schema: str

    @property
    def key_rule(self) -> KeyRule:
        """The rule."""
        return KeyRule.from_json(self.rule)

    @property
    def handle(self) -> InventoryHandle:
        """The inventory."""
        return InventoryHandle(**self.inventory)


def staged_keys(table: str, path: str) -> Iterator[pa.Array]:
    """Yield the record keys of a base file at `path` in the table at `table`, in row order.

    Raises:
        CorruptFileError: `audit/unreadable-file`.
    """
    with open_storage(table).open_input(path) as stream:
        try:
            parquet = pq.ParquetFile(stream)
            for batch in parquet.iter_batches(columns=[MetaField.RECORD_KEY], use_threads=False):
                yield batch.column(0)
        except (OSError, pa.ArrowException) as error:
            raise CorruptFileError(
                "audit/unreadable-file",
                f"a file just written cannot be read: {error}",
                where=Where(file=f"{table}/{path}"),
                remedy="Run again with --fresh; nothing was published.",
            ) from error


def source_keys(keys: KeySource, number: int) -> Iterator[pa.Array]:
    """Yield the record keys of one source file, made again, in row order; null where there is none.

    Raises:
        SourceDriftError: the file is no longer the one in the inventory.
    """
    rule = keys.key_rule
    for batch, values in key_batches(keys, number):
        yield record_keys(rule, batch, values)


def source_null_rows(keys: KeySource, number: int) -> Iterator[tuple[int, np.ndarray]]:
    """Yield (rows before the batch, places in the batch without a key) of one source file."""
    rule = keys.key_rule
    before = 0
    for batch, values in key_batches(keys, number):
        yield before, null_rows(rule, batch, values)
        before += batch.num_rows


def key_batches(keys: KeySource, number: int) -> Iterator[tuple[Any, Any]]:
    """Yield each batch of key columns of a file, with its folder's values.

    Raises:
        SourceDriftError: the file is no longer the one in the inventory.
    """
    rule = keys.key_rule
    schema = decode_schema(keys.key_schema)
    for file in read_files(keys.handle, number, number + 1):
        values = partition_values(file.partition_path, rule.partition, rule.layout)
        with open_source(open_storage(keys.source), file.fingerprint) as reader:
            present = reader.schema_for_keys(schema, values)
            for group in reader.row_groups():
                for batch in reader.batches(group, present):
                    yield batch, values
