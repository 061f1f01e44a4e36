"""Which file groups a load hides: those of the partitions that it replaces or deletes."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Final

from framework.engine.load.existing import latest_slices
from framework.engine.reading.patterns import choose_partitions
from framework.vocabulary import WriteOperation

if TYPE_CHECKING:
    from framework.engine.reading.table import Table
    from framework.engine.views import Views
    from framework.plan.load import LoadPlan

__all__ = ["replaced_groups"]

_REPLACES: Final = frozenset({WriteOperation.INSERT_OVERWRITE, WriteOperation.DELETE_PARTITION})


def replaced_groups(
    table: Table | None, overwritten: frozenset[str] | None, plan: LoadPlan, views: Views
) -> dict[str, tuple[str, ...]]:
    """Return the file ids that the commit hides, by partition path.

    Args:
        table: as it was when the load began, None for a new one.
        overwritten: partitions that the input has rows of; None: those that the plan names.
        plan: the load.
        views: report which files make up the table.

    Raises:
        PlanError: `read/partition-matches-nothing`, `read/bad-glob`.
    """
    if table is None or plan.operation not in _REPLACES:
        return {}
    hidden: dict[str, list[str]] = defaultdict(list)
    paths = _named(table, plan, views) if overwritten is None else overwritten
    for each in latest_slices(table, views, paths):
        hidden[each.group.partition_path].append(each.group.file_id)
    return {path: tuple(ids) for path, ids in hidden.items()}


def _named(table: Table, plan: LoadPlan, views: Views) -> frozenset[str]:
    """Return the partitions that the plan names."""
    with views.opened(table) as view:
        paths = list(view.partitions())
    place = table.storage.location
    chosen = (choose_partitions(paths, pattern, table=place) for pattern in plan.partitions)
    return frozenset(path for each in chosen for path in each)
