"""Writing one full base file: every column of one source file, meta columns first, row for row."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

import numpy as np
import pyarrow as pa

from framework.hudi.bootstrap.key_pass import KeyPass
from framework.hudi.bootstrap.skeleton import BaseFileTarget, WrittenBaseFile, key_footers
from framework.hudi.bootstrap.source_file import SourceReader
from framework.hudi.filegroup.base_file import BaseFileBytes, constant
from framework.hudi.filegroup.read_back import KeyDigest, check_keys, key_digest
from framework.hudi.table.calendar import GREGORIAN

__all__ = ["write_full_record"]

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
    """Return the full base file of `source`; its keys were read back and compared.

    Row groups are those of the source, without the rows that are gone; one that has none left is
    left out, but for the first. Holds in memory the file's bytes, eight bytes per row, and
    one row group.

    Args:
        source: where the rows are from.
        target: names and rule.
        schema: the table's Arrow schema without meta columns; columns are cast to it, those that
            only the folder has are filled from it, absent ones are null.
        avro_schema: the same with meta columns, for the footer.
        gone: places of rows that are not written, ascending.

    Raises:
        CorruptFileError: `source/corrupt-data`, `source/value-does-not-fit`,
            `bootstrap/read-back-differs`.
    """
    bloom = target.bloom.spec(source.fingerprint.rows)
    keys = KeyPass(target.rule, target.values, bloom, target.numbers)
    key_schema = source.schema_for_keys(target.key_schema, target.values)
    writing = _Writing(target, schema)
    digests: list[KeyDigest] = []
    before = 0
    for group in source.row_groups():
        whole = list(source.batches(group, schema))
        batches = list(_without(whole, before, gone)) if gone.size else whole
        before += sum(batch.num_rows for batch in whole)
        if gone.size and digests and not any(batch.num_rows for batch in batches):
            continue
        texts = [keys.add(batch.select(key_schema.names)) for batch in batches]
        writing.add_row_group([_filled(batch, source, target) for batch in batches], texts)
        digests.append(key_digest(texts))
    data = writing.finish({**key_footers(keys, bloom, avro_schema), **GREGORIAN})
    check_keys(data, digests, target.name)
    return WrittenBaseFile(data=data, facts=keys.facts(), hashes=keys.hash64())


def _without(batches: Sequence[Any], before: int, gone: np.ndarray) -> Iterator[Any]:
    """Yield batches, of which `before` rows of the file come first, without the rows at `gone`."""
    for batch in batches:
        end = before + batch.num_rows
        first, last = np.searchsorted(gone, [before, end]).tolist()
        stays = np.ones(batch.num_rows, dtype=bool)
        stays[gone[first:last] - before] = False
        yield batch.filter(pa.array(stays))
        before = end


class _Writing:
    """Makes one full file in memory, row group by row group."""

    def __init__(self, target: BaseFileTarget, schema: Any) -> None:
        self._constants = (target.instant, target.partition_path, target.name)
        self._numbers = target.numbers
        self._rows = 0
        self._out = BaseFileBytes(schema)

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
        time, partition, name = (constant(text, rows) for text in self._constants)
        keys = pa.chunked_array(texts, pa.string())
        data = pa.Table.from_batches(batches).columns
        self._out.add_row_group([time, seqno, keys, partition, name, *data])
        self._rows += rows

    def finish(self, footers: dict[str, str]) -> bytes:
        """Close the file with these key-values and return its bytes."""
        return self._out.finish(footers)


def _filled(batch: Any, source: SourceReader, target: BaseFileTarget) -> Any:
    """Return the batch with the folder's values in the columns that the file leaves to it."""
    for name, value in target.values.items():
        at = batch.schema.get_field_index(name)
        if source.lacks(name) and at >= 0:
            field = batch.schema.field(at)
            column = pa.repeat(pa.scalar(value, field.type), batch.num_rows)
            batch = batch.set_column(at, field, column)
    return batch
