"""Columns of files: those that source files lack, and types that our own files cannot hold.

Spark takes the columns of Parquet and ORC files from one of them, unless it merges schemas, or from
the schema of the source, and silently reads absent ones as null. The files' own schemas show which
of them lack which columns.

The types that our Parquet files support are judged by Spark's schema as JSON: PySpark 3.5 has no
class for some of the types, so its own schema cannot be used.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import PurePosixPath
from typing import Any, Final
from urllib.parse import unquote

import pyarrow as pa
from pyarrow import orc

from framework.engine.load.input_columns import input_footers
from framework.errors import CorruptFileError, PlanError, Where
from framework.hudi.storage.locations import open_storage
from framework.hudi.table.layout import name_of, parent_of
from framework.plan.load import InputRequest
from framework.vocabulary import MissingColumns

__all__ = ["FileColumns", "file_columns", "refuse_absent", "refuse_columns"]

Names = dict[str, "Names"]
"""Fields in lower case, as Spark resolves them, with their inner fields; empty for plain types."""

FileColumns = list[tuple[str, Names]]
"""Files and their columns; of consecutive files with the same columns, only the first."""


def file_columns(request: InputRequest) -> FileColumns:
    """Return the columns of the files in a request, at no cost for other formats.

    Reads each footer of Parquet and ORC files.

    Raises:
        SourceDriftError: `input/drift`; a file is missing.
        CorruptFileError: `input/corrupt-file`.
    """
    files = request.files or ()
    if request.format == "parquet":
        seen = [(each.file or "", each.schema) for each in input_footers(files).schemas]
    elif request.format == "orc":
        seen = [(file, _orc_schema(file)) for file in files]
    else:
        return []
    found: FileColumns = []
    for file, schema in seen:
        names = _of_fields(schema)
        if not found or found[-1][1] != names:
            found.append((file, names))
    return found


def refuse_absent(request: InputRequest, found: FileColumns, schema_json: str) -> None:
    """Refuse files that lack columns, or fields of structs, that Spark reads from the source.

    If missing columns are set to null, key, partition and ordering columns are still required,
    unless there are transforms, which may fill them.

    Args:
        request: the source.
        found: columns of its files.
        schema_json: the schema of the frame, as Spark's JSON.

    Raises:
        PlanError: `input/schema-differs`.
    """
    folders = _folder_columns(request)
    wanted = _of_spark(json.loads(schema_json))
    read = {name: inside for name, inside in wanted.items() if name not in folders}
    for file, names in found:
        absent = list(_absent(read, names, ""))
        if request.missing is MissingColumns.SET_NULL:
            needed = () if request.transforms else request.needed
            absent = [name for name in absent if name in {each.lower() for each in needed}]
        if absent:
            raise PlanError(
                "input/schema-differs",
                "the files of the source do not have the same columns: "
                + "; ".join(f"column '{name}' is missing" for name in absent),
                where=Where(file=file),
                remedy=_REMEDY,
            )


_REMEDY = (
    "Write the missing columns into every file of the source, or set `write.missing_columns:"
    " set_null`: it writes null for them, also into rows that had a value. Key, partition and"
    " ordering columns need a value."
)


def _folder_columns(request: InputRequest) -> set[str]:
    """Return the columns that Spark takes from folder names."""
    if request.path is None:
        return set()
    root = PurePosixPath(request.path)
    folders = {PurePosixPath(file).parent for file in request.files or ()}
    below = [each.relative_to(root) for each in folders if each.is_relative_to(root)]
    steps = {step for each in below for step in each.parts}
    return {unquote(step.split("=", 1)[0]).lower() for step in steps if "=" in step}


def _orc_schema(file: str) -> pa.Schema:
    try:
        with open_storage(parent_of(file)).open_input(name_of(file)) as stream:
            return orc.ORCFile(stream).schema
    except (OSError, pa.ArrowException) as error:
        raise CorruptFileError(
            "input/corrupt-file",
            f"an input file cannot be read: {error}",
            where=Where(file=file),
            remedy="Restore the file, or remove it from the source.",
        ) from error


def _of_fields(fields: Iterable[pa.Field]) -> Names:
    return {field.name.lower(): _of_arrow(field.type) for field in fields}


def _of_arrow(kind: pa.DataType) -> Names:
    """Return the names inside an Arrow type."""
    if pa.types.is_struct(kind):
        return _of_fields(kind)
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        return {"element": _of_arrow(kind.value_type)}
    return {"value": _of_arrow(kind.item_type)} if pa.types.is_map(kind) else {}


def _of_spark(kind: Any) -> Names:
    """Return the names inside a type of Spark's JSON."""
    if not isinstance(kind, dict):
        return {}
    match kind["type"]:
        case "struct":
            return {each["name"].lower(): _of_spark(each["type"]) for each in kind["fields"]}
        case "array":
            return {"element": _of_spark(kind["elementType"])}
        case "map":
            return {"value": _of_spark(kind["valueType"])}
        case _:
            return {}


def _absent(wanted: Names, found: Names, above: str) -> Iterator[str]:
    """Yield the dotted paths of missing fields; types of different kinds are left to Spark."""
    for name, inside in wanted.items():
        there = found.get(name)
        if there is None:
            yield f"{above}{name}"
        elif inside.keys() & there.keys():
            yield from _absent(inside, there, f"{above}{name}.")


_HELD: Final = re.compile(
    r"boolean|byte|short|integer|long|float|double|decimal(?:\(.*\))?"
    r"|string|char\(.*\)|varchar\(.*\)|binary|date|timestamp|timestamp_ntz"
)


def refuse_columns(schema_json: str) -> None:
    """Refuse a frame's schema if a file cannot store its columns; pure.

    Raises:
        PlanError: `input/unsupported-type` with all faulty columns; `schema/duplicate-name`,
            `schema/same-but-case`.
    """
    fields = json.loads(schema_json)["fields"]
    unheld = [f"`{path}` ({kind})" for path, kind in _unheld_fields(fields, "")]
    if unheld:
        raise PlanError(
            "input/unsupported-type",
            f"a Hudi table has no type for {', '.join(unheld)}",
            remedy="Cast these columns in a transform, or omit them.",
        )
    _refuse_twins([field["name"] for field in fields])


def _unheld_fields(fields: Sequence[Any], above: str) -> Iterator[tuple[str, str]]:
    """Yield dotted path and type of each field that a file cannot store."""
    for field in fields:
        yield from _unheld(field["type"], f"{above}{field['name']}")


def _unheld(kind: Any, path: str) -> Iterator[tuple[str, str]]:
    """Yield dotted path and type of the unsupported parts of one type."""
    if isinstance(kind, str):
        if not _HELD.fullmatch(kind):
            yield path, kind
        return
    if kind["type"] == "struct":
        yield from _unheld_fields(kind["fields"], f"{path}.")
    elif kind["type"] == "array":
        yield from _unheld(kind["elementType"], f"{path}.element")
    elif kind["type"] == "map":
        yield from _unheld(kind["keyType"], f"{path}.key")
        yield from _unheld(kind["valueType"], f"{path}.value")
    else:
        yield path, str(kind["type"])


def _refuse_twins(names: Sequence[str]) -> None:
    """Refuse columns whose names are equal for Spark, which then refuses to write them."""
    exact, lowered = Counter(names), Counter(name.lower() for name in names)
    for name in names:
        if exact[name] > 1:
            raise PlanError(
                "schema/duplicate-name",
                f"column '{name}' occurs twice in the rows to load",
                remedy="Rename one of them in a transform.",
            )
        if lowered[name.lower()] > 1:
            raise PlanError(
                "schema/same-but-case",
                f"column '{name}' differs from another one in case only, which Spark ignores",
                remedy="Rename one of them in a transform.",
            )
