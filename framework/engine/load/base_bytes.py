"""The bytes of a base file from its finished rows, read back before they are believed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from framework.hudi.codecs.bloom import BloomBuilder
from framework.hudi.filegroup.base_file import META_FIELDS, BaseFileBytes, varied
from framework.hudi.filegroup.key_footer import BLOOM, BLOOM_TYPE, MAX_KEY, MIN_KEY
from framework.hudi.filegroup.read_back import check_keys, key_digest
from framework.hudi.table.calendar import GREGORIAN

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from framework.engine.load.group_rows import Combined
    from framework.engine.load.job import LoadJob

__all__ = ["base_bytes", "bloom_of", "footers_of", "held_schema", "written_rows"]

_GROUP_ROWS: Final = 1 << 20


def base_bytes(
    job: LoadJob, rows: Combined, name: str
) -> tuple[bytes, tuple[str | None, str | None]]:
    """Return the file, and its least and greatest key, None where it has no rows.

    The keys were read back from the bytes and compared. Row groups have about a million rows.

    Raises:
        CorruptFileError: `bootstrap/read-back-differs`.
    """
    found = pc.min_max(rows.keys)
    bounds = found["min"].as_py(), found["max"].as_py()
    footers = footers_of(job, bounds, bloom_of(job, rows.keys))
    return written_rows(job, rows, footers, name), bounds


def written_rows(job: LoadJob, rows: Combined, footers: Mapping[str, str], name: str) -> bytes:
    """Return a file of these rows and key-values, whose keys were read back and compared.

    Raises:
        CorruptFileError: `bootstrap/read-back-differs`.
    """
    data = rows.columns[len(META_FIELDS) :]
    schema = held_schema(job.table_schema, data)
    out = BaseFileBytes(schema, plain=varied(schema, data))
    digests = []
    for at in range(0, max(rows.rows, 1), _GROUP_ROWS):
        out.add_row_group([column.slice(at, _GROUP_ROWS) for column in rows.columns])
        digests.append(key_digest([rows.keys.slice(at, _GROUP_ROWS)]))
    written = out.finish(footers)
    check_keys(written, digests, name)
    return written


def held_schema(fields: Iterable[pa.Field], columns: Iterable[Any]) -> pa.Schema:
    """Return fields for columns in step, which may be dictionaries."""
    return pa.schema(
        [
            field.with_type(column.type) if pa.types.is_dictionary(column.type) else field
            for field, column in zip(fields, columns, strict=True)
        ]
    )


def footers_of(
    job: LoadJob, bounds: tuple[str | None, str | None], bloom: tuple[str, str] | None
) -> dict[str, str]:
    """Return the entries that Spark and Hudi's writers look for, also for a file without rows.

    Args:
        job: the load.
        bounds: the least and the greatest key.
        bloom: text of the filter and code of its type, None where there is none.
    """
    found = {"parquet.avro.schema": job.avro_schema, "writer.model.name": "avro", **GREGORIAN}
    if bloom is not None:
        found |= {BLOOM: bloom[0], BLOOM_TYPE: bloom[1]}
    if bounds[0] is not None and bounds[1] is not None:
        found |= {MIN_KEY: bounds[0], MAX_KEY: bounds[1]}
    return found


def bloom_of(job: LoadJob, keys: pa.Array | pa.ChunkedArray) -> tuple[str, str] | None:
    """Return the filter of these keys and the code of its type, None where there is to be none."""
    spec = job.bloom.spec(len(keys))
    if spec is None:
        return None
    builder = BloomBuilder(spec)
    builder.add(keys)
    return builder.footer(), spec.type_code
