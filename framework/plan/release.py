"""A release of quarantined rows: an ordinary load of a separate source."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from framework.plan.load import InputRequest, LoadRequest
from framework.plan.quality.model import Budget, Quality
from framework.spec.sections.pipeline_spec import PipelineSpec
from framework.vocabulary import WriteOperation

__all__ = [
    "FILE",
    "INSTANT",
    "PLACE_COLUMNS",
    "ROW",
    "RULES",
    "RUN_ID",
    "release_request",
    "without_bounds",
]

RULES: Final = "_lakestrap_rules"
RUN_ID: Final = "_lakestrap_run_id"
INSTANT: Final = "_lakestrap_instant"
FILE: Final = "_lakestrap_file"
ROW: Final = "_lakestrap_row"
PLACE_COLUMNS: Final = (RULES, RUN_ID, INSTANT, FILE, ROW)
"""Columns of a quarantined row after its own, in this order."""

_AS_ASKED: Final = (WriteOperation.INSERT, WriteOperation.UPSERT, WriteOperation.BULK_INSERT)


def release_request(
    spec: PipelineSpec, *, location: str, instant: str, files: tuple[str, ...], came_for: str
) -> LoadRequest:
    """Return the load that releases the rows quarantined at an instant.

    Its source is separate, so that the table's record of the spec's source stays unchanged, and its
    run id names the instant, so that the rows are published once.

    Args:
        spec: of the table.
        location: of the quarantined rows.
        instant: when they were quarantined.
        files: absolute paths of the Parquet files.
        came_for: the operation of their first load, as the data set records it.
    """
    return LoadRequest(
        operation=_operation(spec, came_for),
        input=InputRequest(format="parquet", files=files, hidden=PLACE_COLUMNS),
        source_id=f"quarantine:{location}",
        is_folder=False,
        only_new=False,
        run_id=f"quarantine:{instant}",
        releases=instant,
    )


def without_bounds(quality: Quality) -> Quality:
    """Return the checks of a release, which may quarantine any share of its rows again.

    Bounds limit how bad a source may be; here all rows were bad before.
    """
    checks = tuple(
        replace(each, budget=Budget()) if each.splits else each for each in quality.checks
    )
    return replace(quality, checks=checks, max_ratio=1.0)


def _operation(spec: PipelineSpec, came_for: str) -> WriteOperation:
    """Return the operation that releases the rows.

    Rows of a delete are deleted. Others use the spec's operation; if it has none, an upsert where
    an ordering decides between versions, else an insert, which changes no row of the table.
    """
    if came_for == WriteOperation.DELETE:
        return WriteOperation.DELETE
    if spec.write is not None and spec.write.operation in _AS_ASKED:
        return spec.write.operation
    ordering = spec.table.ordering
    return WriteOperation.UPSERT if ordering and ordering.columns else WriteOperation.INSERT
