"""Field types that several sections share.

Sequences are validated in pydantic's lax mode, because strict mode refuses a YAML list for a tuple;
scalars are strict, because lax mode would read `true` as 1 and `"3"` as 3.

A fault that pydantic has no type for is raised as `PydanticCustomError`, whose type is the rule id
without `spec/` and whose context may hold a `suggestion`.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Annotated

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    StrictBool,
    StrictFloat,
    StrictInt,
    StrictStr,
)
from pydantic_core import PydanticCustomError

from framework.spec.document.references import LooseText
from framework.vocabulary import ReservedPrefix, SparkColumn

if TYPE_CHECKING:
    from pydantic.fields import FieldInfo
from typing import Protocol

import re2

__all__ = [
    "ColumnName",
    "Flag",
    "Pattern",
    "PatternError",
    "PositiveNumber",
    "Share",
    "SpecModel",
    "TableName",
    "Text",
    "WholeNumber",
    "compile_pattern",
    "decimal",
    "distinct",
    "fault",
    "typed",
    "written_fields",
]

MAX_NUMBER = 2**31 - 1
"""Counts in a spec fit into Java's int, since Hudi reads some of them."""

_TABLE_NAME = re.compile(r"[A-Za-z0-9_-]+(?:\.[A-Za-z0-9_-]+)?")


class SpecModel(BaseModel):
    """A mapping of the spec: unknown fields are faults, values are frozen."""

    model_config = ConfigDict(extra="forbid", frozen=True)


def written_fields(model: type[SpecModel]) -> dict[str, FieldInfo]:
    """Return the model's fields by the name used in a spec."""
    return {field.alias or name: field for name, field in model.model_fields.items()}


def fault(rule: str, message: str, suggestion: str | None = None) -> PydanticCustomError:
    """Return a fault for a validator to raise; `rule` has no `spec/` prefix."""
    context = {"rule": rule, "message": message, "suggestion": suggestion}
    return PydanticCustomError("spec-rule", "{message}", context)


def typed(value: object) -> object:
    """Parse text of unknown type as a scalar; return anything else unchanged."""
    return value.typed() if isinstance(value, LooseText) else value


def decimal(value: object) -> object:
    """Return a whole number as a float; parse text of unknown type as a scalar first."""
    found = typed(value)
    return float(found) if isinstance(found, int) and not isinstance(found, bool) else found


def _table_name(name: str) -> str:
    """Return the name, if it is `[database.]table`."""
    if _TABLE_NAME.fullmatch(name):
        return name
    parts = [re.sub(r"[^A-Za-z0-9_-]+", "_", part) for part in name.split(".") if part]
    suggestion = ".".join([*parts[:1], "_".join(parts[1:])] if len(parts) > 1 else parts)
    message = "a table's name is `table` or `database.table`, of letters, digits, `_` and `-`"
    raise fault("table-name", message, suggestion or None)


def _column_name(name: str) -> str:
    """Return the name, unless it is empty or reserved."""
    if not name.strip():
        raise fault("empty-value", "a column needs a name")
    lowered = name.lower()
    for prefix in ReservedPrefix:
        if lowered.startswith(prefix):
            owner = prefix.name.capitalize()
            raise fault("reserved-column", f"columns starting with `{prefix}` belong to {owner}")
    if lowered in set(SparkColumn):
        raise fault("reserved-column", f"`{lowered}` is a column that Spark generates")
    return name


def distinct(names: tuple[str, ...]) -> tuple[str, ...]:
    """Return the names, if no two are equal when case is ignored."""
    seen: dict[str, str] = {}
    for name in names:
        first = seen.get(name.lower())
        if first == name:
            raise fault("duplicate-column", f"the column `{name}` is named twice")
        if first is not None:
            raise fault("duplicate-column", f"`{first}` and `{name}` differ in case only")
        seen[name.lower()] = name
    return names


Text = Annotated[StrictStr, Field(min_length=1)]
Flag = Annotated[StrictBool, BeforeValidator(typed)]
WholeNumber = Annotated[StrictInt, BeforeValidator(typed)]
PositiveNumber = Annotated[StrictInt, Field(ge=1, le=MAX_NUMBER), BeforeValidator(typed)]
Share = Annotated[StrictFloat, Field(gt=0, lt=1), BeforeValidator(decimal)]
TableName = Annotated[StrictStr, AfterValidator(_table_name)]
ColumnName = Annotated[StrictStr, AfterValidator(_column_name)]


_OPTIONS = re2.Options()
_OPTIONS.log_errors = False  # errors are raised; RE2 would also write them to stderr


class PatternError(ValueError):
    """The text is not a valid RE2 pattern; the message explains why."""


class Pattern(Protocol):
    """A compiled pattern."""

    @property
    def pattern(self) -> str:
        """The source text of the pattern."""

    def fullmatch(self, text: str) -> object | None:
        """Return a match of the whole text, or None."""

    def search(self, text: str) -> object | None:
        """Return the first match within the text, or None."""


def compile_pattern(text: str) -> Pattern:
    r"""Return the text compiled as an RE2 pattern; `\d`, `\w` and `\s` mean ASCII.

    Raises:
        PatternError: it is invalid, or needs more than RE2's 8 MB to run.
    """
    try:
        found: Pattern = re2.compile(text, _OPTIONS)
    except (re2.error, UnicodeEncodeError) as error:
        raise PatternError(_reason(error)) from error
    return found


def _reason(error: Exception) -> str:
    """Return RE2's message, which comes as bytes."""
    said = error.args[0] if error.args else ""
    return said.decode("utf-8", "replace") if isinstance(said, bytes) else str(said)
