"""Documents as JSON, and their JSON Schemas, both from one set of typed values.

A document is a frozen dataclass; its members are texts, numbers, enums, tuples, dicts with text as
keys, and further such dataclasses. This is the only module outside `spec` that uses pydantic.
"""

from __future__ import annotations

import json
from functools import cache
from typing import TYPE_CHECKING, Any, Final

from pydantic import TypeAdapter
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue

if TYPE_CHECKING:
    from _typeshed import DataclassInstance
    from pydantic_core import core_schema

__all__ = ["json_members", "json_schema", "json_text"]

_DIALECT: Final = "https://json-schema.org/draft/2020-12/schema"


def json_text(document: DataclassInstance) -> str:
    """Return a document as indented JSON, without a newline at its end."""
    return json.dumps(json_members(document), indent=2, ensure_ascii=False)


def json_members(document: DataclassInstance) -> dict[str, object]:
    """Return the members of a document, in order, as values that `json.dumps` accepts.

    A value of another type than declared emits a `UserWarning`, which tests turn into an error;
    the values of a `Literal` are checked only by mypy.
    """
    # not mode="json": that turns 1 into 1.0 where a float is declared, and garbles surrogates
    found: dict[str, object] = _adapter(type(document)).dump_python(document)
    return found


def json_schema(kind: type[DataclassInstance], *, title: str) -> dict[str, object]:
    """Return the JSON Schema of a document; each type that it uses is one entry of `$defs`.

    Every member is required, since one that does not apply is null, and no other is allowed.
    """
    schemas, shared = TypeAdapter.json_schemas(
        [(title, "serialization", _adapter(kind))], schema_generator=_Schema
    )
    definitions = {name: _words(found) for name, found in sorted(shared["$defs"].items())}
    root = schemas[title, "serialization"]
    return {"$schema": _DIALECT, "title": title, **root, "$defs": definitions}


def _words(definition: JsonSchemaValue) -> JsonSchemaValue:
    """Return a definition; of an enum the values alone, as its docstring is for developers."""
    return {"enum": definition["enum"]} if "enum" in definition else definition


@cache
def _adapter(kind: type[DataclassInstance]) -> TypeAdapter[Any]:
    """Return the serializer of a document type; cached, since making one takes milliseconds."""
    return TypeAdapter(kind)


class _Schema(GenerateJsonSchema):
    """JSON Schemas without pydantic's additions: titles, defaults and sorting."""

    def sort(self, value: JsonSchemaValue, parent_key: str | None = None) -> JsonSchemaValue:
        del parent_key
        return value

    def field_title_should_be_set(self, schema: object) -> bool:
        del schema
        return False

    def field_is_required(self, field: object, total: bool) -> bool:  # noqa: FBT001  pydantic's
        del field, total
        return True

    def default_schema(self, schema: core_schema.WithDefaultSchema) -> JsonSchemaValue:
        return self.generate_inner(schema["schema"])

    def literal_schema(self, schema: core_schema.LiteralSchema) -> JsonSchemaValue:
        found = super().literal_schema(schema)
        return {name: found[name] for name in ("const", "enum") if name in found}

    def dataclass_schema(self, schema: core_schema.DataclassSchema) -> JsonSchemaValue:
        found = super().dataclass_schema(schema)
        return {
            "description": found["description"],
            "type": "object",
            "properties": found["properties"],
            "required": found["required"],
            "additionalProperties": False,
        }
