"""Values of YAML as values of a column's type, without any loss."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, date, datetime
from decimal import Decimal, InvalidOperation
from math import inf, isinf, nan
from typing import Any, Final

import pyarrow as pa

__all__ = ["UnfitError", "arrow_type", "fitted", "inferred", "type_text"]


_PLAIN: Final[Mapping[str, pa.DataType]] = {
    "tinyint": pa.int8(),
    "smallint": pa.int16(),
    "int": pa.int32(),
    "bigint": pa.int64(),
    "float": pa.float32(),
    "double": pa.float64(),
    "boolean": pa.bool_(),
    "string": pa.string(),
    "binary": pa.binary(),
    "date": pa.date32(),
    "timestamp": pa.timestamp("us", tz="UTC"),
    "timestamp_ntz": pa.timestamp("us"),
}
_NESTED: Final = ("decimal", "array", "map", "struct")
_NAMES: Final = {kind: name for name, kind in _PLAIN.items()}
_TOKEN: Final = re.compile(r"`(?:``|[^`])+`|\w+|[<>(),:]")

_DAY: Final = re.compile(r"\d{4}-\d{2}-\d{2}")
_TIME: Final = re.compile(
    r"\d{4}-\d{2}-\d{2}(?:[ T]\d{2}:\d{2}(?::\d{2}(?:\.\d{1,6})?)?(?:Z|[+-]\d{2}:?\d{2})?)?"
)
_WHOLE: Final = re.compile(r"[+-]?\d{1,19}")
_SPECIAL: Final = {"NaN": nan, "Infinity": inf, "-Infinity": -inf}
_DIGITS: Final = 60
_WORDS: Final = {
    bool: "true or false",
    int: "a whole number",
    float: "a number",
    str: "text",
    list: "a list",
    dict: "a mapping",
}


def arrow_type(text: str) -> pa.DataType:
    """Return the type of a text: a normal one, or one of Spark's own.

    Raises:
        ValueError: no table can have such a type.
    """
    words = _TOKEN.findall(text)[::-1]
    return _type(words)


def type_text(kind: pa.DataType) -> str:
    """Return the name of a type for people: Spark SQL's if it has one."""
    if pa.types.is_decimal(kind):
        return f"decimal({kind.precision},{kind.scale})"
    if pa.types.is_timestamp(kind):
        return "timestamp" if kind.tz else "timestamp_ntz"
    return _NAMES.get(kind, str(kind))


def _type(words: list[str]) -> pa.DataType:
    """Return the next type; `words` are reversed, and the read ones are removed."""
    name = words.pop()
    if name in _PLAIN:
        return _PLAIN[name]
    if name not in _NESTED:
        raise ValueError(name)
    words.pop()  # the bracket
    if name == "decimal":
        precision, _, scale, _ = (words.pop() for _ in range(4))
        return pa.decimal128(int(precision), int(scale))
    if name == "array":
        kind = pa.list_(_type(words))
        words.pop()
        return kind
    if name == "map":
        key = _type(words)
        words.pop()
        kind = pa.map_(key, _type(words))
        words.pop()
        return kind
    return pa.struct(_fields(words))


def _fields(words: list[str]) -> list[pa.Field]:
    """Return the fields of a struct up to its closing bracket."""
    fields = []
    while words[-1] != ">":
        if words[-1] == ",":
            words.pop()
        name = words.pop()
        words.pop()  # the colon
        plain = name[1:-1].replace("``", "`") if name.startswith("`") else name
        fields.append(pa.field(plain, _type(words)))
    words.pop()
    return fields


class UnfitError(Exception):
    """A value does not fit a type; caught and reported as a fault within this package."""

    def __init__(self, message: str, remedy: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.remedy = remedy


def fitted(value: Any, kind: pa.DataType) -> Any:
    """Return a value of YAML as Python's value of an Arrow type; null stays None.

    Text is parsed as days and times (UTC if it has no offset), and a number as a number of any
    kind that can hold it; nothing is rounded but binary fractions of 32 bits, and text is never a
    number.

    Raises:
        UnfitError: it is not a value of the type.
    """
    if value is None:
        return None
    fit = next((fit for is_kind, fit in _FITTING if is_kind(kind)), None)
    if fit is None:
        raise UnfitError(f"a test cannot write values of {type_text(kind)}")
    return fit(value, kind)


def inferred(values: Iterable[Any]) -> pa.DataType:
    """Return the type of values by themselves: bigint, double, boolean, string, nested.

    Raises:
        UnfitError: they have no type in common.
    """
    found = [value for value in values if value is not None]
    classes = {type(value) for value in found}
    if classes == {int, float}:
        classes = {float}
    if len(classes) > 1:
        names = ", ".join(sorted(_WORDS.get(each, each.__name__) for each in classes))
        raise UnfitError(f"the column has values of several types: {names}")
    (only,) = classes or {str}
    if only is list:
        return pa.list_(inferred(item for value in found for item in value))
    if only is dict:
        fields = dict.fromkeys(name for value in found for name in value)
        return pa.struct([(name, inferred(each.get(name) for each in found)) for name in fields])
    return {bool: pa.bool_(), int: pa.int64(), float: pa.float64()}.get(only, pa.string())


def _unfit(value: object, kind: pa.DataType, remedy: str = "") -> UnfitError:
    """Return the error for a value that does not fit the type."""
    shown = f"`{value}`" if isinstance(value, str | int | float) else _WORDS.get(type(value), "it")
    return UnfitError(f"{shown[:_DIGITS]} is not a value of {type_text(kind)}", remedy)


def _boolean(value: Any, kind: pa.DataType) -> bool:
    if not isinstance(value, bool):
        raise _unfit(value, kind, "Write true or false, without quotes.")
    return value


def _integer(value: Any, kind: pa.DataType) -> int:
    whole = isinstance(value, float) and value.is_integer()
    if isinstance(value, bool) or not (isinstance(value, int) or whole):
        raise _unfit(value, kind, _unquoted(value, _WHOLE))
    number, bits = int(value), kind.bit_width - 1
    if not -(2**bits) <= number < 2**bits:
        raise UnfitError(f"`{value}` is out of range for {type_text(kind)}")
    return number


def _unquoted(value: object, pattern: re.Pattern[str]) -> str:
    """Return what to do about a quoted number."""
    return "Write it without quotes." if pattern.fullmatch(str(value)) else ""


def _float(value: Any, kind: pa.DataType) -> float:
    if isinstance(value, str) and value in _SPECIAL:
        return _SPECIAL[value]
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise _unfit(value, kind, _unquoted(value, _WHOLE))
    number = float(pa.scalar(float(value), kind).as_py())
    if isinf(number) and not isinf(value):
        raise UnfitError(f"`{value}` is out of range for {type_text(kind)}")
    if isinstance(value, int) and number != value:
        raise UnfitError(f"`{value}` would be rounded to {type_text(kind)}")
    return number


def _decimal(value: Any, kind: pa.DataType) -> Decimal:
    try:
        number = None if isinstance(value, bool | list | Mapping) else Decimal(str(value))
    except InvalidOperation:
        number = None
    if number is None or not number.is_finite():
        raise _unfit(value, kind)
    exponent = int(number.normalize().as_tuple().exponent)
    whole = max(number.adjusted() + 1, 0) if number else 0
    if -exponent > kind.scale or whole > kind.precision - kind.scale:
        raise UnfitError(f"`{value}` does not fit into {type_text(kind)}")
    return number


def _text(value: Any, kind: pa.DataType) -> str:
    if not isinstance(value, str):
        shown = str(value).lower() if isinstance(value, bool) else value
        remedy = f"Write '{shown}'." if isinstance(value, int | float) else ""
        raise _unfit(value, kind, remedy)
    return value


def _bytes(value: Any, kind: pa.DataType) -> bytes:
    return _text(value, kind).encode()


def _date(value: Any, kind: pa.DataType) -> date:
    try:
        if isinstance(value, str) and _DAY.fullmatch(value):
            return date.fromisoformat(value)
    except ValueError:
        pass
    raise _unfit(value, kind, "Write it as 2026-01-31.")


def _timestamp(value: Any, kind: pa.DataType) -> datetime:
    try:
        if isinstance(value, str) and _TIME.fullmatch(value):
            moment = datetime.fromisoformat(value)
            if kind.tz and moment.tzinfo is None:
                return moment.replace(tzinfo=UTC)
            if kind.tz:
                return moment.astimezone(UTC)
            if moment.tzinfo is None:
                return moment
    except ValueError:
        pass
    raise _unfit(value, kind, "Write it as 2026-01-31 12:30:00.")


def _list(value: Any, kind: pa.DataType) -> list[Any]:
    if not isinstance(value, list):
        raise _unfit(value, kind)
    return [fitted(item, kind.value_type) for item in value]


def _map(value: Any, kind: pa.DataType) -> list[tuple[Any, Any]]:
    if not isinstance(value, Mapping):
        raise _unfit(value, kind)
    numeric = pa.types.is_integer(kind.key_type)
    keys = [int(key) if numeric and _WHOLE.fullmatch(key) else key for key in value]
    return [
        (fitted(key, kind.key_type), fitted(item, kind.item_type))
        for key, item in zip(keys, value.values(), strict=True)
    ]


def _struct(value: Any, kind: pa.DataType) -> dict[str, Any]:
    if not isinstance(value, Mapping):
        raise _unfit(value, kind)
    names = {str(field.name).lower(): field.name for field in kind}
    unknown = [str(name) for name in value if str(name).lower() not in names]
    if unknown:
        raise UnfitError(f"there is no field `{unknown[0][:_DIGITS]}` in {kind}")
    given = {names[str(name).lower()]: item for name, item in value.items()}
    return {field.name: fitted(given.get(field.name), field.type) for field in kind}


_FITTING: Final[tuple[tuple[Callable[[Any], bool], Callable[[Any, pa.DataType], Any]], ...]] = (
    (pa.types.is_boolean, _boolean),
    (pa.types.is_integer, _integer),
    (pa.types.is_floating, _float),
    (pa.types.is_decimal, _decimal),
    (pa.types.is_string, _text),
    (pa.types.is_large_string, _text),
    (pa.types.is_binary, _bytes),
    (pa.types.is_large_binary, _bytes),
    (pa.types.is_date32, _date),
    (pa.types.is_timestamp, _timestamp),
    (pa.types.is_map, _map),
    (pa.types.is_list, _list),
    (pa.types.is_large_list, _list),
    (pa.types.is_struct, _struct),
)
