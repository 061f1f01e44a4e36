"""Contents of data and delete blocks (format sheet, sections 6.3 and 6.4).

Avro data blocks are read, and written for archives; data blocks of ours are Parquet and need no
codec here.
Delete blocks are written with the ordering value 0 in an `IntWrapper`, which every release reads
as "always deletes"; when reading, every ordering value is supported.
Ours end with a CRC-32C, which Avro does not have and without which a turned bit in a key keeps a
deleted record alive (ADR 0027); Apache Hudi reads past it.
"""

from __future__ import annotations

import io
import struct
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import fastavro
import google_crc32c

from framework.errors import CorruptFileError, UnsupportedTableError, Where
from framework.hudi.codecs.avro import AVRO_FAULTS, parsed_schema

__all__ = [
    "ALWAYS",
    "DeletedRecord",
    "corrupt_content",
    "decode_deletes",
    "decode_records",
    "encode_deletes",
    "encode_records",
]

_VERSION: Final = 3
_INT: Final = struct.Struct(">i")
_SEAL: Final = struct.Struct(">4sI")
_SEAL_MAGIC: Final = b"LKCR"
_NAMESPACE: Final = "org.apache.hudi.avro.model"


@dataclass(frozen=True, slots=True, kw_only=True)
class DeletedRecord:
    """One record of a delete block.

    Attributes:
        record_key: its key, None if the writer omitted it.
        partition_path: its partition, None if the writer omitted it.
        wrapper: name of the Avro record around the ordering value, `null` if there is none.
        ordering: the ordering value; `ALWAYS` deletes regardless of the row's value.
    """

    record_key: str | None
    partition_path: str | None
    wrapper: str = "IntWrapper"
    ordering: object = 0

    @property
    def is_unconditional(self) -> bool:
        """Whether it deletes regardless of the row's ordering value."""
        return (self.wrapper, self.ordering) == ALWAYS or self.wrapper == "null"


ALWAYS: Final = ("IntWrapper", 0)


def _wrapper(name: str, kind: Any) -> dict[str, Any]:
    fields = [{"name": "value", "type": kind}]
    return {"type": "record", "name": name, "namespace": _NAMESPACE, "fields": fields}


_DECIMAL: Final = {"type": "bytes", "logicalType": "decimal", "precision": 30, "scale": 15}
_MICROS: Final = {"type": "long", "logicalType": "timestamp-micros"}
# In the order of the union's branches in the file.
_WRAPPERS: Final = (
    _wrapper("BooleanWrapper", "boolean"),
    _wrapper("IntWrapper", "int"),
    _wrapper("LongWrapper", "long"),
    _wrapper("FloatWrapper", "float"),
    _wrapper("DoubleWrapper", "double"),
    _wrapper("BytesWrapper", "bytes"),
    _wrapper("StringWrapper", "string"),
    _wrapper("DateWrapper", {"type": "int", "logicalType": "date"}),
    _wrapper("DecimalWrapper", _DECIMAL),
    _wrapper("TimeMicrosWrapper", {"type": "long", "logicalType": "time-micros"}),
    _wrapper("TimestampMicrosWrapper", _MICROS),
)
_NULLABLE_TEXT: Final = ["null", {"type": "string", "avro.java.string": "String"}]
_DELETES: Final = fastavro.parse_schema(
    {
        "type": "record",
        "name": "HoodieDeleteRecordList",
        "namespace": _NAMESPACE,
        "fields": [
            {
                "name": "deleteRecordList",
                "type": {
                    "type": "array",
                    "items": {
                        "type": "record",
                        "name": "HoodieDeleteRecord",
                        "fields": [
                            {"name": "recordKey", "type": _NULLABLE_TEXT, "default": None},
                            {"name": "partitionPath", "type": _NULLABLE_TEXT, "default": None},
                            {"name": "orderingVal", "type": ["null", *_WRAPPERS], "default": None},
                        ],
                    },
                },
            }
        ],
    }
)


def encode_deletes(records: Iterable[tuple[str, str]]) -> bytes:
    """Return the content of a delete block for pairs of record key and partition path.

    The datum is followed by `LKCR` and the CRC-32C of all bytes before that.
    """
    always = (f"{_NAMESPACE}.{ALWAYS[0]}", {"value": ALWAYS[1]})
    listed = [
        {"recordKey": key, "partitionPath": partition, "orderingVal": always}
        for key, partition in records
    ]
    out = io.BytesIO()
    fastavro.schemaless_writer(out, _DELETES, {"deleteRecordList": listed})
    datum = out.getvalue()
    content = b"".join((_INT.pack(_VERSION), _INT.pack(len(datum)), datum))
    return content + _SEAL.pack(_SEAL_MAGIC, google_crc32c.value(content))


def decode_deletes(content: bytes, *, where: Where | None = None) -> tuple[DeletedRecord, ...]:
    """Return the records of a delete block in its order.

    Raises:
        UnsupportedTableError: `log/delete-version`; releases before 0.14 wrote Java objects.
        CorruptFileError: `log/content`; also if bytes after the datum are not its checksum.
    """
    place = where or Where()
    source = io.BytesIO(content)
    version = _int(source, place)
    if version != _VERSION:
        raise _unsupported("delete-version", version, place)
    size = _int(source, place)
    datum = source.read(max(size, 0))
    if len(datum) != size:
        raise corrupt_content("the content of a delete block is truncated", place)
    _check_seal(content, source.tell(), place)
    try:
        rest = io.BytesIO(datum)
        found: Any = fastavro.schemaless_reader(rest, _DELETES, None, return_record_name=True)
        return tuple(_deleted(each) for each in found["deleteRecordList"])
    except AVRO_FAULTS as error:
        raise corrupt_content(f"a delete block is not readable: {error}", place) from error


def decode_records(
    content: bytes, schema: str, *, where: Where | None = None
) -> Iterator[dict[str, Any]]:
    """Yield the records of an Avro data block in its order, including meta columns.

    Args:
        content: the block's content.
        schema: Avro schema as JSON, from the block's header.
        where: the location for errors.

    Raises:
        UnsupportedTableError: `log/data-version`.
        CorruptFileError: `log/content`.
    """
    place = where or Where()
    source = io.BytesIO(content)
    version, count = _int(source, place), _int(source, place)
    if version != _VERSION:
        raise _unsupported("data-version", version, place)
    try:
        parsed = parsed_schema(schema)
    except ValueError as error:
        raise corrupt_content(f"the schema of a data block is wrong: {error}", place) from error
    for number in range(count):
        datum = io.BytesIO(source.read(max(_int(source, place), 0)))
        try:
            record: Any = fastavro.schemaless_reader(datum, parsed, None)
        except AVRO_FAULTS as error:
            message = f"record {number} of a data block is not readable: {error}"
            raise corrupt_content(message, place) from error
        yield record


def encode_records(records: Sequence[Mapping[str, Any]], schema: Any) -> bytes:
    """Return the content of an Avro data block.

    Args:
        records: in the block's order; fields that are missing have their default.
        schema: as `fastavro.parse_schema` returns it.
    """
    parts = [_INT.pack(_VERSION), _INT.pack(len(records))]
    for record in records:
        out = io.BytesIO()
        fastavro.schemaless_writer(out, schema, record)
        datum = out.getvalue()
        parts += (_INT.pack(len(datum)), datum)
    return b"".join(parts)


def _check_seal(content: bytes, end: int, place: Where) -> None:
    """Raise unless the bytes from `end` are absent, as in other writers' blocks, or the checksum.

    No checksum at all in a block of ours would need a datum length that takes it in.
    """
    rest = content[end:]
    if rest and rest != _SEAL.pack(_SEAL_MAGIC, google_crc32c.value(content[:end])):
        raise corrupt_content("a delete block does not fit its checksum", place)


def _deleted(fields: dict[str, Any]) -> DeletedRecord:
    ordering = fields["orderingVal"]
    name, value = ("null", None) if ordering is None else (ordering[0], ordering[1]["value"])
    return DeletedRecord(
        record_key=fields["recordKey"],
        partition_path=fields["partitionPath"],
        wrapper=name.rpartition(".")[2],
        ordering=value,
    )


def _int(source: io.BytesIO, place: Where) -> int:
    """Read a four-byte integer."""
    data = source.read(_INT.size)
    if len(data) < _INT.size:
        raise corrupt_content("the content of a log block is truncated", place)
    (value,) = _INT.unpack(data)
    return int(value)


def corrupt_content(message: str, place: Where) -> CorruptFileError:
    """Return the error for a complete block with invalid content."""
    remedy = "Let Apache Hudi read or compact the file group, or restore the file."
    return CorruptFileError("log/content", message, where=place, remedy=remedy)


def _unsupported(condition: str, version: int, place: Where) -> UnsupportedTableError:
    """Return the error for content of an unsupported version."""
    return UnsupportedTableError(
        f"log/{condition}",
        f"a log block's content is of version {version}; only version {_VERSION} is supported",
        where=place,
        remedy="Let Apache Hudi compact the file group.",
    )
