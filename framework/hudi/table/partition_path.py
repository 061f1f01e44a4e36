"""Partition paths: conversion between folder text and typed values, as in Apache Hudi.

A partition's path in the table is the text of its source folder, so the next upsert must produce
the same text from the typed values: `render_partition(parse_partition(path)) == path`. A text that
would change (`month=01` declared as an int) is refused, since an upsert would write to another
folder and duplicate its keys (design.md, section 5).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from typing import Final

from framework.errors import PlanError, Where
from framework.vocabulary import PartitionType, SourceLayout

__all__ = [
    "HIVE_DEFAULT",
    "PartitionField",
    "PartitionValue",
    "escape",
    "parse_partition",
    "partition_values",
    "render_partition",
    "unescape",
    "value_text",
]

HIVE_DEFAULT: Final = "__HIVE_DEFAULT_PARTITION__"

PartitionValue = str | int | bool | date | None

# Hudi's PartitionPathEncodeUtils, copied from Hive's FileUtils; Spark's set lacks only NUL.
_ESCAPED: Final = frozenset("\"#%'*/:=?\\\x7f{[]^") | frozenset(map(chr, range(32)))
_ESCAPES: Final = {ord(c): f"%{ord(c):02X}" for c in _ESCAPED}
_ESCAPE_PATTERN: Final = re.compile("%([0-9A-Fa-f]{2})")
_DATE_PATTERN: Final = re.compile(r"(\d{1,4})-(\d{1,2})-(\d{1,2})", re.ASCII)
_INT_PATTERN: Final = re.compile(r"\s*([+-]?\d{1,19})\s*", re.ASCII)
_INT_BITS: Final = {PartitionType.INT: 31, PartitionType.LONG: 63}


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionField:
    """One column encoded in folder names, and its type."""

    name: str
    type: PartitionType


def parse_partition(
    path: str, fields: Sequence[PartitionField], layout: SourceLayout
) -> tuple[PartitionValue, ...]:
    """Return the typed value of each field, in order; None is Hive's default partition.

    Args:
        path: the partition's folder relative to the source root; `""` without fields.
        fields: the declared partition columns, in folder order.
        layout: how folder names encode the values.

    Raises:
        PlanError: `partition/wrong-depth`, `partition/wrong-field`, `partition/value-unreadable`,
            `partition/value-changes`, `partition/unsafe-path`.
    """
    segments = path.split("/") if path else []
    _refuse_unsafe(path, segments)
    if len(segments) != len(fields):
        names = "/".join(field.name for field in fields)
        raise PlanError(
            "partition/wrong-depth",
            f"folder has {len(segments)} levels, but the partition columns are {len(fields)}"
            f" ({names})",
            where=Where(partition=path),
            remedy="Declare one column in `partition_by` for each folder level, in order.",
        )
    pairs = zip(segments, fields, strict=True)
    return tuple(_parse_segment(segment, field, layout, path) for segment, field in pairs)


def partition_values(
    path: str, fields: Sequence[PartitionField], layout: SourceLayout
) -> dict[str, PartitionValue]:
    """Return `parse_partition` by column name."""
    values = parse_partition(path, fields, layout)
    return {field.name: value for field, value in zip(fields, values, strict=True)}


def render_partition(
    values: Sequence[PartitionValue], fields: Sequence[PartitionField], layout: SourceLayout
) -> str:
    """Return the path that Apache Hudi gives to rows with these values; `""` without fields."""
    pairs = zip(values, fields, strict=True)
    return "/".join(_render_segment(value, field, layout) for value, field in pairs)


def value_text(value: PartitionValue) -> str | None:
    """Return Hudi's text of a typed value: `true`, `-7`, `2024-02-29`; None stays None."""
    if value is None:
        return None
    if isinstance(value, bool):
        return "true" if value else "false"
    return value.isoformat() if isinstance(value, date) else str(value)


def escape(text: str) -> str:
    """Escape Hive's special characters as upper-case `%XX`."""
    return text.translate(_ESCAPES)


def unescape(text: str) -> str:
    """Replace each `%XX` by the character of that code, as Hive, Spark and Hudi do."""
    return _ESCAPE_PATTERN.sub(lambda match: chr(int(match[1], 16)), text)


def _refuse_unsafe(path: str, segments: Sequence[str]) -> None:
    """Refuse a path that is not UTF-8 or could leave the table."""
    try:
        path.encode()
    except UnicodeEncodeError as error:
        raise PlanError(
            "partition/unsafe-path",
            "folder name is not UTF-8",
            where=Where(partition=ascii(path)),
            remedy="Rename the folder.",
        ) from error
    if any(segment in {"", ".", ".."} for segment in segments):
        raise PlanError(
            "partition/unsafe-path",
            "folder path has an empty, `.` or `..` level",
            where=Where(partition=path),
            remedy="Pass the folder's plain path, relative to the source.",
        )


def _parse_segment(
    segment: str, field: PartitionField, layout: SourceLayout, path: str
) -> PartitionValue:
    """Return the value of one level, after checking that it renders as the same text."""
    if segment == _render_segment(None, field, layout):
        return None
    text = _segment_text(segment, field, layout, path)
    value = _parse_value(text, field, path)
    rendered = _render_segment(value, field, layout)
    if rendered != segment:
        raise _value_changes(segment, rendered, field, path)
    return value


def _segment_text(segment: str, field: PartitionField, layout: SourceLayout, path: str) -> str:
    """Return the text of a level without its column name, unescaped if the layout escapes."""
    if layout is SourceLayout.HIVE:
        name, equals, text = segment.partition("=")
        if name != field.name or not equals:
            raise PlanError(
                "partition/wrong-field",
                f"folder level {segment!r} does not start with '{field.name}='",
                where=Where(partition=path),
                remedy="List the columns of `partition_by` in folder order and spelling,"
                " or set `layout: positional`.",
            )
        return unescape(text)
    if "=" in segment or ":" in segment or unescape(segment) != segment:
        raise PlanError(
            "partition/value-changes",
            f"positional folder level {segment!r} contains '=', ':' or a %XX escape,"
            " which Hadoop's paths and Hudi's readers interpret",
            where=Where(partition=path),
            remedy="Rename the folder, or set `layout: hive` if levels are `column=value`.",
        )
    return segment


def _parse_value(text: str, field: PartitionField, path: str) -> PartitionValue:
    """Parse `text` as leniently as a reader would."""
    value: PartitionValue = None
    match field.type:
        case PartitionType.STRING:
            value = text
        case PartitionType.INT | PartitionType.LONG:
            value = _parse_int(text, _INT_BITS[field.type])
        case PartitionType.DATE:
            value = _parse_date(text)
        case PartitionType.BOOLEAN:
            value = {"true": True, "false": False}.get(text.lower())
    if value is None:
        raise PlanError(
            "partition/value-unreadable",
            f"{text!r} is not of type {field.type} (column '{field.name}')",
            where=Where(partition=path),
            remedy=f"Write `{field.name}: string` in `partition_by`.",
        )
    return value


def _parse_int(text: str, bits: int) -> int | None:
    """Return the integer, None if it does not fit that many bits."""
    match = _INT_PATTERN.fullmatch(text)
    value = int(match[1]) if match else None
    return value if value is not None and -(2**bits) <= value < 2**bits else None


def _parse_date(text: str) -> date | None:
    """Return the day, None if it is not one between the years 1 and 9999."""
    match = _DATE_PATTERN.fullmatch(text)
    try:
        return date(int(match[1]), int(match[2]), int(match[3])) if match else None
    except ValueError:
        return None


def _render_segment(value: PartitionValue, field: PartitionField, layout: SourceLayout) -> str:
    text = value_text(value) or HIVE_DEFAULT
    if layout is SourceLayout.HIVE:
        return f"{field.name}={escape(text)}"
    return text


def _value_changes(segment: str, rendered: str, field: PartitionField, path: str) -> PlanError:
    """Return the error for a text that the next upsert would write differently."""
    if field.type is PartitionType.STRING:
        remedy = f"Rename the folder level to {rendered!r}."
    else:
        remedy = f"Write `{field.name}: string` in `partition_by`."
    return PlanError(
        "partition/value-changes",
        f"folder level {segment!r} would be written as {rendered!r} by the next upsert"
        f" (column '{field.name}' is declared {field.type}), which duplicates its keys",
        where=Where(partition=path),
        remedy=remedy,
    )
