"""The JSON Schema of the plan's JSON, made from the types in `framework.plan.document`."""

from __future__ import annotations

import inspect
import json
import types
from typing import Any, Final, Literal, Union, get_args, get_origin, get_type_hints

from framework.plan.document import PlanDocument

__all__ = ["plan_schema", "plan_schema_text", "type_schema"]

_DIALECT: Final = "https://json-schema.org/draft/2020-12/schema"
_PLAIN: Final[dict[Any, dict[str, Any]]] = {
    str: {"type": "string"},
    int: {"type": "integer"},
    float: {"type": "number"},
    bool: {"type": "boolean"},
    types.NoneType: {"type": "null"},
    object: {},  # anything that JSON can hold
}


def plan_schema() -> dict[str, Any]:
    """Return the schema; each type of the document is one entry of `$defs`."""
    definitions: dict[str, Any] = {}
    root = type_schema(PlanDocument, definitions)
    return {
        "$schema": _DIALECT,
        "title": "Plan of run-pipeline",
        **root,
        "$defs": dict(sorted(definitions.items())),
    }


def plan_schema_text() -> str:
    """Return the content of `schemas/plan.schema.json`."""
    return json.dumps(plan_schema(), indent=2) + "\n"


def type_schema(kind: Any, definitions: dict[str, Any] | None = None) -> dict[str, Any]:
    """Return the schema of one type; records are put among `definitions`.

    Raises:
        TypeError: the type is none that a plan may use.
    """
    definitions = {} if definitions is None else definitions
    if kind in _PLAIN:
        return dict(_PLAIN[kind])
    inner = get_args(kind)
    found: dict[str, Any]
    match get_origin(kind):
        case origin if origin is Literal:
            found = {"const": inner[0]} if len(inner) == 1 else {"enum": list(inner)}
        case origin if origin in (types.UnionType, Union):
            found = {"anyOf": [type_schema(each, definitions) for each in inner]}
        case origin if origin is list:
            found = {"type": "array", "items": type_schema(inner[0], definitions)}
        case origin if origin is dict:
            values = type_schema(inner[1], definitions)
            found = {"type": "object", "additionalProperties": values}
        case _:
            found = _record(kind, definitions)
    return found


def _record(kind: Any, definitions: dict[str, Any]) -> dict[str, Any]:
    """Return a reference to the schema of a record, which has all its members and no other."""
    if not hasattr(kind, "__required_keys__"):
        raise TypeError(f"{kind!r} has no JSON Schema here")
    name = kind.__name__
    if name not in definitions:
        definitions[name] = {}
        members = {n: type_schema(t, definitions) for n, t in get_type_hints(kind).items()}
        definitions[name] = {
            "description": inspect.getdoc(kind) or "",
            "type": "object",
            "properties": members,
            "required": list(members),
            "additionalProperties": False,
        }
    return {"$ref": f"#/$defs/{name}"}
