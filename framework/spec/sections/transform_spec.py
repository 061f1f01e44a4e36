"""The section `transforms`: SQL between source and table."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Annotated

from pydantic import AfterValidator, Field, StrictStr

from framework.spec.sections.fields import SpecModel, Text, fault

__all__ = ["MAX_TRANSFORMS", "SOURCE_VIEW", "TransformFields", "TransformSpec", "Transforms"]

SOURCE_VIEW = "source"
"""The view that holds the rows of the source; no transform may use its name."""

MAX_TRANSFORMS = 100
"""Each transform is bounded in size, so this bounds all of them together."""

_IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def _view_name(name: str) -> str:
    """Return the name, if it is an SQL identifier without quotes and not taken."""
    if not _IDENTIFIER.fullmatch(name):
        near = re.sub(r"[^A-Za-z0-9_]+", "_", name[:60])
        message = "a transform's name has letters, digits and `_`, and does not start with a digit"
        raise fault("transform-name", message, near if _IDENTIFIER.fullmatch(near) else f"_{near}")
    if name.lower() == SOURCE_VIEW:
        raise fault("transform-name", "`source` is the view that holds the rows of the source")
    return name


ViewName = Annotated[StrictStr, AfterValidator(_view_name)]


class TransformFields(SpecModel):
    """A transform as a spec writes it: a name, and SQL inline or in a file."""

    name: ViewName = Field(
        description="The view's name, for use in later transforms.", examples=["cleaned"]
    )
    sql: Text | None = Field(
        default=None, description="One SELECT over `source` and previous views; may use Jinja."
    )
    sql_file: Text | None = Field(
        default=None,
        description="A file with the SQL; a relative path starts at the spec file's folder.",
    )


Transforms = Annotated[tuple[TransformFields, ...], Field(max_length=MAX_TRANSFORMS)]


@dataclass(frozen=True, slots=True, kw_only=True)
class TransformSpec:
    """A transform as it runs: a named view over `source` and the views before it.

    Attributes:
        name: the view's name, an SQL identifier.
        sql: one finished statement that starts with SELECT or WITH, after comments if any,
            without a final `;`. It may contain the values of environment variables.
        stored: the SQL in its storable form: finished, but with `${env.X}` as written; the
            author's own template if that reads a variable that is built from one.
        uses: the variables that its Jinja uses.
    """

    name: str
    sql: str
    stored: str = field(repr=False)
    uses: frozenset[str] = frozenset()
