"""The slices of the table that a load has to look into, or to hide."""

from __future__ import annotations

from typing import TYPE_CHECKING

from framework.engine.load.key_input import KEY
from framework.engine.load.tag_task import bucket_rows, read_hits
from framework.errors import PlanError, Where
from framework.vocabulary import KeyScope, WriteOperation

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from framework.engine.load.index_lookup import Compared
    from framework.engine.load.job import LoadJob
    from framework.engine.load.refusals import TakenKey
    from framework.engine.reading.table import Table
    from framework.engine.views import Views
    from framework.hudi.filegroup.slices import FileSlice
    from framework.hudi.storage.port import Storage

__all__ = ["existing_slices", "latest_slices", "taken_keys"]

_SHOWN = 50


def existing_slices(
    table: Table | None, job: LoadJob, scope: KeyScope, views: Views, paths: frozenset[str]
) -> tuple[FileSlice, ...]:
    """Return the slices that may hold keys of rows in these partitions, by partition and file id.

    None of a new table. Where keys are unique in the whole table these are all slices, but for
    partitions that the load replaces. Costs what the view costs: by listing, one per partition and
    folder above.

    Raises:
        PlanError: `load/skipped-partition`.
    """
    if table is None:
        return ()
    _refuse_skipped(table, paths)
    replaced = paths if job.operation is WriteOperation.INSERT_OVERWRITE else frozenset()
    if scope is KeyScope.PARTITION and job.rule.partition:
        return tuple(latest_slices(table, views, paths - replaced))
    return tuple(latest_slices(table, views, None, without=replaced))


def _refuse_skipped(table: Table, paths: frozenset[str]) -> None:
    """Raise for rows of a partition that a rule of the bootstrap left outside the table.

    Raises:
        PlanError: `load/skipped-partition`.
    """
    found = sorted(paths & table.skipped)
    if found:
        raise PlanError(
            "load/skipped-partition",
            f"the input has rows of {len(found):,} partitions that the bootstrap left outside",
            where=Where(table=table.storage.location, partition=found[0]),
            remedy="Leave these rows out by a transform; what was skipped is no part of the table.",
        )


def latest_slices(
    table: Table,
    views: Views,
    paths: Iterable[str] | None,
    *,
    without: frozenset[str] = frozenset(),
) -> Iterator[FileSlice]:
    """Yield the latest slices of some partitions, sorted by path and file id; None means all."""
    with views.opened(table) as view:
        chosen = set(view.partitions() if paths is None else paths) - without
        for path in sorted(chosen, key=str.encode):
            yield from view.latest_slices(path)


def taken_keys(storage: Storage, compared: Compared) -> list[TakenKey]:
    """Return some keys of the input that the table has, with the file and row that have them."""
    found: list[TakenKey] = []
    for path in compared.tagged.files:
        for hit in read_hits(storage, path).slice(0, _SHOWN - len(found)).to_pylist():
            rows, _ = bucket_rows(storage, compared.buckets[hit["bucket"]], None, [KEY])
            if rows is None:
                continue
            base = compared.tagged.slices[hit["slice"]].base
            name = base.path if base else compared.tagged.slices[hit["slice"]].group.file_id
            found.append((rows[KEY][hit["row"]].as_py(), name, hit["position"]))
    return found
