"""A test with its rows typed, or every fault in them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from framework.engine.examples.rows import laid_rows

if TYPE_CHECKING:
    from collections.abc import Mapping

    import pyarrow as pa

    from framework.plan.examples.example import Example
    from framework.plan.faults import Fault

__all__ = ["ReadyExample", "made_ready", "with_lent_types"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadyExample:
    """A test that can be tried.

    Attributes:
        example: as the spec has it.
        before: rows that the table has before; None without any, when there is no table.
        given: rows that come in.
        folders: columns of `given` that are not in files, but in the names of folders.
    """

    example: Example
    before: pa.Table | None
    given: pa.Table
    folders: tuple[str, ...] = ()


def made_ready(example: Example, faults: list[Fault]) -> ReadyExample:
    """Return a test with its rows typed; what is wrong with them is added to `faults`."""
    columns = example.given.columns
    shared = example.same_columns
    given = laid_rows(example.given, faults, beside=example.before if shared else None)
    before = None
    if example.before is not None and example.before.rows:
        before = laid_rows(example.before, faults, beside=example.given if shared else None)
    further = columns.further if columns is not None and columns.in_folders else {}
    return ReadyExample(
        example=example,
        before=before,
        given=given,
        folders=tuple(name for name in given.column_names if name in further),
    )


def with_lent_types(
    ready: ReadyExample, lent: Mapping[str, pa.DataType], faults: list[Fault], *, has_all: bool
) -> ReadyExample:
    """Return a test whose rows before have the types of what the run loads.

    A type that the spec says stays. With `has_all` the rows have every column that is loaded. What
    is wrong with the rows is added to `faults`.
    """
    if ready.example.before is None or ready.before is None or not lent:
        return ready
    before = laid_rows(ready.example.before, faults, lent=lent, has_all_lent=has_all)
    return replace(ready, before=before)
