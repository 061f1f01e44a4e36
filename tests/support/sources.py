"""Builders of source folders, inventories and jobs for tests of the bootstrap."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from framework.engine.audit.gate import AuditPlace
from framework.engine.bootstrap.job import BootstrapJob, WorkRange, key_source
from framework.engine.bootstrap.source import take_inventory
from framework.engine.tasks import InProcessTasks
from framework.hudi.bootstrap.fingerprint import Fingerprint, read_footer
from framework.hudi.bootstrap.key_pass import BloomChoice
from framework.hudi.bootstrap.source_schema import encode_schema, with_partition_columns
from framework.hudi.keygen.rule import KeyRule, PartitionField, choose_rule
from framework.hudi.storage.port import Storage
from framework.hudi.table.layout import BOOTSTRAP_INSTANT
from framework.plan.observation import SourceInventory
from framework.vocabulary import BloomKind, BootstrapMode, KeyScope, PartitionType, SourceLayout

__all__ = [
    "SourceContext",
    "a_fingerprint",
    "a_rule",
    "a_source",
    "ids",
    "source_context",
]


def ids(*values: int | None, **columns: Sequence[Any]) -> pa.Table:
    """Return a table with an `id` column of longs and others by name."""
    return pa.table({"id": pa.array(values, pa.int64()), **columns})


def a_source(root: Path, files: Mapping[str, pa.Table], **options: Any) -> Path:
    """Write Parquet files by path below `root`, without `ARROW:schema`; return `root`."""
    for path, table in files.items():
        target = root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        pq.write_table(table, target, store_schema=False, **options)
    return root


def a_rule(
    *keys: str,
    partition: Mapping[str, PartitionType] | None = None,
    scope: KeyScope = KeyScope.TABLE,
    layout: SourceLayout = SourceLayout.HIVE,
) -> KeyRule:
    """Return a key rule; by default key `id` and one int partition column `p`, as Hive has it."""
    fields = {"p": PartitionType.INT} if partition is None else partition
    return choose_rule(
        keys or ("id",),
        [PartitionField(name=name, type=kind) for name, kind in fields.items()],
        layout=layout if fields else SourceLayout.NONE,
        scope=scope,
    )


def a_fingerprint(storage: Storage, path: str) -> Fingerprint:
    """Return the true fingerprint of a file."""
    entry = storage.stat(path)
    assert entry is not None
    with storage.open_input(path) as stream:
        footer = read_footer(stream, entry.size, path)
    return Fingerprint(
        path=path,
        size=entry.size,
        mtime_ns=entry.mtime_ns,
        etag=entry.etag,
        footer_length=footer.length,
        footer_sha256=footer.sha256,
        rows=footer.metadata.num_rows,
        row_groups=footer.row_groups,
        schema_hash="0" * 16,
    )


@dataclass(frozen=True, kw_only=True)
class SourceContext:
    """A source with its inventory, and a job that writes next to it."""

    rule: KeyRule
    inventory: SourceInventory
    job: BootstrapJob
    tasks: InProcessTasks

    @property
    def table(self) -> str:
        """Location of the table."""
        return self.job.table

    @property
    def place(self) -> AuditPlace:
        """Where the gate works."""
        return AuditPlace(table=self.job.table, folder="audit", keys=self.job.keys)

    def ranges(self, mode: BootstrapMode = BootstrapMode.METADATA_ONLY) -> list[WorkRange]:
        """All files, written alike."""
        return [WorkRange(start=0, stop=self.inventory.handle.files, mode=mode)]


def source_context(
    root: Path,
    files: Mapping[str, pa.Table],
    rule: KeyRule | None = None,
    *,
    bits: int = 2,
    parallelism: int = 1,
    bloom: BloomKind = BloomKind.SIMPLE,
    **options: Any,
) -> SourceContext:
    """Write a source below `root`, take its inventory and prepare a job."""
    rule = rule or a_rule()
    source = a_source(root / "source", files, **options)
    source.mkdir(exist_ok=True)
    tasks = InProcessTasks(parallelism)
    inventory = take_inventory(tasks, str(source), len(rule.partition), str(root / "work"))
    keys = key_source(str(source), inventory.handle, rule, inventory.schema or pa.schema([]))
    schema = with_partition_columns(inventory.schema or pa.schema([]), rule.partition)
    job = BootstrapJob(
        keys=keys,
        table=str(root / "table"),
        attempts="attempts",
        segments="segments",
        instant=BOOTSTRAP_INSTANT,
        bloom=BloomChoice(kind=bloom.value, fpp=0.001),
        schema=encode_schema(schema),
        avro_schema="{}",
        bits=bits,
    )
    return SourceContext(rule=rule, inventory=inventory, job=job, tasks=tasks)
