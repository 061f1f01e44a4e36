"""The column contract, `table.columns`: what each column of the table is and may hold."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated

from pydantic import AfterValidator, Field

from framework.spec.sections.fields import ColumnName, Flag, SpecModel, Text, distinct, fault
from framework.spec.sections.free_values import ScalarField
from framework.spec.sql.spark_types import TypeTextError, normal_type
from framework.vocabulary import OnFail

__all__ = ["COLUMNS_SUFFIX", "MAX_COLUMNS", "ColumnSpec", "Columns"]

COLUMNS_SUFFIX = ".columns.yml"
"""How the name of a file with a column contract ends."""

MAX_COLUMNS = 10_000
"""More columns than any file of Parquet that Spark reads in one piece."""

_MAX_ALLOWED = 1_000


def _type(text: str) -> str:
    """The type in its normal text."""
    try:
        return normal_type(text)
    except TypeTextError as error:
        raise fault("bad-type", error.message, error.suggestion) from error


def _distinct_names(columns: Mapping[str, ColumnSpec]) -> Mapping[str, ColumnSpec]:
    """The contract, if its names are distinct."""
    distinct(tuple(columns))
    return columns


TypeText = Annotated[Text, AfterValidator(_type)]


class ColumnSpec(SpecModel):
    """What one column is and may hold. A column in the contract must be in the table."""

    type: TypeText | None = Field(
        default=None, description="Spark SQL type, such as decimal(10,2)."
    )
    nullable: Flag = Field(default=True, description="Whether the column may be null.")
    allowed: (
        Annotated[tuple[ScalarField, ...], Field(min_length=1, max_length=_MAX_ALLOWED)] | None
    ) = Field(default=None, description="The only values that the column may have.")
    on_fail: OnFail = Field(
        default=OnFail.ABORT,
        description="What rows do that are null or have another value.",
    )


Columns = Annotated[
    Mapping[ColumnName, ColumnSpec],
    Field(min_length=1, max_length=MAX_COLUMNS),
    AfterValidator(_distinct_names),
]
