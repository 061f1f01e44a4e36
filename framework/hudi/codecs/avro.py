"""Avro object container files with exactly one record, as in Hudi's metadata.

Written with the null codec and a constant sync marker, so that equal records give equal bytes.
Header and schema are prepared once per schema; `ContainerFormat.seal` takes an encoded datum, for
callers that write hundreds of thousands.

Input is untrusted, so the header is checked before a record is decoded: bounded schema, no
recursion, no items of zero bytes (a block could then claim 2^60 of them), one record, known codec,
both sync markers.
"""

from __future__ import annotations

import hashlib
import io
import json
from collections.abc import Mapping
from functools import lru_cache
from typing import Any, Final

import fastavro

from framework.errors import CorruptFileError, Where
from framework.hudi.codecs.varint import read_uvarint, zigzag

__all__ = [
    "AVRO_FAULTS",
    "AVRO_MAGIC",
    "ContainerFormat",
    "check_schema",
    "parsed_schema",
    "read_container",
    "write_container",
]


_MOST_BYTES: Final = 1024 * 1024
_MOST_DEPTH: Final = 100
_MOST_FIXED: Final = 1024 * 1024
_PRIMITIVES: Final = {
    "null": 0,
    "boolean": 1,
    "int": 1,
    "long": 1,
    "float": 4,
    "double": 8,
    "bytes": 1,
    "string": 1,
}

AVRO_MAGIC: Final = b"Obj\x01"
"""The first bytes of every container; no JSON starts with them."""
_SYNC_SIZE: Final = 16
_MOST_METADATA: Final = 64
AVRO_FAULTS: Final = (ValueError, EOFError, IndexError, KeyError, TypeError, OverflowError)
"""Errors that decoding raises for bytes that do not fit the schema."""


def check_schema(text: str) -> Any:
    """Parse a schema and check that it is safe to decode with.

    Raises:
        ValueError: over 1 MiB, nested deeper than 100, a type inside itself, or arrays whose items
            take no bytes, of which a block may claim 2^60.
    """
    if len(text) > _MOST_BYTES:
        raise ValueError(f"a schema of {len(text)} characters")
    try:
        schema = json.loads(text)
    except RecursionError as error:
        raise ValueError("a schema that is nested too deep") from error
    _Sizes().least(schema, "", 0)
    return schema


class _Sizes:
    """Computes the minimum size in bytes of each type's values."""

    def __init__(self) -> None:
        self._named: dict[str, int | None] = {}  # by full name; None while its fields are read

    def least(self, schema: Any, namespace: str, depth: int) -> int:
        """Return the minimum size of a value of `schema`, which is inside `namespace`."""
        if depth > _MOST_DEPTH:
            raise ValueError("a schema that is nested too deep")
        if isinstance(schema, list):
            return 1 + min((self.least(s, namespace, depth + 1) for s in schema), default=0)
        if isinstance(schema, dict):
            return self._least_complex(schema, namespace, depth)
        if isinstance(schema, str):
            return self._least_named(schema, namespace)
        raise ValueError(f"{schema!r} is not a type")

    def _least_named(self, name: str, namespace: str) -> int:
        """Return the minimum size of a primitive or of a type defined earlier."""
        if name in _PRIMITIVES:
            return _PRIMITIVES[name]
        size = self._named.get(_full_name(name, namespace))
        if size is None:
            raise ValueError(f"the type {name} is unknown, or inside itself")
        return size

    def _least_complex(self, schema: dict[str, Any], namespace: str, depth: int) -> int:
        """Return the minimum size of a complex type, or of a primitive with attributes."""
        kind = schema.get("type")
        if kind in ("array", "map"):
            item = schema.get("items" if kind == "array" else "values")
            if self.least(item, namespace, depth + 1) == 0 and kind == "array":
                raise ValueError("an array of items without bytes")
            return 1
        if kind not in ("record", "error", "fixed", "enum"):
            return self.least(kind, namespace, depth + 1)
        name = _full_name(str(schema.get("name")), str(schema.get("namespace", namespace)))
        if name in self._named:
            raise ValueError(f"the type {name} is defined twice")
        self._named[name] = None
        size = self._least_of(schema, name.rpartition(".")[0], depth)
        self._named[name] = size
        return size

    def _least_of(self, schema: dict[str, Any], namespace: str, depth: int) -> int:
        """Return the minimum size of a named type's value."""
        if schema["type"] == "enum":
            return 1
        if schema["type"] == "fixed":
            size = schema.get("size")
            if not isinstance(size, int) or not 0 <= size <= _MOST_FIXED:
                raise ValueError(f"a fixed type of {size} bytes")
            return size
        fields = schema.get("fields")
        if not isinstance(fields, list) or not all(isinstance(f, dict) for f in fields):
            raise ValueError("a record without fields")
        return sum(self.least(field.get("type"), namespace, depth + 1) for field in fields)


def _full_name(name: str, namespace: str) -> str:
    """Return the name by which Avro distinguishes types."""
    return name if "." in name or not namespace else f"{namespace}.{name}"


class ContainerFormat:
    """The container format of one schema: its header as bytes and its record encoding."""

    def __init__(self, schema: Mapping[str, Any]) -> None:
        text = json.dumps(schema, separators=(",", ":"))
        self._schema = fastavro.parse_schema(json.loads(text))
        self._sync = hashlib.md5(text.encode(), usedforsecurity=False).digest()
        pairs = ((b"avro.schema", text.encode()), (b"avro.codec", b"null"))
        metadata = b"".join(_sized(key) + _sized(value) for key, value in pairs)
        # The map is one block of entries, and an empty one.
        self._head = b"".join(
            (AVRO_MAGIC, zigzag(len(pairs)), metadata, zigzag(0), self._sync, zigzag(1))
        )

    def write(self, record: Mapping[str, Any]) -> bytes:
        """Return the container of one record."""
        datum = io.BytesIO()
        fastavro.schemaless_writer(datum, self._schema, record)
        return self.seal(datum.getvalue())

    def seal(self, datum: bytes) -> bytes:
        """Return the container of one encoded record."""
        return b"".join((self._head, zigzag(len(datum)), datum, self._sync))

    def unseal(self, data: bytes) -> bytes | None:
        """Return the encoded record of a container made by `seal`, None for any other.

        Raises:
            ValueError: the record's length cannot be read.
        """
        if not (data.startswith(self._head) and data.endswith(self._sync)):
            return None
        size, at = _read_long(data, len(self._head))
        end = at + size
        return data[at:end] if end + _SYNC_SIZE == len(data) else None


def write_container(schema: Mapping[str, Any], record: Mapping[str, Any]) -> bytes:
    """Return the container of one record; keep a `ContainerFormat` to write many."""
    return ContainerFormat(schema).write(record)


def read_container(data: bytes, *, where: Where | None = None) -> dict[str, Any]:
    """Return the one record of a container, decoded by its own schema.

    Args:
        data: the whole container.
        where: the location for errors; its offset is that of the container.

    Raises:
        CorruptFileError: `avro/corrupt`, or `avro/codec` for a codec other than null.
    """
    place = where or Where()
    try:
        schema, datum = _open(data, place)
        parsed = parsed_schema(schema)
        source = io.BytesIO(datum)
        record = fastavro.schemaless_reader(source, parsed, None)
    except AVRO_FAULTS as error:
        raise CorruptFileError(
            "avro/corrupt", f"not an Avro record: {error}", where=place
        ) from error
    if source.tell() != len(datum) or not isinstance(record, dict):
        message = f"an Avro record ends at byte {source.tell()} of {len(datum)}"
        raise CorruptFileError("avro/corrupt", message, where=place)
    return record


def _open(data: bytes, place: Where) -> tuple[str, bytes]:
    """Return schema text and datum of a container with one record."""
    if data[: len(AVRO_MAGIC)] != AVRO_MAGIC:
        raise ValueError("the magic is missing")
    metadata, at = _metadata(data, len(AVRO_MAGIC))
    if (codec := metadata.get(b"avro.codec", b"null")) != b"null":
        raise CorruptFileError("avro/codec", f"an Avro file with codec {codec!r}", where=place)
    sync = data[at : at + _SYNC_SIZE]
    count, at = _read_long(data, at + _SYNC_SIZE)
    size, at = _read_long(data, at)
    if count != 1 or size < 0:
        raise ValueError(f"{count} records in a block of {size} bytes, expected one")
    end = at + size
    if len(sync) != _SYNC_SIZE or data[end:] != sync:
        raise ValueError(f"no end mark after {size} bytes of the record")
    return metadata.get(b"avro.schema", b"").decode(), data[at:end]


def _metadata(data: bytes, at: int) -> tuple[dict[bytes, bytes], int]:
    """Read the header's map; return it and the offset after it."""
    entries: dict[bytes, bytes] = {}
    while True:
        count, at = _read_long(data, at)
        if count == 0:
            return entries, at
        if count < 0:  # a block that also has its size in bytes
            count = -count
            _, at = _read_long(data, at)
        if len(entries) + count > _MOST_METADATA:
            raise ValueError(f"{count} entries of metadata")
        for _ in range(count):
            key, at = _read_bytes(data, at)
            entries[key], at = _read_bytes(data, at)


def _read_bytes(data: bytes, at: int) -> tuple[bytes, int]:
    """Read a length-prefixed string; return it and the offset after it."""
    size, at = _read_long(data, at)
    if not 0 <= size <= len(data) - at:
        raise ValueError(f"a string of {size} bytes is truncated")
    return data[at : at + size], at + size


def _read_long(data: bytes, at: int) -> tuple[int, int]:
    """Read a zigzag varint; return it and the offset after it."""
    value, at = read_uvarint(data, at)
    return value >> 1 ^ -(value & 1), at


def _sized(data: bytes) -> bytes:
    return zigzag(len(data)) + data


@lru_cache(maxsize=64)
def parsed_schema(text: str) -> Any:
    """Return fastavro's form of a schema; cached, since parsing costs more than decoding.

    Raises:
        ValueError: not a schema, or one that `check_schema` refuses.
    """
    schema = check_schema(text)
    try:
        return fastavro.parse_schema(schema)
    except fastavro.schema.SchemaParseException as error:
        raise ValueError(f"the schema is wrong: {error}") from error
