"""The section `tests`: input rows and the expected results."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated

from pydantic import ConfigDict, Field

from framework.spec.sections.fields import SpecModel, Text
from framework.spec.sections.free_values import FreeValue

__all__ = ["MAX_TESTS", "ExpectedSpec", "Row", "Rows", "TestSpec", "Tests"]

MAX_TESTS = 1_000
_MAX_ROWS = 1_000

Row = Annotated[Mapping[str, FreeValue], Field(min_length=1)]
Rows = Annotated[tuple[Row, ...], Field(max_length=_MAX_ROWS)]


class ExpectedSpec(SpecModel):
    """The expected results; fields that are omitted are not checked.

    Lists of rows are compared whole, in any order, in the columns that at least one of their rows
    has.
    """

    model_config = ConfigDict(json_schema_extra={"minProperties": 1})

    written: Rows | None = Field(
        default=None, description="The rows that the run adds or changes, and no others."
    )
    table_after: Rows | None = Field(
        default=None, description="All rows of the table after the run."
    )
    quarantined: Rows | None = Field(default=None, description="The rows that are quarantined.")
    rejected: Rows | None = Field(
        default=None, description="The rows that cause the run to be refused; it writes nothing."
    )
    refused_by: Annotated[tuple[Text, ...], Field(min_length=1)] | None = Field(
        default=None,
        description="Names of the checks that refuse the run, or `duplicate-keys`, `null-keys`, "
        "`taken-keys`, `too-many-set-aside`.",
    )

    @property
    def is_refusal(self) -> bool:
        """Whether the run must be refused."""
        return self.refused_by is not None or self.rejected is not None


class TestSpec(SpecModel):
    """One test: the rows of a table, the input rows, and the expected results."""

    name: Text = Field(description="What the test shows.", examples=["negative distance"])
    table: Rows | None = Field(
        default=None, description="Rows of the table before the run; by default there is no table."
    )
    given: Rows = Field(
        description="Rows of the source.", examples=["[{origin: JFK, distance: 100}]"]
    )
    expect: ExpectedSpec = Field(description="The expected results.", examples=["{written: []}"])


Tests = Annotated[tuple[TestSpec, ...], Field(min_length=1, max_length=MAX_TESTS)]
