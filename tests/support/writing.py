"""Builders for loads without a spec: a table, rows on their way into it, and what it holds then."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from framework.engine.events import Events, silent
from framework.engine.prepare import PlanningContext, Request, prepare
from framework.engine.reading.slice_rows import SliceFiles, SliceTable, slice_rows
from framework.engine.reading.table import open_table
from framework.engine.reading.views import LISTED, Views, latest_slices
from framework.engine.runner import RunResult, run
from framework.engine.tasks import InProcessTasks, Tasks
from framework.hudi.bootstrap.key_pass import BloomChoice
from framework.hudi.filegroup.merge import MergeRule
from framework.hudi.keygen.rule import choose_rule
from framework.hudi.storage.locations import open_storage
from framework.hudi.table.layout import PROPERTIES
from framework.hudi.table.partition_path import PartitionField, partition_values
from framework.hudi.timeline.clock import Clock
from framework.plan.build import Earlier
from framework.plan.definition import Case, Plan
from framework.plan.estimate import Estimate
from framework.plan.load import InputRequest, LoadPlan
from framework.plan.load_stages import load_stages
from framework.plan.readers.gate import gate
from framework.plan.target import Target
from framework.vocabulary import (
    BootstrapMode,
    KeyScope,
    MissingColumns,
    OnDuplicate,
    PartitionType,
    SchemaEvolution,
    SourceLayout,
    TableType,
    WriteOperation,
)

__all__ = ["Lake", "a_load_plan", "a_target", "an_input", "load", "rows_of", "run_spec"]

_REPLACES = frozenset({WriteOperation.INSERT_OVERWRITE, WriteOperation.DELETE_PARTITION})


@dataclass(frozen=True, kw_only=True)
class Lake:
    """A table that loads go into, and a folder for their input.

    `record_key` is empty for automatic keys, `partition` for an unpartitioned table; `at` is the
    table's location, "" for one in the folder.
    """

    folder: Path
    at: str = ""
    record_key: tuple[str, ...] = ("id",)
    partition: Mapping[str, PartitionType] = field(
        default_factory=lambda: {"day": PartitionType.STRING}
    )
    scope: KeyScope = KeyScope.PARTITION
    type: TableType = TableType.COPY_ON_WRITE
    ordering: str | None = None

    @property
    def location(self) -> str:
        """The table's."""
        return self.at or str(self.folder / "table")


def a_target(lake: Lake) -> Target:
    """Return the target of a spec that declares the lake's table."""
    fields = [PartitionField(name=name, type=kind) for name, kind in lake.partition.items()]
    layout = SourceLayout.HIVE if fields else SourceLayout.NONE
    return Target(
        name="a.loaded",
        location=lake.location,
        table_type=lake.type,
        key_rule=choose_rule(lake.record_key, fields, layout=layout, scope=lake.scope),
        layout=layout,
        source="",
        default_mode=BootstrapMode.METADATA_ONLY,
        bloom=BloomChoice(),
        ordering=(lake.ordering,) if lake.ordering else (),
        readers=(),
        parallelism=None,
        partitions_per_batch=None,
        on_duplicate=OnDuplicate.ABORT,
        spec_hash="0" * 64,
        spec_json="{}",
        immutable={},
    )


def an_input(lake: Lake, *parts: pa.Table | Sequence[Mapping[str, Any]]) -> tuple[str, ...]:
    """Write Parquet files, one for each part, and return their paths in order."""
    folder = lake.folder / "input"
    folder.mkdir(exist_ok=True)
    before = len(list(folder.iterdir()))
    paths = []
    for number, part in enumerate(parts):
        table = part if isinstance(part, pa.Table) else pa.Table.from_pylist(list(part))
        path = folder / f"{before + number:05}.parquet"
        pq.write_table(table, path)
        paths.append(str(path))
    return tuple(paths)


def a_load_plan(
    lake: Lake, operation: WriteOperation, files: Sequence[str], **changes: Any
) -> Plan:
    """Return the plan of a load; `changes` are fields of its `LoadPlan`."""
    creates = open_storage(lake.location).stat(PROPERTIES) is None
    sizes = [Path(path).stat().st_size for path in files]
    has_input = operation is not WriteOperation.DELETE_PARTITION
    request = InputRequest(format="parquet", files=tuple(files)) if has_input else None
    found = LoadPlan(
        operation=operation,
        request=request,
        source_id="input",
        files=len(files),
        bytes=sum(sizes),
        earlier_files=0,
        listing_sha256="",
        creates=creates,
        evolution=SchemaEvolution.FREEZE,
        missing=MissingColumns.REFUSE,
        target_file_size=120 << 20,
        small_file_limit=100 << 20,
    )
    target = a_target(lake)
    found = replace(found, **changes)
    return Plan(
        case=Case.LOAD,
        target=target,
        recover=None,
        work=load_stages(target, found),
        source=None,
        inventory=None,
        schema=None,
        partitions=(),
        estimate=Estimate(),
        readers=gate({}),
        notes=(),
        load=found,
    )


def load(
    lake: Lake,
    operation: WriteOperation,
    *parts: pa.Table | Sequence[Mapping[str, Any]],
    tasks: Tasks | None = None,
    clock: Clock | None = None,
    views: Views = LISTED,
    events: Events = silent,
    **changes: Any,
) -> RunResult:
    """Load parts, one file each, and return what was done."""
    plan = a_load_plan(lake, operation, an_input(lake, *parts), **changes)
    return run(plan, tasks or InProcessTasks(1), clock=clock, views=views, events=events)


def rows_of(location: str, as_of: str | None = None) -> list[dict[str, Any]]:
    """Return all rows of a table with their meta columns, now or at an instant, in no set order."""
    table = open_table(location, as_of)
    slices = SliceTable.of(
        table.storage,
        table.timeline,
        table.schema,
        in_folders=[each.name for each in table.partition],
        rule=MergeRule.of(table.properties),
    )
    rows = []
    for each in latest_slices(table, LISTED, None):
        values = partition_values(each.group.partition_path, table.partition, table.layout)
        rows += slice_rows(slices, SliceFiles.of(each), values).to_pylist()
    return rows


def run_spec(
    document: Mapping[str, Any],
    folder: Path,
    *,
    run_id: str | None = None,
    fresh: bool = False,
    events: Events = silent,
) -> RunResult:
    """Run a spec, given as a document, in this process; without work there is no instant.

    JSON is valid YAML, so the document is written as JSON into `folder`.
    """
    spec = folder / "load.pipeline.yml"
    spec.write_text(json.dumps(document))
    request = Request(path=spec, run_id=run_id, earlier=Earlier.FRESH if fresh else Earlier.AUTO)
    with TemporaryDirectory() as scratch:
        tasks = InProcessTasks(1)
        plan = prepare(request, PlanningContext(tasks=tasks, scratch=Path(scratch))).plan
        return run(plan, tasks, events=events) if plan.has_changes else RunResult.unchanged(plan)
