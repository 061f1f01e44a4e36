"""The checks that a spec asks for, with its column contract as checks."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from types import MappingProxyType
from typing import Final

from framework.hudi.keygen.spark_sql import quote_literal, quote_name
from framework.plan.quality.model import Budget, Check, ColumnContract, Quality
from framework.spec.document.positions import child_path
from framework.spec.sections import quality_spec
from framework.spec.sections.pipeline_spec import PipelineSpec
from framework.vocabulary import CheckKind, OnDuplicate, OnFail

__all__ = ["quality_of", "quarantine_of"]

_COLUMNS: Final = "table.columns"
_PLAIN_TYPES: Final = ("string", "boolean", "tinyint", "smallint", "int", "bigint", "date")
_WHOLE: Final = re.compile(r"[+-]?[0-9]+")


def quality_of(spec: PipelineSpec) -> Quality:
    """Return the checks of `spec` as the gate runs them."""
    section = spec.quality or quality_spec.QualitySpec()
    contract = spec.table.columns or {}
    checks = (
        *(check for name, column in contract.items() for check in _of_column(name, column)),
        *map(_check, spec.checks),
    )
    return Quality(
        checks=checks,
        quarantine=quarantine_of(spec) if _quarantines(spec, checks) else None,
        max_ratio=section.quarantine.max_ratio if section.quarantine else 1.0,
        samples=section.samples,
        redacted=section.redact,
        depth=section.audit,
        columns=tuple(_contract(name, column) for name, column in contract.items()),
    )


def quarantine_of(spec: PipelineSpec) -> str:
    """Return where rows are quarantined, or would be if some check quarantined any."""
    section = spec.quality.quarantine if spec.quality else None
    written = section.location if section else None
    return written or f"{spec.table.location}{quality_spec.QUARANTINE_SUFFIX}"


def _quarantines(spec: PipelineSpec, checks: tuple[Check, ...]) -> bool:
    """Return whether a check or the handling of duplicates can quarantine rows."""
    bootstrap = spec.bootstrap
    if bootstrap is not None and bootstrap.on_duplicate is OnDuplicate.REWRITE_FILES:
        return True
    return any(check.on_fail is OnFail.QUARANTINE for check in checks)


def _check(placed: quality_spec.PlacedCheck) -> Check:
    fields = placed.fields
    return Check(
        name=fields.name,
        kind=fields.kind,
        text=fields.text,
        on_fail=fields.on_fail,
        over=fields.over,
        budget=_budget(fields.max_failed),
        where=fields.where,
        allow_null=fields.allow_null,
        arguments=MappingProxyType(dict(fields.arguments)),
        key_path=placed.key_path,
    )


def _budget(allowed: str | int) -> Budget:
    """Return the rows, or the share of them, that may fail."""
    if isinstance(allowed, str):
        return Budget(share=quality_spec.parse_share(allowed))
    return Budget(rows=allowed)


def _contract(name: str, column: quality_spec.ColumnSpec) -> ColumnContract:
    return ColumnContract(
        name=name,
        type=column.type,
        nullable=column.nullable,
        allowed=column.allowed or (),
        key_path=child_path(_COLUMNS, name),
    )


def _of_column(name: str, column: quality_spec.ColumnSpec) -> Iterator[Check]:
    """Yield the checks that a column's contract implies."""
    path = child_path(_COLUMNS, name)
    if not column.nullable:
        yield Check(
            name=f"columns.{name}.nullable",
            kind=CheckKind.EXPECT,
            text=f"{quote_name(name)} IS NOT NULL",
            on_fail=column.on_fail,
            key_path=f"{path}.nullable",
        )
    if column.allowed:
        values = ", ".join(_literal(value, column.type) for value in column.allowed)
        yield Check(
            name=f"columns.{name}.allowed",
            kind=CheckKind.EXPECT,
            text=f"{quote_name(name)} IN ({values})",
            on_fail=column.on_fail,
            allow_null=column.nullable,
            key_path=f"{path}.allowed",
        )


def _literal(value: str | float, kind: str | None) -> str:
    """Return the value as a literal of the type; of no type, as YAML reads it.

    Numbers with a point are cast from text, so that floats compare with floats, and decimals
    exactly as written.
    """
    text = _text(value)
    if kind is None:
        kind = {bool: "boolean", int: "bigint", float: "double"}.get(type(value), "string")
    if kind == "date":
        return f"DATE {quote_literal(text)}"
    if kind == "boolean" and text.lower() in ("true", "false"):
        return text.upper()
    if kind in _PLAIN_TYPES and kind != "string" and _WHOLE.fullmatch(text):
        return text
    return quote_literal(text) if kind == "string" else f"CAST({quote_literal(text)} AS {kind})"


def _text(value: str | float) -> str:
    """Return the text that Spark casts to the value."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if math.isnan(value) else ("-" if value < 0 else "") + "Infinity"
    return str(value)
