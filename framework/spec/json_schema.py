"""JSON Schemas of spec and project file, for editors and other tools.

`python -m framework.spec.json_schema` writes them into `schemas/`. They describe the form of a
file; faults that only the loader can find (overlapping locations, unknown variables, …) are not
covered.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

from framework.spec.sections.fields import SpecModel
from framework.spec.sections.pipeline_spec import PipelineDocument
from framework.spec.sections.project import ProjectDocument
from framework.spec.sections.table_spec import AUTO, COMMIT_TIME

__all__ = ["main", "project_schema", "rendered_schemas", "spec_schema"]

_DIALECT = "https://json-schema.org/draft/2020-12/schema"
_REFERENCE = {"type": "string", "pattern": r"^\$\{(var|env)\.[A-Za-z_][A-Za-z0-9_]*\}$"}
_NUMBERS = ("integer", "number", "boolean")
_DEFAULTS = {"table": "TableSpec", "bootstrap": "BootstrapSpec", "spark": "SparkSpec"}
_COLUMNS_FILE = {"type": "string", "pattern": r"\.columns\.yml$|\$\{"}
_PRECOMBINE = {
    "description": "The old name of `ordering`.",
    "deprecated": True,
    "anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}],
}


_SECTIONS_TOGETHER = {
    "dependentRequired": {"source": ["write"], "transforms": ["source"]},
    "if": {"required": ["source"], "not": {"required": ["bootstrap"]}},
    "else": {"properties": {"table": {"required": ["record_key"]}}},
}


def spec_schema() -> dict[str, Any]:
    """Return the schema of `*.pipeline.yml`."""
    return {**_schema(PipelineDocument, "A lakestrap pipeline"), **_SECTIONS_TOGETHER}


def project_schema() -> dict[str, Any]:
    """Return the schema of `run-pipeline.yml`; all fields of its defaults are optional."""
    schema = _schema(ProjectDocument, "A lakestrap project file")
    definitions, offered = schema["$defs"], spec_schema()["$defs"]
    for name in _reached(offered, "CheckSpec", "StorageSpec", *_DEFAULTS.values()):
        fills = name in _DEFAULTS.values()
        definitions[name] = _without(offered[name], "required") if fills else offered[name]
    for section, name in _DEFAULTS.items():
        definitions["DefaultsModel"]["properties"][section] = {"$ref": f"#/$defs/{name}"}
    schema["properties"]["storage"] = {"$ref": "#/$defs/StorageSpec"}
    checks = {"type": "array", "minItems": 1, "items": {"$ref": "#/$defs/CheckSpec"}}
    schema["properties"]["profiles"]["additionalProperties"] = checks
    return schema


def _reached(definitions: dict[str, Any], *names: str) -> list[str]:
    """Return the names, and those that their definitions refer to, sorted."""
    waiting, found = list(names), set()
    while waiting:
        name = waiting.pop()
        found.add(name)
        used = re.findall(r'"#/\$defs/(\w+)"', json.dumps(definitions[name]))
        waiting.extend(set(used) - found)
    return sorted(found)


def rendered_schemas() -> dict[str, str]:
    """Return the content of each schema file by file name."""
    schemas = {"pipeline": spec_schema(), "project": project_schema()}
    return {
        f"{name}.schema.json": json.dumps(schema, indent=2, ensure_ascii=False) + "\n"
        for name, schema in schemas.items()
    }


def main(folder: Path) -> None:
    """Write the schema files into the folder."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in rendered_schemas().items():
        (folder / name).write_text(text, encoding="utf-8")


def _schema(model: type[SpecModel], title: str) -> dict[str, Any]:
    """Return the model's schema without pydantic's own entries, and with references allowed."""
    schema = _refined(model.model_json_schema())
    table = schema["$defs"].get("TableSpec")
    if table:
        table["properties"]["precombine"] = _PRECOMBINE
        for name, word in (("record_key", AUTO), ("ordering", COMMIT_TIME)):
            field = _without(table["properties"][name], "default")
            named = {"$ref": field.pop("$ref")}
            table["properties"][name] = {**field, "anyOf": [{"const": word}, named]}
        columns = table["properties"]["columns"]
        about = {"description": columns.pop("description"), "examples": columns.pop("examples")}
        table["properties"]["columns"] = {**about, "anyOf": [_COLUMNS_FILE, columns]}
    return {"$schema": _DIALECT, "title": title, **schema}


def _refined(node: Any) -> Any:
    """Return the schema node without generated titles and nulls, and with `${…}` for scalars."""
    if isinstance(node, list):
        return [_refined(item) for item in node]
    if not isinstance(node, dict):
        return node
    named = {
        name: {key: _refined(value) for key, value in node[name].items()}
        for name in ("properties", "$defs")
        if name in node
    }
    kept = ("default", "examples", "enum", "const", "pattern")
    rest = {
        name: value if name in kept else _refined(value)
        for name, value in node.items()
        if name not in named and not _is_noise(name, value, node)
    }
    return _with_reference(_without_null({**rest, **named}))


def _without(node: dict[str, Any], name: str) -> dict[str, Any]:
    return {key: value for key, value in node.items() if key != name}


def _is_noise(name: str, value: Any, node: dict[str, Any]) -> bool:
    """Return whether pydantic wrote the entry for itself.

    A title, a default that means "left out", or the enum's docstring, which is for developers.
    """
    empty = name == "default" and value in (None, [], {})
    return name == "title" or empty or (name == "description" and "enum" in node)


def _without_null(node: dict[str, Any]) -> dict[str, Any]:
    """Return the node without `null`, which no field accepts."""
    options = node.get("anyOf")
    if not isinstance(options, list) or {"type": "null"} not in options:
        return node
    kept = [option for option in options if option != {"type": "null"}]
    rest = _without(node, "anyOf")
    return {**kept[0], **rest} if len(kept) == 1 else {**rest, "anyOf": kept}


def _with_reference(node: dict[str, Any]) -> dict[str, Any]:
    """Return the node; a number, a boolean or an enum may also be a reference."""
    takes = node.get("type") in _NUMBERS or "enum" in node
    if not takes:
        return node
    about = ("description", "default", "examples")
    outer = {name: value for name, value in node.items() if name in about}
    inner = {name: value for name, value in node.items() if name not in about}
    return {**outer, "anyOf": [inner, _REFERENCE]}


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path("schemas"))
