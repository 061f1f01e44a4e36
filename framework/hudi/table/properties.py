"""The table's properties in `.hoodie/hoodie.properties` (format sheet, sections 1.2 to 1.6).

Reads keys of version 6 and those renamed in versions 8 and 9; writes version 6 only.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final, Self

from framework import errors
from framework.hudi.codecs.java_properties import parse, render
from framework.hudi.storage.port import Storage
from framework.hudi.table.layout import (
    LAYOUT_VERSION,
    PROPERTIES,
    PROPERTIES_BACKUP,
    TABLE_VERSION,
    join,
)
from framework.hudi.table.schema import sanitize_name
from framework.vocabulary import TableType

__all__ = [
    "TableProperties",
    "checksum_of",
    "new_table_properties",
    "read_properties",
    "read_properties_file",
    "table_names",
]

_NAME: Final = "hoodie.table.name"
_DATABASE: Final = "hoodie.database.name"
_TYPE: Final = "hoodie.table.type"
_VERSION: Final = "hoodie.table.version"
_LAYOUT: Final = "hoodie.timeline.layout.version"
_CHECKSUM: Final = "hoodie.table.checksum"
_RECORD_KEY: Final = "hoodie.table.recordkey.fields"
_PARTITION: Final = "hoodie.table.partition.fields"
_GENERATOR_CLASS: Final = "hoodie.table.keygenerator.class"
_GENERATOR_TYPE: Final = "hoodie.table.keygenerator.type"
_HIVE_STYLE: Final = "hoodie.datasource.write.hive_style_partitioning"
_URL_ENCODE: Final = "hoodie.datasource.write.partitionpath.urlencode"
_ORDERING: Final = "hoodie.table.ordering.fields"
_PRECOMBINE: Final = "hoodie.table.precombine.field"
_PAYLOAD: Final = "hoodie.compaction.payload.class"
_BOOTSTRAP: Final = "hoodie.bootstrap.base.path"
_METADATA: Final = "hoodie.table.metadata.partitions"
_METADATA_PENDING: Final = "hoodie.table.metadata.partitions.inflight"
_TIMEZONE: Final = "hoodie.table.timeline.timezone"

_MAX_BYTES: Final = 1 << 26
_NUMBER: Final = re.compile("[0-9]{1,9}")
_COMMENT: Final = "Properties saved by Lakestrap"
_EVENT_TIME_PAYLOAD: Final = "org.apache.hudi.common.model.DefaultHoodieRecordPayload"
_COMMIT_TIME_PAYLOAD: Final = "org.apache.hudi.common.model.OverwriteWithLatestAvroPayload"
_TABLE_TYPES: Final = {
    "COPY_ON_WRITE": TableType.COPY_ON_WRITE,
    "MERGE_ON_READ": TableType.MERGE_ON_READ,
}
_GENERATORS: Final = {
    "SIMPLE": "SimpleKeyGenerator",
    "COMPLEX": "ComplexKeyGenerator",
    "NON_PARTITION": "NonpartitionedKeyGenerator",
    "CUSTOM": "CustomKeyGenerator",
    "TIMESTAMP": "TimestampBasedKeyGenerator",
    "GLOBAL_DELETE": "GlobalDeleteKeyGenerator",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class TableProperties:
    """The properties of a table.

    Attributes:
        name: the table's name, without its database.
        database: `""` if there is none.
        table_type: copy on write if the key is missing, as in Java.
        version: table version; 0 if the key is missing (Java assumes its newest then).
        layout: timeline layout version; 0 if the key is missing.
        record_key_fields: empty for automatic keys.
        partition_fields: plain names, without the `:SIMPLE` of version 8 and later.
        key_generator: full class name; `""` if neither class nor type is known.
        hive_style: whether folders are `column=value`.
        url_encode: whether special characters of partition values are `%XX`.
        ordering_fields: break ties between versions of a record; version 6 has one at most.
        payload_class: full class name, None if the key is missing.
        bootstrap_base_path: root of the source, None if the table was not bootstrapped.
        metadata_partitions: partitions of the metadata table, including those being built.
        timezone: `LOCAL` or `UTC`.
        checksum_ok: whether the checksum matches the names; None if there is none.
        raw: every entry, unchanged.
    """

    name: str
    database: str
    table_type: TableType
    version: int
    layout: int
    record_key_fields: tuple[str, ...]
    partition_fields: tuple[str, ...]
    key_generator: str
    hive_style: bool
    url_encode: bool
    ordering_fields: tuple[str, ...]
    payload_class: str | None
    bootstrap_base_path: str | None
    metadata_partitions: tuple[str, ...]
    timezone: str
    checksum_ok: bool | None
    raw: Mapping[str, str]

    @property
    def ordering_field(self) -> str | None:
        """The first ordering field, None if there is none."""
        return self.ordering_fields[0] if self.ordering_fields else None

    @classmethod
    def parse(cls, text: str, file: str) -> Self:
        """Parse the text of `file`; a wrong checksum is reported in `checksum_ok`, not raised.

        Raises:
            CorruptFileError: `properties/no-table-name`, `properties/bad-value`.
            UnsupportedTableError: `properties/table-type`.
        """
        return cls.of(parse(text), file)

    @classmethod
    def of(cls, raw: Mapping[str, str], file: str) -> Self:
        """Interpret the entries of `file`; raises as `parse`."""
        if not raw.get(_NAME):
            raise _corrupt("no-table-name", f"the entry {_NAME} is missing", file)
        plain = _list(raw.get(_PARTITION))
        return cls(
            name=raw[_NAME],
            database=raw.get(_DATABASE, ""),
            table_type=_table_type(raw, file),
            version=_int(raw, _VERSION, file),
            layout=_int(raw, _LAYOUT, file),
            record_key_fields=_list(raw.get(_RECORD_KEY)),
            partition_fields=tuple(field.partition(":")[0] for field in plain),
            key_generator=_generator(raw),
            hive_style=_bool(raw, _HIVE_STYLE),
            url_encode=_bool(raw, _URL_ENCODE),
            ordering_fields=_list(raw.get(_ORDERING) or raw.get(_PRECOMBINE)),
            payload_class=raw.get(_PAYLOAD),
            bootstrap_base_path=raw.get(_BOOTSTRAP),
            metadata_partitions=_list(raw.get(_METADATA)) + _list(raw.get(_METADATA_PENDING)),
            timezone=raw.get(_TIMEZONE, "LOCAL").upper(),
            checksum_ok=_checksum_ok(raw),
            raw=MappingProxyType(dict(raw)),
        )

    def without_metadata_table(self) -> Self:
        """Return the properties of a table that has no metadata table."""
        kept = {k: v for k, v in self.raw.items() if k not in (_METADATA, _METADATA_PENDING)}
        return self.of(kept, PROPERTIES)

    def with_bootstrap_base(self, uri: str) -> Self:
        """Return the properties of a table whose source is elsewhere."""
        return self.of({**self.raw, _BOOTSTRAP: uri}, PROPERTIES)

    def render(self) -> str:
        """Return the file's text: all entries of `raw`, with a correct checksum."""
        entries = {**self.raw, _CHECKSUM: str(checksum_of(self.database, self.name))}
        return render(entries, (_COMMENT,))


def table_names(spec_name: str) -> tuple[str, str]:
    """Return (database, table) for a spec's `[database.]table`, sanitized as by Hudi.

    The database is `""` if omitted. Characters that Avro forbids become `__`.

    Raises:
        PlanError: `table/bad-name`.
    """
    database, dot, table = spec_name.partition(".")
    if not dot:
        database, table = "", spec_name
    if not table or (dot and not database):
        raise errors.PlanError(
            "table/bad-name",
            f"{spec_name!r} is not a table name",
            remedy="Write `table` or `database.table`.",
        )
    return (sanitize_name(database) if database else ""), sanitize_name(table)


def checksum_of(database: str, table: str) -> int:
    """Return `hoodie.table.checksum`: CRC-32 of `<database>.<table>`, `""` for no database."""
    return zlib.crc32(f"{database}.{table}".encode())


def new_table_properties(
    spec_name: str,
    table_type: TableType,
    *,
    key_properties: Mapping[str, str],
    ordering_field: str | None = None,
    bootstrap_base_path: str | None = None,
) -> TableProperties:
    """Return the properties of a new table at version 6.

    Args:
        spec_name: `[database.]table` as in the spec.
        table_type: a merge-on-read table also gets its payload class, whose default changed over
            Hudi's releases.
        key_properties: `KeyRule.properties()`.
        ordering_field: breaks ties between versions of a record; if None, the later commit wins.
        bootstrap_base_path: URI of the source's root if the table has skeletons.

    Raises:
        PlanError: `table/bad-name`.
    """
    database, table = table_names(spec_name)
    entries = {
        _NAME: table,
        _TYPE: table_type.value.upper(),
        _VERSION: str(TABLE_VERSION),
        _LAYOUT: str(LAYOUT_VERSION),
        _TIMEZONE: "UTC",
        "hoodie.table.base.file.format": "PARQUET",
        "hoodie.archivelog.folder": "archived",
        "hoodie.populate.meta.fields": "true",
        "hoodie.partition.metafile.use.base.format": "false",
        "hoodie.datasource.write.drop.partition.columns": "false",
        **key_properties,
    }
    if database:
        entries[_DATABASE] = database
    if ordering_field:
        entries[_PRECOMBINE] = ordering_field
    if table_type is TableType.MERGE_ON_READ:
        entries[_PAYLOAD] = _EVENT_TIME_PAYLOAD if ordering_field else _COMMIT_TIME_PAYLOAD
    if bootstrap_base_path:
        entries[_BOOTSTRAP] = bootstrap_base_path
    entries[_CHECKSUM] = str(checksum_of(database, table))
    return TableProperties.of(dict(sorted(entries.items())), PROPERTIES)


def read_properties(storage: Storage) -> TableProperties | None:
    """Return the properties of the table in `storage`, None if there is no table.

    Falls back to the backup if the main file is missing or broken, as Java does: a writer may have
    died while replacing it.

    Raises:
        CorruptFileError: if no copy is valid; for the main file if it exists.
        UnsupportedTableError: `properties/table-type`.
    """
    broken: errors.FrameworkError | None = None
    for path in (PROPERTIES, PROPERTIES_BACKUP):
        try:
            found = read_properties_file(storage, path)
        except errors.CorruptFileError as error:
            broken = broken or error
            continue
        if found is not None:
            return found
    if broken is not None:
        raise broken
    return None


def read_properties_file(storage: Storage, path: str) -> TableProperties | None:
    """Return the properties in one file, None if it is missing.

    Raises:
        CorruptFileError: as of `TableProperties.parse`, and `properties/checksum`.
        UnsupportedTableError: `properties/table-type`.
    """
    entry = storage.stat(path)
    if entry is None:
        return None
    file = join(storage.location, path)
    if entry.size > _MAX_BYTES:
        raise _corrupt("bad-value", f"{entry.size} bytes are too many for properties", file)
    with storage.open_input(path) as source:
        text = bytes(source.read()).decode("latin-1")
    found = TableProperties.parse(text, file)
    if found.checksum_ok is False:
        raise _corrupt("checksum", "the checksum does not match the table's name", file)
    return found


def _table_type(raw: Mapping[str, str], file: str) -> TableType:
    text = raw.get(_TYPE, "COPY_ON_WRITE")
    found = _TABLE_TYPES.get(text.upper())
    if found is None:
        raise errors.UnsupportedTableError(
            "properties/table-type",
            f"table type {text!r} is unknown",
            where=errors.Where(file=file),
            remedy="Known types are COPY_ON_WRITE and MERGE_ON_READ.",
        )
    return found


def _generator(raw: Mapping[str, str]) -> str:
    """Return the key generator's class name from either of its two keys."""
    if raw.get(_GENERATOR_CLASS):
        return raw[_GENERATOR_CLASS]
    name = _GENERATORS.get(raw.get(_GENERATOR_TYPE, "").upper())
    return f"org.apache.hudi.keygen.{name}" if name else ""


def _int(raw: Mapping[str, str], key: str, file: str) -> int:
    """Return a number, 0 if it is missing."""
    text = raw.get(key, "0").strip()
    if not _NUMBER.fullmatch(text):
        raise _corrupt("bad-value", f"{key} is {text[:50]!r}, not a number", file)
    return int(text)


def _bool(raw: Mapping[str, str], key: str) -> bool:
    """Parse a flag as Java's `Boolean.parseBoolean` does."""
    return raw.get(key, "false").strip().lower() == "true"


def _list(text: str | None) -> tuple[str, ...]:
    """Return the items of a comma list."""
    return tuple(item.strip() for item in (text or "").split(",") if item.strip())


def _checksum_ok(raw: Mapping[str, str]) -> bool | None:
    """Return whether the checksum matches, None if there is none."""
    text = raw.get(_CHECKSUM)
    if text is None:
        return None
    return text.strip() == str(checksum_of(raw.get(_DATABASE, ""), raw[_NAME]))


def _corrupt(condition: str, message: str, file: str) -> errors.CorruptFileError:
    """Return the error for an invalid properties file."""
    return errors.CorruptFileError(
        f"properties/{condition}",
        message,
        where=errors.Where(file=file),
        remedy="Restore hoodie.properties from its backup or another copy of the table.",
    )
