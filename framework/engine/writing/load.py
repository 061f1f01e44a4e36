"""How far a load has come: what its stages hand to each other on the driver."""

from __future__ import annotations

from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING

from framework.engine.course import begun

if TYPE_CHECKING:
    from collections.abc import Mapping

    import pyarrow as pa

    from framework.engine.course import Course, Run
    from framework.engine.reading.table import Table
    from framework.engine.writing.comparing import Compared
    from framework.engine.writing.groups import WriteSettings
    from framework.engine.writing.job import InputFile, LoadJob
    from framework.hudi.commit.intent import Transaction
    from framework.plan.load import LoadPlan

__all__ = ["Load", "load_of", "load_plan"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Load:
    """A load under way.

    Attributes:
        table: the table as it was when the load began, None where the load makes it.
        files: the pinned input.
        found: the input's columns as its files have them, None before the input.
        schema: the table's columns after the load, without meta columns; None before the input.
        job: what tasks are told, None before the input.
        settings: how groups are written, None before the input.
        compared: what becomes of the input's rows, None before tagging.
        replaced: file ids that the commit hides, by partition path.
    """

    table: Table | None
    files: tuple[InputFile, ...] = ()
    found: pa.Schema | None = None
    schema: pa.Schema | None = None
    job: LoadJob | None = None
    settings: WriteSettings | None = None
    compared: Compared | None = None
    replaced: Mapping[str, tuple[str, ...]] = field(default_factory=lambda: MappingProxyType({}))


def load_plan(work: Run) -> LoadPlan:
    """Return the load that is carried out.

    Raises:
        ValueError: the plan is none of a load.
    """
    if work.plan.load is None:
        raise ValueError("the plan has no load")
    return work.plan.load


def load_of(course: Course) -> tuple[Transaction, Load]:
    """Return what `BeginLoad` made, and what the stages since then added.

    Raises:
        ValueError: a stage came before it.
    """
    if not isinstance(course.job, Load):
        raise ValueError("no stage of a load comes before `BeginLoad`")  # noqa: TRY004  order
    return begun(course), course.job
