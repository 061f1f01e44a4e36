"""Which file groups a load hides: those of the partitions that it replaces or deletes."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Final

from framework.engine.reading.patterns import choose_partitions
from framework.engine.writing.existing import latest_slices
from framework.vocabulary import WriteOperation

if TYPE_CHECKING:
    from framework.engine.reading.table import Table
    from framework.engine.views import Views
    from framework.engine.writing.load import Load
    from framework.plan.load import LoadPlan

__all__ = ["replaced_groups"]

_REPLACES: Final = frozenset({WriteOperation.INSERT_OVERWRITE, WriteOperation.DELETE_PARTITION})


def replaced_groups(load: Load, plan: LoadPlan, views: Views) -> dict[str, tuple[str, ...]]:
    """Return the file ids that the commit hides, by partition path.

    Raises:
        PlanError: `read/partition-matches-nothing`, `read/bad-glob`.
    """
    if load.table is None or plan.operation not in _REPLACES:
        return {}
    hidden: dict[str, list[str]] = defaultdict(list)
    paths = _hidden_partitions(load, load.table, plan, views)
    for each in latest_slices(load.table, views, paths):
        hidden[each.group.partition_path].append(each.group.file_id)
    return {path: tuple(ids) for path, ids in hidden.items()}


def _hidden_partitions(load: Load, table: Table, plan: LoadPlan, views: Views) -> frozenset[str]:
    """Return the partitions that are replaced."""
    if load.compared is not None:
        return frozenset(load.compared.inserts)
    with views.opened(table) as view:
        paths = list(view.partitions())
    place = table.storage.location
    chosen = (choose_partitions(paths, pattern, table=place) for pattern in plan.partitions)
    return frozenset(path for each in chosen for path in each)
