"""Everything about a table's schema, under one name.

Three schemas meet in a table: Parquet's (`parquet_schema`), Arrow's, in which this project thinks,
and Avro's, which commits and footers carry (`avro_schema`, `arrow_schema`).
"""

from __future__ import annotations

from framework.hudi.table.avro_schema import (
    arrow_schema,
    avro_schema,
    sanitize_name,
    with_meta_columns,
)
from framework.hudi.table.parquet_schema import int96_columns, parquet_schema
from framework.hudi.table.schema_check import (
    SchemaIssue,
    check_schema,
    full_record_schema,
    millisecond_columns,
)
from framework.hudi.table.schema_difference import (
    Difference,
    DifferenceKind,
    absent_fields,
    differences,
    with_absent_fields,
)
from framework.hudi.table.schema_union import (
    SchemaConflict,
    UnifiedSchema,
    Widening,
    unify,
    widenings,
)

__all__ = [
    "Difference",
    "DifferenceKind",
    "SchemaConflict",
    "SchemaIssue",
    "UnifiedSchema",
    "Widening",
    "absent_fields",
    "arrow_schema",
    "avro_schema",
    "check_schema",
    "differences",
    "full_record_schema",
    "int96_columns",
    "millisecond_columns",
    "parquet_schema",
    "sanitize_name",
    "unify",
    "widenings",
    "with_absent_fields",
    "with_meta_columns",
]
