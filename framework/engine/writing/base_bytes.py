"""The bytes of a base file from its finished rows, read back before they are believed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from framework.hudi.bootstrap.read_back import check_keys, key_digest
from framework.hudi.codecs.bloom import BloomBuilder
from framework.hudi.filegroup.base_file import META_FIELDS, BaseFileBytes, varied
from framework.hudi.filegroup.key_footer import BLOOM, BLOOM_TYPE, MAX_KEY, MIN_KEY

if TYPE_CHECKING:
    from framework.engine.writing.combining import Combined
    from framework.engine.writing.job import LoadJob

__all__ = ["base_bytes"]

_GROUP_ROWS: Final = 1 << 20


def base_bytes(
    job: LoadJob, rows: Combined, name: str
) -> tuple[bytes, tuple[str | None, str | None]]:
    """Return the file, and its least and greatest key, None where it has no rows.

    The keys were read back from the bytes and compared. Row groups have about a million rows.

    Raises:
        CorruptFileError: `bootstrap/read-back-differs`.
    """
    data = rows.columns[len(META_FIELDS) :]
    schema = pa.schema([_as_held(f, c) for f, c in zip(job.table_schema, data, strict=True)])
    out = BaseFileBytes(schema, plain=varied(schema, data))
    digests = []
    for at in range(0, max(rows.rows, 1), _GROUP_ROWS):
        out.add_row_group([column.slice(at, _GROUP_ROWS) for column in rows.columns])
        digests.append(key_digest([rows.keys.slice(at, _GROUP_ROWS)]))
    found = pc.min_max(rows.keys)
    bounds = found["min"].as_py(), found["max"].as_py()
    written = out.finish(_footers(job, rows, bounds))
    check_keys(written, digests, name)
    return written, bounds


def _as_held(field: pa.Field, column: Any) -> pa.Field:
    """Return a field for a column that may be a dictionary."""
    return field.with_type(column.type) if pa.types.is_dictionary(column.type) else field


def _footers(job: LoadJob, rows: Combined, bounds: tuple[str | None, str | None]) -> dict[str, str]:
    """Return the entries that Apache Hudi's writers look for, also for a file without rows."""
    found = {"parquet.avro.schema": job.avro_schema, "writer.model.name": "avro"}
    spec = job.bloom_choice.spec(rows.rows)
    if spec is not None:
        builder = BloomBuilder(spec)
        builder.add(rows.keys)
        found |= {BLOOM: builder.footer(), BLOOM_TYPE: spec.type_code}
    if bounds[0] is not None and bounds[1] is not None:
        found |= {MIN_KEY: bounds[0], MAX_KEY: bounds[1]}
    return found
