"""The named exceptions of the reader gate: where readers of a Lakestrap table fail.

`EXCEPTIONS` lowers the abilities of `plan.readers.versions` for tables with certain traits. Each
was observed on the releases that it names, and not on the others. Those of codecs, encodings and
column types come from `plan.readers.source_formats`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum, unique
from typing import Final

from framework.plan.readers.source_formats import FORMATS, Engine, Use
from framework.plan.readers.versions import Ability
from framework.vocabulary import ReaderName

__all__ = ["EXCEPTIONS", "ReaderException", "Trait"]


@unique
class Trait(StrEnum):
    """A property of the planned table that affects some reader."""

    SKELETONS = "skeletons"
    MERGE_ON_READ = "merge_on_read"
    INT96 = "int96"
    MILLISECOND = "millisecond"
    NAIVE_TIMESTAMP = "naive_timestamp"
    NANOSECOND = "nanosecond"
    TIME = "time"
    FLOAT16 = "float16"
    FIXED_BINARY = "fixed_binary"
    LIST = "list"
    WIDENED = "widened"
    WIDENED_FLOAT = "widened_float"
    WIDENED_NESTED = "widened_nested"
    ESCAPED_PATH_ONLY = "escaped_path_only"
    TYPED_PATH_ONLY = "typed_path_only"
    DATE_PATH_ONLY = "date_path_only"
    DEFAULT_PARTITION = "default_partition"
    ESCAPED_VALUE = "escaped_value"
    SOURCE_ELSEWHERE = "source_elsewhere"
    DATE_ORDERING = "date_ordering"
    CUSTOM_KEYS = "custom_keys"
    DECIMAL_INTEGER = "decimal_integer"
    DECIMAL_PADDED = "decimal_padded"
    DECIMAL_BYTES_WIDE = "decimal_bytes_wide"
    JSON = "json"
    LIST_BARE = "list_bare"
    LIST_NAMES = "list_names"
    LEGACY_CALENDAR = "legacy_calendar"
    EARLY_DAYS = "early_days"
    LIST_TWO_LEVEL = "list_two_level"


@dataclass(frozen=True, slots=True, kw_only=True)
class ReaderException:
    """A named difference between readers.

    Attributes:
        name: stable, kebab-case.
        traits: it applies if the plan has all of these.
        readers: keys of the readers that it affects.
        reads: upper bound of the ability to read; None for no bound.
        continues: upper bound of the ability to write; None for no bound.
        message: what happens, one sentence; `{detail}` is its cause in the plan.
        full_record: what mode `full_record` would change.
    """

    name: str
    traits: frozenset[Trait]
    readers: tuple[ReaderName, ...]
    reads: Ability | None
    continues: Ability | None
    message: str
    full_record: str


_NO: Final = Ability.NO
_HUDI_0: Final = (ReaderName.SPARK_HUDI_0_15,)
_BEFORE_1_1: Final = (ReaderName.SPARK_HUDI_1_0, *_HUDI_0)
_SINCE_1_1: Final = (ReaderName.SPARK_HUDI_1_2, ReaderName.SPARK_HUDI_1_1)
_HUDI_1: Final = (*_SINCE_1_1, ReaderName.SPARK_HUDI_1_0)
_HUDI: Final = (*_HUDI_1, *_HUDI_0)
_SKELETON: Final = frozenset({Trait.SKELETONS})
_TYPE_STAYS: Final = "nothing while the column keeps its type"
_IN_THE_FILE: Final = "the value is then in the file, and correct"

_NAMED: Final[tuple[ReaderException, ...]] = (
    ReaderException(
        name="auto-upgrade-loses-rows",
        traits=_SKELETON,
        readers=_HUDI_1,
        reads=None,
        continues=None,
        message=(
            "a write with default options upgrades the table to version 8 or 9; while skeletons "
            "are left, filters on data columns then lose rows: write with "
            "hoodie.write.table.version=6, hoodie.write.auto.upgrade=false and "
            "hoodie.metadata.enable=false"
        ),
        full_record="rows are correct after an upgrade too",
    ),
    ReaderException(
        name="int96-cannot-be-rewritten",
        traits=_SKELETON | {Trait.INT96},
        readers=_HUDI,
        reads=None,
        continues=_NO,
        message=(
            "reads are correct, but a write that touches a file group with INT96 timestamps "
            "fails ('INT96 is deprecated'; 1.2.0 can with hoodie.write.record.merge.custom."
            "implementation.classes=org.apache.hudi.DefaultSparkRecordMerger): {detail}"
        ),
        full_record="timestamps are stored as INT64 and can be rewritten",
    ),
    ReaderException(
        name="millisecond-timestamp",
        traits=_SKELETON | {Trait.MILLISECOND},
        readers=_BEFORE_1_1,
        reads=None,
        continues=_NO,
        message=(
            "reads are correct, but a write that touches a file group takes timestamps in "
            "milliseconds for microseconds, without an error (in rows that it should keep, "
            "1999-01-01 becomes 1970-01-11): {detail}"
        ),
        full_record="timestamps are stored in microseconds and are rewritten correctly",
    ),
    ReaderException(
        name="legacy-calendar",
        traits=_SKELETON | {Trait.LEGACY_CALENDAR},
        readers=_HUDI,
        reads=Ability.UNPROVEN,
        continues=Ability.UNPROVEN,
        message=(
            "it is unproven how a write treats days before 1582-10-15 in Spark's old calendar, in "
            "rows that it should keep: {detail}"
        ),
        full_record="days are stored as Gregorian ones and are rewritten correctly",
    ),
    ReaderException(
        name="early-days",
        traits=_SKELETON | {Trait.EARLY_DAYS},
        readers=_HUDI,
        reads=None,
        continues=None,
        message=(
            "Spark 3 fails (SparkUpgradeException) on days before 1582-10-15 and timestamps before "
            "1900 in files that do not say which Spark wrote them, unless "
            "spark.sql.parquet.datetimeRebaseModeInRead is CORRECTED, which is the default of "
            "Spark 4: {detail}"
        ),
        full_record="the files say that their days are Gregorian, and any Spark reads them",
    ),
    ReaderException(
        name="naive-timestamp",
        traits=frozenset({Trait.NAIVE_TIMESTAMP}),
        readers=_BEFORE_1_1,
        reads=_NO,
        continues=_NO,
        message=(
            "cannot read a table that has timestamps without a time zone (0.15.0 fails, 1.0.x "
            "shows numbers): {detail}"
        ),
        full_record=_TYPE_STAYS,
    ),
    ReaderException(
        name="nanosecond-timestamp",
        traits=frozenset({Trait.NANOSECOND}),
        readers=_HUDI,
        reads=_NO,
        continues=_NO,
        message="Spark cannot read nanosecond timestamps: {detail}",
        full_record="helps only with the column stored in microseconds",
    ),
    ReaderException(
        name="time-of-day",
        traits=frozenset({Trait.TIME}),
        readers=_HUDI,
        reads=_NO,
        continues=_NO,
        message="Spark cannot read TIME columns: {detail}",
        full_record=_TYPE_STAYS,
    ),
    ReaderException(
        name="half-float",
        traits=frozenset({Trait.FLOAT16}),
        readers=_HUDI,
        reads=_NO,
        continues=_NO,
        message="Spark cannot read FLOAT16 columns: {detail}",
        full_record=_TYPE_STAYS,
    ),
    ReaderException(
        name="null-in-list",
        traits=frozenset({Trait.LIST}),
        readers=_HUDI,
        reads=None,
        continues=None,
        message=(
            "a write that rewrites a file with a null element inside a list fails "
            "(NullPointerException) unless Spark's Hadoop option "
            "parquet.avro.write-old-list-structure is false: {detail}"
        ),
        full_record=_TYPE_STAYS,
    ),
    ReaderException(
        name="escaped-path-only-value",
        traits=_SKELETON | {Trait.ESCAPED_PATH_ONLY},
        readers=_HUDI_0,
        reads=_NO,
        continues=None,
        message=(
            "shows the escaped text (%XX) of a partition value that is only in the path: {detail}"
        ),
        full_record=_IN_THE_FILE,
    ),
    ReaderException(
        name="null-meta-columns",
        traits=_SKELETON,
        readers=(ReaderName.TRINO,),
        reads=None,
        continues=None,
        message="reads data columns right, and NULL in the `_hoodie_` columns of skeletons",
        full_record="`_hoodie_` columns are read too",
    ),
    ReaderException(
        name="partition-value-by-its-folder",
        traits=frozenset({Trait.ESCAPED_VALUE}),
        readers=(ReaderName.TRINO,),
        reads=_NO,
        continues=None,
        message=(
            "shows the escaped text (%XX) of a partition's folder, and `\\N` for null, instead of "
            "the value, and filters by it: {detail}"
        ),
        full_record="nothing: the folders are the same",
    ),
    ReaderException(
        name="typed-path-only-partition",
        traits=_SKELETON | {Trait.TYPED_PATH_ONLY},
        readers=_BEFORE_1_1,
        reads=None,
        continues=_NO,
        message=(
            "reads are correct, but a write that touches a skeleton's file group fails where a "
            "partition column is only in the path and is neither a string nor a date "
            "(ClassCastException): {detail}"
        ),
        full_record=_IN_THE_FILE,
    ),
    ReaderException(
        name="date-path-only-partition",
        traits=_SKELETON | {Trait.DATE_PATH_ONLY},
        readers=_HUDI,
        reads=None,
        continues=_NO,
        message=(
            "reads are correct, but a write that touches a skeleton's file group fails where a "
            "DATE partition column is only in the path: {detail}"
        ),
        full_record=_IN_THE_FILE,
    ),
    ReaderException(
        name="default-partition",
        traits=_SKELETON | {Trait.DEFAULT_PARTITION},
        readers=_HUDI_0,
        reads=None,
        continues=_NO,
        message=(
            "reads are correct, but a write that touches a skeleton's file group turns the NULL of "
            "the default partition into the text 'null', without an error: {detail}"
        ),
        full_record="the NULL is then in the file, and stays",
    ),
    ReaderException(
        name="float-read-as-double",
        traits=frozenset({Trait.WIDENED_FLOAT}),
        readers=_HUDI,
        reads=None,
        continues=None,
        message=(
            "FLOAT in the files, DOUBLE in the table: Spark and Lakestrap read the number that "
            "is stored (1.100000023841858), Apache Hudi the shortest decimal of the float (1.1), "
            "and writes it so into files that it rewrites: {detail}"
        ),
        full_record="every reader reads the number that is stored",
    ),
    ReaderException(
        name="nested-field-in-a-narrower-type",
        traits=_SKELETON | {Trait.WIDENED_NESTED},
        readers=_BEFORE_1_1,
        reads=_NO,
        continues=_NO,
        message=(
            "a nested field has a narrower type in some files than in the table, which fails "
            "unless spark.sql.parquet.enableVectorizedReader=false: {detail}"
        ),
        full_record="every file has the table's types",
    ),
    ReaderException(
        name="date-ordering-field",
        traits=frozenset({Trait.DATE_ORDERING}),
        readers=_SINCE_1_1,
        reads=None,
        continues=_NO,
        message="an upsert fails where the ordering field is a DATE (ClassCastException): {detail}",
        full_record="nothing while the ordering field is a DATE",
    ),
    ReaderException(
        name="global-index-on-merge-on-read",
        traits=_SKELETON | {Trait.MERGE_ON_READ},
        readers=_BEFORE_1_1,
        reads=None,
        continues=None,
        message=(
            "an upsert with a global index fails where it meets a skeleton of a partitioned "
            "merge-on-read table: write with the index SIMPLE or BLOOM"
        ),
        full_record="every index works",
    ),
    ReaderException(
        name="source-in-another-store",
        traits=_SKELETON | {Trait.MERGE_ON_READ, Trait.SOURCE_ELSEWHERE},
        readers=(ReaderName.SPARK_HUDI_1_2,),
        reads=None,
        continues=None,
        message=(
            "its compaction fails (Wrong FS) on skeletons whose source is in another bucket or "
            "file system than the table: write with hoodie.compact.inline=false, and compact with "
            "`run-pipeline compact`: {detail}"
        ),
        full_record="compaction works",
    ),
    ReaderException(
        name="custom-keys-in-sql",
        traits=frozenset({Trait.CUSTOM_KEYS}),
        readers=_HUDI,
        reads=None,
        continues=None,
        message=(
            "one key column and several partition columns: upserts are correct by DataFrame with "
            "CustomKeyGenerator; in SQL they fail"
        ),
        full_record="nothing: the key rule is the same",
    ),
    ReaderException(
        name="read-optimized-only",
        traits=frozenset({Trait.MERGE_ON_READ}),
        readers=(ReaderName.TRINO, ReaderName.ATHENA),
        reads=None,
        continues=None,
        message="sees base files only; updates show after a compaction",
        full_record="nothing: the table type is the same",
    ),
)


def _of_formats() -> Iterator[ReaderException]:
    """Yield the failures of Apache Hudi on source files that a plan leaves as they are."""
    for known in FORMATS:
        hit = tuple(engine for engine in _JUDGED if engine in known.upserts)
        if known.is_refused or not hit:
            continue
        wrong = any(known.upserts[engine] is Use.WRONG for engine in hit)
        spoils = "changes values in rows that it should keep, without an error"
        yield ReaderException(
            name=known.trait.replace("_", "-"),
            traits=_SKELETON | {Trait(known.trait.value)},
            readers=tuple(reader for engine in hit for reader in _JUDGED[engine]),
            reads=None,
            continues=_NO,
            message=(
                f"reads are correct, but a write that touches a file group with {known.what} "
                f"{spoils if wrong else 'fails'}: {{detail}}"
            ),
            full_record="they are then stored as Apache Hudi itself stores them",
        )


# An untested release counts as the tested one on its side of a change in 1.1.
_JUDGED: Final = {Engine.HUDI_1_2: _SINCE_1_1, Engine.HUDI_0_15: _BEFORE_1_1}

EXCEPTIONS: Final[tuple[ReaderException, ...]] = (*_NAMED, *_of_formats())
