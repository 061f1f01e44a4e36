"""A test with its rows typed, or every fault in them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from framework.engine.spec_tests.rows import laid_rows

if TYPE_CHECKING:
    from collections.abc import Mapping

    import pyarrow as pa

    from framework.plan.faults import Fault
    from framework.plan.spec_tests.spec_test import SpecTest

__all__ = ["ReadySpecTest", "made_ready", "with_lent_types"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadySpecTest:
    """A test that can be run.

    Attributes:
        test: as the spec has it.
        before: rows that the table has before; None without any, when there is no table.
        given: rows that come in.
        folders: columns of `given` that are not in files, but in the names of folders.
    """

    test: SpecTest
    before: pa.Table | None
    given: pa.Table
    folders: tuple[str, ...] = ()


def made_ready(test: SpecTest, faults: list[Fault]) -> ReadySpecTest:
    """Return a test with its rows typed; what is wrong with them is added to `faults`."""
    columns = test.given.columns
    shared = test.same_columns
    given = laid_rows(test.given, faults, beside=test.before if shared else None)
    before = None
    if test.before is not None and test.before.rows:
        before = laid_rows(test.before, faults, beside=test.given if shared else None)
    further = columns.further if columns is not None and columns.in_folders else {}
    return ReadySpecTest(
        test=test,
        before=before,
        given=given,
        folders=tuple(name for name in given.column_names if name in further),
    )


def with_lent_types(
    ready: ReadySpecTest, lent: Mapping[str, pa.DataType], faults: list[Fault], *, has_all: bool
) -> ReadySpecTest:
    """Return a test whose rows before have the types of what the run loads.

    A type that the spec says stays. With `has_all` the rows have every column that is loaded. What
    is wrong with the rows is added to `faults`.
    """
    if ready.test.before is None or ready.before is None or not lent:
        return ready
    before = laid_rows(ready.test.before, faults, lent=lent, has_all_lent=has_all)
    return replace(ready, before=before)
