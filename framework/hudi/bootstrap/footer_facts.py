"""Facts of a Parquet footer's row groups, parsed from its Thrift bytes.

Arrow's own view of a column chunk crashes the process, without an exception, if the chunk is
encrypted or its statistics are damaged. So Arrow reads only the schema of an untrusted footer.
Structs are in Thrift's compact protocol; field ids are those of `parquet.thrift`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias

__all__ = ["FooterFacts", "SchemaElement", "read_facts"]

_DEEPEST: Final = 64
_MORE: Final = 0x80
_NIBBLE: Final = 15
_BOOLEANS: Final = (1, 2)
_BYTE, _I64, _BINARY, _LIST, _SET, _MAP, _STRUCT = 3, 6, 8, 9, 10, 11, 12
_SIZES: Final = {_BYTE: 1, 7: 8, 13: 16}  # of a byte, a double, a UUID


@dataclass(frozen=True, slots=True, kw_only=True)
class SchemaElement:
    """One node of a file's schema, in the numbers of `parquet.thrift`; None if not set.

    Attributes:
        name: without its parents' names.
        children: 0 for a leaf and for a group without fields.
        kind: physical type; None for a group.
        length: bytes of a value of a fixed-length type.
        repetition: 0 required, 1 optional, 2 repeated.
        converted: converted type.
        logical: the member of the union of logical types that is set.
        precision: digits of a decimal.
    """

    name: str
    children: int = 0
    kind: int | None = None
    length: int | None = None
    repetition: int | None = None
    converted: int | None = None
    logical: int | None = None
    precision: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class FooterFacts:
    """The facts needed before a file is read.

    Attributes:
        row_groups: rows of each row group, in file order.
        data_end: offset of the first byte after all column chunks; 0 without any.
        is_encrypted: whether some column is encrypted although the footer is not.
        is_elsewhere: whether the data of some column is in another file.
        created_by: the writer's name for itself; "" if absent.
        schema: the nodes of the schema, depth first, the root first.
        codecs: each codec with the position of the first leaf column that uses it.
        encodings: likewise for page encodings.
        least: by position of a leaf column, the least value in the statistics of its chunks, as a
            signed number of four or eight bytes; meaningful only for columns of such numbers.
    """

    row_groups: tuple[int, ...]
    data_end: int
    is_encrypted: bool
    is_elsewhere: bool
    created_by: str
    schema: tuple[SchemaElement, ...]
    codecs: Mapping[int, int]
    encodings: Mapping[int, int]
    least: Mapping[int, int] = field(default_factory=dict)


def read_facts(raw: bytes) -> FooterFacts:
    """Return the facts of the structure in `raw`; trailing bytes are ignored.

    The cost is linear in the number of footer values.

    Raises:
        ValueError: the bytes are not such a structure.
    """
    try:
        found, _ = _struct(raw, 0, _FILE)
    except (IndexError, TypeError) as error:
        raise ValueError("it ends in the middle of a value") from error
    groups = found.get(_ROW_GROUPS, ())
    chunks = [chunk for group in groups for chunk in group.get(_COLUMNS, ())]
    codecs, encodings = _used(groups)
    return FooterFacts(
        row_groups=tuple(group.get(_NUM_ROWS, 0) for group in groups),
        data_end=max((_end(chunk.get(_META_DATA, {})) for chunk in chunks), default=0),
        is_encrypted=_ALGORITHM in found or any(_CRYPTO & chunk.keys() for chunk in chunks),
        is_elsewhere=any(_FILE_PATH in chunk for chunk in chunks),
        created_by=found.get(_CREATED_BY, ""),
        schema=tuple(_element(each) for each in found.get(_SCHEMA, ())),
        codecs=codecs,
        encodings=encodings,
        least=_least(groups),
    )


def _least(groups: Sequence[Mapping[int, Any]]) -> dict[int, int]:
    """Return the least numbers of leaf columns."""
    found: dict[int, int] = {}
    for group in groups:
        for place, chunk in enumerate(group.get(_COLUMNS, ())):
            statistics = chunk.get(_META_DATA, {}).get(_STATISTICS, {})
            stored = statistics.get(_MIN_VALUE, statistics.get(_MIN, b""))
            if len(stored) in _NUMBER_BYTES:
                number = int.from_bytes(stored, "little", signed=True)
                found[place] = min(number, found.get(place, number))
    return found


def _used(groups: Sequence[Mapping[int, Any]]) -> tuple[dict[int, int], dict[int, int]]:
    """Return codecs and encodings, each with its first leaf column."""
    codecs: dict[int, int] = {}
    encodings: dict[int, int] = {}
    for group in groups:
        for place, chunk in enumerate(group.get(_COLUMNS, ())):
            column = chunk.get(_META_DATA, {})
            if _CODEC in column:
                codecs.setdefault(column[_CODEC], place)
            for encoding in column.get(_ENCODINGS, ()):
                encodings.setdefault(encoding, place)
    return codecs, encodings


def _element(found: Mapping[int, Any]) -> SchemaElement:
    """Return one node of the schema; a decimal's digits are in one of two fields."""
    logical, precision = found.get(_LOGICAL, (None, None))
    return SchemaElement(
        name=found.get(_NAME, ""),
        children=found.get(_CHILDREN, 0),
        kind=found.get(_KIND),
        length=found.get(_LENGTH),
        repetition=found.get(_REPETITION),
        converted=found.get(_CONVERTED),
        logical=logical,
        precision=precision or found.get(_PRECISION),
    )


def _end(column: Mapping[int, int]) -> int:
    """Return the end of the chunk; its first page is the dictionary page, if there is one."""
    first, dictionary = column.get(_DATA_PAGE, 0), column.get(_DICTIONARY_PAGE, 0)
    return (dictionary if 0 < dictionary < first else first) + column.get(_COMPRESSED_SIZE, 0)


def _struct(raw: bytes, at: int, wanted: Mapping[int, _Reader]) -> tuple[dict[int, Any], int]:
    """Return the wanted fields of the struct at `at`, by id, and its end."""
    found: dict[int, Any] = {}
    field = 0
    while head := raw[at]:
        at += 1
        if head > _NIBBLE:
            field += head >> 4
        else:
            field, at = _integer(raw, at)
        read = wanted.get(field)
        if read is None:
            at = _skip(raw, at, head & _NIBBLE, 0)
        else:
            found[field], at = read(raw, at)
    return found, at + 1


def _structs(wanted: Mapping[int, _Reader]) -> _Reader:
    """Return a reader of a list of structs."""

    def read(raw: bytes, at: int) -> tuple[list[dict[int, Any]], int]:
        count, kind, at = _list_head(raw, at)
        if kind != _STRUCT and count:
            raise ValueError("a list of other values is in place of structs")
        found = []
        for _ in range(count):
            value, at = _struct(raw, at, wanted)
            found.append(value)
        return found, at

    return read


def _text(raw: bytes, at: int) -> tuple[bool, int]:
    """Skip bytes or text; return True for their presence."""
    return True, _skip(raw, at, _BINARY, 0)


def _bytes(raw: bytes, at: int) -> tuple[bytes, int]:
    size, at = _unsigned(raw, at)
    return raw[at : at + size], at + size


def _name(raw: bytes, at: int) -> tuple[str, int]:
    """Return text; invalid bytes are replaced."""
    size, at = _unsigned(raw, at)
    return bytes(raw[at : at + size]).decode(errors="replace"), at + size


def _integers(raw: bytes, at: int) -> tuple[list[int], int]:
    """Return a list of numbers."""
    count, kind, at = _list_head(raw, at)
    if count and not _BYTE < kind <= _I64:
        raise ValueError("a list of other values is in place of numbers")
    found = []
    for _ in range(count):
        value, at = _integer(raw, at)
        found.append(value)
    return found, at


def _logical(raw: bytes, at: int) -> tuple[tuple[int | None, int | None], int]:
    """Return the logical type that is set, and its digits if it is a decimal."""
    kind = precision = None
    field = 0
    while head := raw[at]:
        at += 1
        if head > _NIBBLE:
            field += head >> 4
        else:
            field, at = _integer(raw, at)
        kind = field
        if field == _DECIMAL and head & _NIBBLE == _STRUCT:
            members, at = _struct(raw, at, _DECIMAL_TYPE)
            precision = members.get(_DECIMAL_PRECISION)
        else:
            at = _skip(raw, at, head & _NIBBLE, 0)
    return (kind, precision), at + 1


def _there(raw: bytes, at: int) -> tuple[bool, int]:
    """Skip a struct; return True for its presence."""
    return True, _skip(raw, at, _STRUCT, 0)


def _integer(raw: bytes, at: int) -> tuple[int, int]:
    """Return the signed number at `at`, and its end."""
    value, at = _unsigned(raw, at)
    return (value >> 1) ^ -(value & 1), at


def _unsigned(raw: bytes, at: int) -> tuple[int, int]:
    """Return the unsigned number at `at`, and its end."""
    value = raw[at]
    if value < _MORE:
        return value, at + 1
    value &= 0x7F
    shift = 7
    while True:
        at += 1
        byte = raw[at]
        value |= (byte & 0x7F) << shift
        if byte < _MORE:
            return value, at + 1
        shift += 7


def _list_head(raw: bytes, at: int) -> tuple[int, int, int]:
    """Return count and kind of a list's items, and the offset of the first."""
    head = raw[at]
    count, kind = head >> 4, head & _NIBBLE
    if count < _NIBBLE:
        return count, kind, at + 1
    count, at = _unsigned(raw, at + 1)
    return count, kind, at


def _skip(raw: bytes, at: int, kind: int, depth: int) -> int:
    """Return the end of the value of this kind at `at`."""
    if kind in _BOOLEANS:
        return at
    if _BYTE < kind <= _I64:
        while raw[at] >= _MORE:
            at += 1
        return at + 1
    if kind == _BINARY:
        size, at = _unsigned(raw, at)
        return at + size
    return _skip_other(raw, at, kind, depth + 1)


def _skip_other(raw: bytes, at: int, kind: int, depth: int) -> int:
    """Return the end of a value of a rarer or nested kind."""
    if depth > _DEEPEST:
        raise ValueError("it is nested too deep")
    if kind == _STRUCT:
        while head := raw[at]:
            at = at + 1 if head > _NIBBLE else _integer(raw, at + 1)[1]
            at = _skip(raw, at, head & _NIBBLE, depth)
        return at + 1
    if kind in {_LIST, _SET}:
        count, kind, at = _list_head(raw, at)
        return _skip_items(raw, at, (count, kind), depth)
    if kind == _MAP:
        count, at = _unsigned(raw, at)
        kinds = raw[at] if count else 0
        return _skip_pairs(raw, at + 1, (count, kinds >> 4, kinds & _NIBBLE), depth)
    if kind not in _SIZES:
        raise ValueError(f"it contains a value of kind {kind}, which does not exist in Thrift")
    return at + _SIZES[kind]


def _skip_items(raw: bytes, at: int, items: tuple[int, int], depth: int) -> int:
    """Return the end of `items` (count, kind); each takes at least a byte."""
    count, kind = items
    if kind in _BOOLEANS:
        return at + count
    for _ in range(count):
        at = _skip(raw, at, kind, depth)
    return at


def _skip_pairs(raw: bytes, at: int, pairs: tuple[int, int, int], depth: int) -> int:
    """Return the end of key-value pairs; `at` is after the byte of their kinds."""
    count, key, value = pairs
    if not count:
        return at - 1
    for _ in range(count):
        at = _skip_items(raw, at, (1, key), depth)
        at = _skip_items(raw, at, (1, value), depth)
    return at


_Reader: TypeAlias = "Callable[[bytes, int], tuple[Any, int]]"

_ENCODINGS, _CODEC, _COMPRESSED_SIZE, _DATA_PAGE, _DICTIONARY_PAGE, _STATISTICS = 2, 4, 7, 9, 11, 12
_MIN, _MIN_VALUE = 2, 6
_BOUNDS: Final[Mapping[int, _Reader]] = dict.fromkeys((_MIN, _MIN_VALUE), _bytes)
_NUMBER_BYTES: Final = (4, 8)
_COLUMN: Final[Mapping[int, _Reader]] = {
    _ENCODINGS: _integers,
    _STATISTICS: lambda raw, at: _struct(raw, at, _BOUNDS),
    **dict.fromkeys((_CODEC, _COMPRESSED_SIZE, _DATA_PAGE, _DICTIONARY_PAGE), _integer),
}
_FILE_PATH, _META_DATA = 1, 3
_CRYPTO: Final = frozenset({8, 9})
_CHUNK: Final[Mapping[int, _Reader]] = {
    _FILE_PATH: _text,
    _META_DATA: lambda raw, at: _struct(raw, at, _COLUMN),
    8: _there,  # crypto_metadata
    9: _text,  # encrypted_column_metadata
}
_COLUMNS, _NUM_ROWS = 1, 3
_ROW_GROUP: Final[Mapping[int, _Reader]] = {_COLUMNS: _structs(_CHUNK), _NUM_ROWS: _integer}
_DECIMAL, _DECIMAL_PRECISION = 5, 2
_DECIMAL_TYPE: Final[Mapping[int, _Reader]] = {_DECIMAL_PRECISION: _integer}
_KIND, _LENGTH, _REPETITION, _NAME, _CHILDREN, _CONVERTED, _PRECISION, _LOGICAL = (
    *range(1, 7),
    8,
    10,
)
_ELEMENT: Final[Mapping[int, _Reader]] = {
    **dict.fromkeys((_KIND, _LENGTH, _REPETITION, _CHILDREN, _CONVERTED, _PRECISION), _integer),
    _NAME: _name,
    _LOGICAL: _logical,
}
_SCHEMA, _ROW_GROUPS, _CREATED_BY, _ALGORITHM = 2, 4, 6, 8
_FILE: Final[Mapping[int, _Reader]] = {
    _SCHEMA: _structs(_ELEMENT),
    _ROW_GROUPS: _structs(_ROW_GROUP),
    _CREATED_BY: _name,
    _ALGORITHM: _there,
}
