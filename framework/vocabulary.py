"""Words that several packages share, as enums; no logic."""

from __future__ import annotations

from enum import StrEnum, unique

__all__ = [
    "AuditDepth",
    "BloomKind",
    "BootstrapMode",
    "CatalogKind",
    "CheckKind",
    "CheckedRows",
    "KeyScope",
    "MissingColumns",
    "OnDuplicate",
    "OnFail",
    "Outcome",
    "PartitionType",
    "ReaderName",
    "ReportForm",
    "ReservedPrefix",
    "RowOrder",
    "SchemaEvolution",
    "ServiceAuth",
    "SourceLayout",
    "SourceTrait",
    "SparkColumn",
    "TableType",
    "Verify",
    "ViewStore",
    "WriteOperation",
]


@unique
class ReservedPrefix(StrEnum):
    """Prefixes of column names, in any case, that are reserved for Hudi or Lakestrap."""

    HUDI = "_hoodie_"
    LAKESTRAP = "_lakestrap_"


@unique
class SparkColumn(StrEnum):
    """Columns, in any case, that Spark adds when it scans files.

    It hides a file's own column of such a name, or replaces it by row numbers.
    """

    METADATA = "_metadata"
    ROW_INDEX = "_tmp_metadata_row_index"


@unique
class TableType(StrEnum):
    """How a table keeps updates."""

    COPY_ON_WRITE = "copy_on_write"
    MERGE_ON_READ = "merge_on_read"


@unique
class BootstrapMode(StrEnum):
    """How a bootstrap treats one source partition (RFC-12, section 4)."""

    METADATA_ONLY = "metadata_only"
    FULL_RECORD = "full_record"
    SKIP = "skip"
    FAIL = "fail"


@unique
class KeyScope(StrEnum):
    """The scope in which a record key is unique."""

    TABLE = "table"
    PARTITION = "partition"


@unique
class OnDuplicate(StrEnum):
    """How a run treats a duplicate record key."""

    ABORT = "abort"
    REWRITE_FILES = "rewrite_files"


@unique
class SourceLayout(StrEnum):
    """How source folders encode their partition: `a=1/b=2`, `1/2`, or not at all."""

    HIVE = "hive"
    POSITIONAL = "positional"
    NONE = "none"


@unique
class PartitionType(StrEnum):
    """Declared type of a partition column; its text must come back unchanged."""

    STRING = "string"
    INT = "int"
    LONG = "long"
    DATE = "date"
    BOOLEAN = "boolean"


@unique
class ReaderName(StrEnum):
    """A known reader: an engine, or an engine at some versions."""

    SPARK_HUDI_1_2 = "spark-hudi-1.2"
    SPARK_HUDI_1_1 = "spark-hudi-1.1"
    SPARK_HUDI_1_0 = "spark-hudi-1.0"
    SPARK_HUDI_0_15 = "spark-hudi-0.15"
    TRINO = "trino"
    HUDI_TRINO = "hudi-trino"
    HUDI_RS = "hudi-rs"
    HIVE = "hive"
    ATHENA = "athena"
    FLINK = "flink"


@unique
class BloomKind(StrEnum):
    """Kind of the bloom filter in a base file's footer (format sheet, section 3.4)."""

    DYNAMIC = "dynamic"
    SIMPLE = "simple"
    NONE = "none"


@unique
class Verify(StrEnum):
    """How thoroughly a source file is compared with its fingerprint.

    `STAT` compares size and modification time, `FOOTER` also the footer's SHA-256,
    `FULL` also reads every page (page checksums, row count).
    """

    STAT = "stat"
    FOOTER = "footer"
    FULL = "full"


@unique
class WriteOperation(StrEnum):
    """What a load does with the rows of its source.

    `INSERT` fills small files and refuses existing keys; `BULK_INSERT` does so without filling
    small files; `UPSERT` updates rows with an existing key and inserts the rest; `DELETE` removes
    rows by key; `INSERT_OVERWRITE` replaces the partitions that the rows belong to;
    `DELETE_PARTITION` removes partitions, and has no source.
    """

    INSERT = "insert"
    BULK_INSERT = "bulk_insert"
    UPSERT = "upsert"
    DELETE = "delete"
    INSERT_OVERWRITE = "insert_overwrite"
    DELETE_PARTITION = "delete_partition"


@unique
class SchemaEvolution(StrEnum):
    """How far the table's schema follows the input's.

    `FREEZE` refuses new columns and wider types, `ADD_COLUMNS` appends new nullable columns and
    fields of structs to the existing ones, `WIDEN` also accepts wider types.
    """

    FREEZE = "freeze"
    ADD_COLUMNS = "add_columns"
    WIDEN = "widen"


@unique
class MissingColumns(StrEnum):
    """How a load treats a column of the table, or a field of a struct, that an input file lacks.

    `REFUSE` refuses the load, `SET_NULL` writes null for it: also into rows that had a value. A
    load without key, partition, ordering or non-nullable columns is always refused.
    """

    REFUSE = "refuse"
    SET_NULL = "set_null"


@unique
class CheckKind(StrEnum):
    """The kind of a check.

    `EXPECT` is a predicate that every row must meet, `EXPECT_AGGREGATE` one over all rows together,
    `QUERY` is SQL that returns the bad rows, `GX` an expectation of Great Expectations.
    """

    EXPECT = "expect"
    EXPECT_AGGREGATE = "expect_aggregate"
    QUERY = "query"
    GX = "gx"


@unique
class CheckedRows(StrEnum):
    """The rows that a check reads: those that this run writes, or all in the table after it."""

    WRITTEN = "written"
    TABLE = "table"


@unique
class OnFail(StrEnum):
    """The effect of a failed check.

    `ABORT` refuses the run, `QUARANTINE` quarantines the bad rows with the reason, `DROP` drops
    them, `WARN` only warns.
    """

    ABORT = "abort"
    QUARANTINE = "quarantine"
    DROP = "drop"
    WARN = "warn"


@unique
class Outcome(StrEnum):
    """The outcome of a check.

    `PASSED` means no more bad rows than allowed. `FAILED` refuses the run, `WARNED` does not.
    `QUARANTINED` and `DROPPED` mean that there were bad rows, none of which is written.
    """

    PASSED = "passed"
    FAILED = "failed"
    WARNED = "warned"
    QUARANTINED = "quarantined"
    DROPPED = "dropped"


@unique
class ReportForm(StrEnum):
    """A form of a gate's report; `GX` is JSON as Great Expectations writes a validation result."""

    HTML = "html"
    JSON = "json"
    JUNIT = "junit"
    MARKDOWN = "markdown"
    GX = "gx"


@unique
class RowOrder(StrEnum):
    """The order in which clustering sorts rows by several columns."""

    LINEAR = "linear"
    Z_ORDER = "z_order"


@unique
class AuditDepth(StrEnum):
    """Which stored files the gate opens again and compares with what the tasks reported."""

    SAMPLE = "sample"
    DEEP = "deep"


@unique
class ServiceAuth(StrEnum):
    """The credentials that the timeline service requires.

    `TOKEN`: the service's token, on every route about tables; Apache Hudi's clients send
    none. `LOOPBACK`: nothing; the service then listens only on a loopback address.
    """

    TOKEN = "token"  # noqa: S105 - the kind, not one
    LOOPBACK = "loopback"


@unique
class CatalogKind(StrEnum):
    """A kind of catalog that tables are registered in."""

    HIVE = "hive"
    GLUE = "glue"


@unique
class ViewStore(StrEnum):
    """Where the timeline service keeps file groups (RFC-03)."""

    MEMORY = "memory"
    SPILLABLE = "spillable"
    EMBEDDED_KV = "embedded_kv"


@unique
class SourceTrait(StrEnum):
    """A property of a source file that some reader or writer cannot handle.

    `framework.plan.readers.source_formats` states what each engine does with codecs, encodings and
    column types.
    """

    INT96 = "int96"
    MILLISECOND = "millisecond"
    NAIVE_TIMESTAMP = "naive_timestamp"
    NANOSECOND = "nanosecond"
    TIME = "time"
    FLOAT16 = "float16"
    UNSIGNED = "unsigned"
    META_COLUMNS = "meta_columns"
    MISSING_COLUMNS = "missing_columns"
    COLON_NAME = "colon_name"
    BROTLI = "brotli"
    LZ4 = "lz4"
    LZO = "lzo"
    UNKNOWN_CODEC = "unknown_codec"
    BYTE_STREAM_SPLIT = "byte_stream_split"
    UNKNOWN_ENCODING = "unknown_encoding"
    DECIMAL_INTEGER = "decimal_integer"
    DECIMAL_PADDED = "decimal_padded"
    DECIMAL_BYTES = "decimal_bytes"
    DECIMAL_BYTES_WIDE = "decimal_bytes_wide"
    VARIANT = "variant"
    GEOMETRY = "geometry"
    GEOGRAPHY = "geography"
    INTERVAL = "interval"
    UNKNOWN_TYPE = "unknown_type"
    JSON = "json"
    FIXED_BINARY = "fixed_binary"
    LIST_TWO_LEVEL = "list_two_level"
    LIST_BARE = "list_bare"
    LIST_NAMES = "list_names"
    LEGACY_CALENDAR = "legacy_calendar"
    EARLY_DAYS = "early_days"
