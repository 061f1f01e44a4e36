"""The column contract, `table.columns`, and the section `quality`: checks beside keys."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any

from pydantic import (
    AfterValidator,
    BeforeValidator,
    ConfigDict,
    Field,
    StrictFloat,
    StrictInt,
    StrictStr,
    WithJsonSchema,
)
from pydantic_core import PydanticCustomError

from framework.spec.sections.fields import (
    ColumnName,
    Flag,
    SpecModel,
    Text,
    decimal,
    distinct,
    fault,
    typed,
)
from framework.spec.sections.free_values import FreeValue, ScalarField
from framework.spec.sections.locations import Location
from framework.spec.sql.spark_types import TypeTextError, normal_type
from framework.vocabulary import AuditDepth, CheckedRows, CheckKind, OnFail

__all__ = [
    "COLUMNS_SUFFIX",
    "MAX_CHECKS",
    "MAX_COLUMNS",
    "MAX_SAMPLES",
    "QUARANTINE_SUFFIX",
    "SPLITS",
    "CheckSpec",
    "Checks",
    "ColumnSpec",
    "Columns",
    "PlacedCheck",
    "QualitySpec",
    "QuarantineSpec",
    "parse_share",
]

COLUMNS_SUFFIX = ".columns.yml"
"""Suffix of the name of a file with a column contract."""

MAX_COLUMNS = 10_000
"""More columns than any Parquet file that Spark reads in one piece."""

_MAX_ALLOWED = 1_000


def _type(text: str) -> str:
    """Return the type in its normalized spelling."""
    try:
        return normal_type(text)
    except TypeTextError as error:
        raise fault("bad-type", error.message, error.suggestion) from error


def _distinct_names(columns: Mapping[str, ColumnSpec]) -> Mapping[str, ColumnSpec]:
    """Return the contract, if its names are distinct."""
    distinct(tuple(columns))
    return columns


TypeText = Annotated[Text, AfterValidator(_type)]


class ColumnSpec(SpecModel):
    """Type and allowed values of one column. A column in the contract must be in the table."""

    type: TypeText | None = Field(
        default=None, description="Spark SQL type, such as decimal(10,2)."
    )
    nullable: Flag = Field(default=True, description="Whether the column may be null.")
    allowed: (
        Annotated[tuple[ScalarField, ...], Field(min_length=1, max_length=_MAX_ALLOWED)] | None
    ) = Field(default=None, description="The only values that the column may have.")
    on_fail: OnFail = Field(
        default=OnFail.ABORT,
        description="What happens to rows that are null or have another value.",
    )


Columns = Annotated[
    Mapping[ColumnName, ColumnSpec],
    Field(min_length=1, max_length=MAX_COLUMNS),
    AfterValidator(_distinct_names),
]


MAX_CHECKS = 1_000
"""Maximum number of checks in one list."""

MAX_SAMPLES = 1_000
"""Maximum number of bad rows that a report shows for each check."""

SPLITS = (OnFail.QUARANTINE, OnFail.DROP)
"""The outcomes that remove bad rows before anything is written."""

QUARANTINE_SUFFIX = ".quarantine"
"""Suffix of the table's location, the default for the quarantine location."""

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_MAX_NAME = 100
_SHARE = re.compile(r"([0-9]{1,3}(?:\.[0-9]{1,12})?) ?%")
_SHARE_SCHEMA = r"^[0-9]{1,3}(\.[0-9]{1,12})? ?%$|\$\{"
_PERCENT = 100


def _check_name(name: str) -> str:
    """Return the name, if it is valid in reports, file names and SQL without quotes."""
    if not _NAME.fullmatch(name):
        near = re.sub(r"[^A-Za-z0-9_]+", "_", name[:_MAX_NAME])
        message = "a check's name has letters, digits and `_`, and does not start with a digit"
        raise fault("check-name", message, near if _NAME.fullmatch(near) else f"_{near}")
    if len(name) > _MAX_NAME:
        raise fault("check-name", f"a check's name has at most {_MAX_NAME} characters")
    return name


def parse_share(text: str) -> float:
    """Return the share that a text such as `0.5%` means, above 0 and below 1.

    Raises:
        PydanticCustomError: `bad-budget`; the text is not such a share.
    """
    found = _SHARE.fullmatch(text.strip())
    if found is None:
        likely = text.strip() if text.strip().isdecimal() else None
        message = f"`{text[:40]}` is neither a number of rows nor a share such as '0.5%'"
        raise fault("bad-budget", message, likely)
    share = float(found.group(1)) / _PERCENT
    if share == 0:
        raise fault("bad-budget", "write a share of zero as 0 rows", "0")
    if share >= 1:
        raise fault("bad-budget", "a check that allows all rows to fail checks nothing")
    return share


def _budget(value: object) -> object:
    """Return a number of rows, or the text of a share."""
    allowed = typed(value)
    if isinstance(allowed, str):
        parse_share(allowed)
    elif isinstance(allowed, bool) or not isinstance(allowed, int):
        raise PydanticCustomError("int_type", "Input should be a valid integer")
    elif allowed < 0:
        raise fault("out-of-range", "must be at least 0")
    return allowed


CheckName = Annotated[StrictStr, Field(min_length=1), AfterValidator(_check_name)]
MaxFailed = Annotated[
    Any,
    BeforeValidator(_budget),
    WithJsonSchema(
        {"anyOf": [{"type": "integer", "minimum": 0}, {"type": "string", "pattern": _SHARE_SCHEMA}]}
    ),
]
Ratio = Annotated[StrictFloat, Field(gt=0, le=1), BeforeValidator(decimal)]
Samples = Annotated[StrictInt, Field(ge=0, le=MAX_SAMPLES), BeforeValidator(typed)]
Redacted = Annotated[tuple[Text, ...], AfterValidator(distinct)]

_KINDS: dict[str, Any] = {"oneOf": [{"required": [kind.value]} for kind in CheckKind]}


class CheckSpec(SpecModel):
    """One check: a name, exactly one of `expect`, `expect_aggregate`, `query` and `gx`."""

    model_config = ConfigDict(json_schema_extra=_KINDS)

    name: CheckName = Field(
        description="Unique among all checks of the spec, ignoring case.",
        examples=["distance_positive"],
    )
    expect: Text | None = Field(
        default=None, description="Spark SQL predicate that every row must meet."
    )
    where: Text | None = Field(
        default=None, description="With `expect`: predicate that selects the rows to check."
    )
    allow_null: Flag = Field(
        default=False,
        description="With `expect`: whether a row passes if the predicate is null.",
    )
    expect_aggregate: Text | None = Field(
        default=None, description="Predicate over aggregates of all rows: count(*) >= 1000."
    )
    query: Text | None = Field(
        default=None, description="One SELECT over `this` that returns the bad rows."
    )
    gx: Text | None = Field(default=None, description="Name of a Great Expectations expectation.")
    arguments: Mapping[str, FreeValue] = Field(
        default={}, description="With `gx`: the expectation's arguments."
    )
    on_fail: OnFail = Field(
        default=OnFail.ABORT,
        description="What happens to bad rows; only `expect` can quarantine or drop them.",
    )
    over: CheckedRows = Field(
        default=CheckedRows.WRITTEN,
        description="The rows that this run writes, or all rows of the table after it.",
    )
    max_failed: MaxFailed = Field(
        default=0, description="Bad rows that are allowed: a number, or a share such as '0.5%'."
    )

    @property
    def kind(self) -> CheckKind:
        """The one of the four fields that is set; a loaded spec has exactly one."""
        return next(kind for kind in CheckKind if getattr(self, kind.value) is not None)

    @property
    def text(self) -> str:
        """The predicate, query or name of the expectation."""
        return str(getattr(self, self.kind.value))


@dataclass(frozen=True, slots=True, kw_only=True)
class PlacedCheck:
    """A check as it runs, of the spec or of a profile that the spec names.

    Attributes:
        fields: its fields; its query is finished SQL, one statement.
        key_path: its path: `quality.checks[0]`, or `profiles.money[0]`, which is in the
            project file.
        written: its storable form: its own fields alone, `${env.X}` as written.
        uses: the variables that the Jinja of its query uses.
    """

    fields: CheckSpec
    key_path: str
    written: Mapping[str, object] = field(default_factory=dict, repr=False)
    uses: frozenset[str] = frozenset()


Checks = Annotated[tuple[CheckSpec, ...], Field(min_length=1, max_length=MAX_CHECKS)]


class QuarantineSpec(SpecModel):
    """Where rows are quarantined, and the maximum share."""

    location: Location | None = Field(
        default=None,
        description="Data set of the quarantined rows; by default the table's location plus "
        "`.quarantine`. A relative one starts at the spec file's folder.",
        examples=["lake/quarantine/table"],
    )
    max_ratio: Ratio = Field(
        default=1.0,
        description="Share of the input that may be quarantined and dropped; above it a run fails.",
    )


class QualitySpec(SpecModel):
    """What the audit gate checks besides keys before a run publishes."""

    model_config = ConfigDict(json_schema_extra={"minProperties": 1})

    profiles: tuple[Text, ...] | None = Field(
        default=None,
        min_length=1,
        max_length=MAX_CHECKS,
        description="Lists of checks in the project file, by name.",
    )
    checks: Checks | None = Field(default=None, description="Checks of this spec, in order.")
    quarantine: QuarantineSpec | None = Field(
        default=None, description="Where rows are quarantined, and the maximum share."
    )
    samples: Samples = Field(default=5, description="Bad rows shown for each check.")
    redact: Redacted = Field(default=(), description="Columns whose values are never shown.")
    audit: AuditDepth = Field(
        default=AuditDepth.SAMPLE,
        description="Which stored files are opened again and compared with what was written, "
        "before a run publishes: a sample of files, or all (`deep`).",
    )
