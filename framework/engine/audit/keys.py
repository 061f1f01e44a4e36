"""Keys read again: from staged base files, or from the source by the key rule."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from framework.errors import CorruptFileError, Where
from framework.hudi.bootstrap.inventory import InventoryHandle, read_files
from framework.hudi.bootstrap.source_file import open_source
from framework.hudi.bootstrap.source_schema import decode_schema
from framework.hudi.codecs.murmur import key_hashes
from framework.hudi.codecs.parquet_seal import UNREADABLE
from framework.hudi.keygen.rule import KeyRule
from framework.hudi.keygen.text import NULL_PART, null_rows, record_keys
from framework.hudi.keygen.value_hash import value_hashes
from framework.hudi.storage.locations import open_storage
from framework.hudi.table.layout import MetaField
from framework.hudi.table.partition_path import PartitionValue, partition_values

__all__ = [
    "HashedKeys",
    "KeySource",
    "hash_keys",
    "key_batches",
    "source_keys",
    "source_null_rows",
    "staged_keys",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class KeySource:
    """How the keys of a source are computed.

    Attributes:
        source: location of the source root.
        inventory: its files.
        rule: how rows get their key and partition path.
        key_schema: encoded Arrow schema of the key columns in the files, in the table's types.
    """

    source: str
    inventory: InventoryHandle
    rule: KeyRule
    key_schema: str


@dataclass(frozen=True, slots=True, kw_only=True)
class HashedKeys:
    """The keys of some consecutive rows.

    Attributes:
        hashes: one uint64 per row, as spilled, but without the mix of a partition.
        texts: returns the keys of the rows at some places, counted from the first of these rows.
    """

    hashes: np.ndarray
    texts: Callable[[np.ndarray], pa.Array]


def hash_keys(
    rule: KeyRule,
    batch: Any,
    values: Mapping[str, PartitionValue],
    out: np.ndarray,
    *,
    by_value: bool,
) -> None:
    """Write one uint64 per row of key columns into `out`: of typed values, or else of texts."""
    if by_value:
        value_hashes(rule, batch, values, out)
    else:
        out[:] = key_hashes(_filled(record_keys(rule, batch, values)))


def staged_keys(table: str, path: str) -> Iterator[HashedKeys]:
    """Yield the record keys of a base file at `path` in the table at `table`, in row order.

    Hashes are of texts.

    Raises:
        CorruptFileError: `audit/unreadable-file`.
    """
    with open_storage(table).open_input(path) as stream:
        try:
            parquet = pq.ParquetFile(stream, page_checksum_verification=True)
            for batch in parquet.iter_batches(columns=[MetaField.RECORD_KEY], use_threads=False):
                keys = _filled(batch.column(0))
                yield HashedKeys(hashes=key_hashes(keys), texts=partial(_taken, keys))
        except UNREADABLE as error:
            raise CorruptFileError(
                "audit/unreadable-file",
                f"a file just written cannot be read: {error}",
                where=Where(file=f"{table}/{path}"),
                remedy="Run again with --fresh; nothing was published.",
            ) from error


def source_keys(keys: KeySource, number: int, *, by_value: bool) -> Iterator[HashedKeys]:
    """Yield the record keys of one source file, computed again, in row order.

    Raises:
        SourceDriftError: the file is no longer the one in the inventory.
    """
    rule = keys.rule
    for batch, values in key_batches(keys, number):
        hashes = np.empty(batch.num_rows, np.uint64)
        hash_keys(rule, batch, values, hashes, by_value=by_value)
        yield HashedKeys(hashes=hashes, texts=partial(_made, rule, batch, values))


def source_null_rows(keys: KeySource, number: int) -> Iterator[tuple[int, np.ndarray]]:
    """Yield (rows before the batch, places in the batch without a key) of one source file."""
    rule = keys.rule
    before = 0
    for batch, values in key_batches(keys, number):
        yield before, null_rows(rule, batch, values)
        before += batch.num_rows


def key_batches(keys: KeySource, number: int) -> Iterator[tuple[Any, Any]]:
    """Yield each batch of key columns of a file, with its folder's values.

    Raises:
        SourceDriftError: the file is no longer the one in the inventory.
    """
    rule = keys.rule
    schema = decode_schema(keys.key_schema)
    for file in read_files(keys.inventory, number, number + 1):
        values = partition_values(file.partition_path, rule.partition, rule.layout)
        with open_source(open_storage(keys.source), file.fingerprint) as reader:
            present = reader.schema_for_keys(schema, values)
            for group in reader.row_groups():
                for batch in reader.batches(group, present):
                    yield batch, values


def _filled(keys: pa.Array) -> pa.Array:
    """Return the keys as one array without nulls; null ones are refused before they matter."""
    return keys.fill_null(NULL_PART) if keys.null_count else keys


def _taken(keys: pa.Array, places: np.ndarray) -> pa.Array:
    return keys.take(pa.array(places))


def _made(
    rule: KeyRule, batch: Any, values: Mapping[str, PartitionValue], places: np.ndarray
) -> pa.Array:
    """Return the keys of the rows at some places."""
    return _filled(record_keys(rule, batch.take(pa.array(places)), values))
