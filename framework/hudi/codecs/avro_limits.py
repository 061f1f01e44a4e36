"""Refuse Avro schemas that would let few bytes cost much time, memory or stack."""

from __future__ import annotations

import json
from typing import Any, Final

__all__ = ["check_schema"]

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


def check_schema(text: str) -> Any:
    """Return the schema that `text` holds, once it is known to be harmless.

    Raises:
        ValueError: over 1 MiB, nested deeper than 100, a type inside itself, or arrays whose items
            take no bytes, of which a block may count 2^60.
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
    """The least number of bytes that values of each type take."""

    def __init__(self) -> None:
        self._named: dict[str, int | None] = {}  # by full name; None while its fields are read

    def least(self, schema: Any, namespace: str, depth: int) -> int:
        """Return the least bytes of a value of `schema`, which stands inside `namespace`."""
        if depth > _MOST_DEPTH:
            raise ValueError("a schema that is nested too deep")
        if isinstance(schema, list):
            return 1 + min((self.least(s, namespace, depth + 1) for s in schema), default=0)
        if isinstance(schema, dict):
            return self._least_complex(schema, namespace, depth)
        if isinstance(schema, str):
            return self._least_named(schema, namespace)
        raise ValueError(f"{schema!r} is no type")

    def _least_named(self, name: str, namespace: str) -> int:
        """Return the least bytes of a primitive, or of a type defined before."""
        if name in _PRIMITIVES:
            return _PRIMITIVES[name]
        size = self._named.get(_full_name(name, namespace))
        if size is None:
            raise ValueError(f"the type {name} is not known, or inside itself")
        return size

    def _least_complex(self, schema: dict[str, Any], namespace: str, depth: int) -> int:
        """Return the least bytes of a type that is written out, or of a primitive with hints."""
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
        """Return the least bytes of a named type's value."""
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
    """Return the name by which Avro tells types apart."""
    return name if "." in name or not namespace else f"{namespace}.{name}"
