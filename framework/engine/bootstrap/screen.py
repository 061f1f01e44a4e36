"""The step of a bootstrap that validates the checks and excludes rows.

A skeleton matches its source row for row, so a file that loses rows is written in full, in the same
instant.

If a key occurs more than once, all rows of a group but one lose. The keys of the source are hashed
once, as for a proof; in files with equal hashes the keys are read again and compared as text. The
row with the greatest ordering value wins; of equal ones, and without an ordering, the first in the
source.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from uuid import uuid4

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from framework.engine.audit.candidates import compare_buckets
from framework.engine.audit.keys import KeySource, key_batches
from framework.engine.audit.screen import (
    NOTHING,
    ExcludedRows,
    Screened,
    ScreenPlace,
    excluded_rows,
    screen,
)
from framework.engine.audit.spill import scope_mix
from framework.engine.audit.subject import InputRows
from framework.engine.bootstrap.begin import Begun
from framework.engine.bootstrap.job import WorkRange, table_schemas, work_ranges
from framework.engine.bootstrap.key_proof import hash_texts
from framework.engine.run.inspection import needed_checker, understand_checks
from framework.engine.run.state import RunContext, RunState, quarantine_place
from framework.engine.tasks import Tasks, decode, encode
from framework.hudi.bootstrap import source_schema
from framework.hudi.bootstrap.inventory import read_files
from framework.hudi.codecs.murmur import key_hashes
from framework.hudi.keygen.text import record_keys
from framework.hudi.storage.locations import open_storage
from framework.hudi.storage.port import Storage
from framework.hudi.table.layout import join
from framework.hudi.table.partition_path import PartitionValue
from framework.plan.definition import Plan
from framework.plan.stages import Screen
from framework.plan.words import count_text
from framework.vocabulary import BootstrapMode, KeyScope

__all__ = ["LosersTask", "losers", "losers_task", "screen_source", "with_gone"]


def screen_source(run: RunState, begun: Begun, stage: Screen | None) -> Screened:
    """Validate the checks; find the rows to exclude, none without a stage.

    Raises:
        PlanError: `quality/bad-sql`.
        NotYetBuiltError: `quality/needs-spark`.
        AuditFailedError: `audit/too-many-set-aside`, `audit/over-budget`.
        TaskError: `audit/check-not-run`.
    """
    screened, ctx = NOTHING, run.ctx
    if stage is None:
        return screened
    with run.stage(stage) as report:
        schema, _ = table_schemas(ctx.plan)
        understand_checks(ctx, stage.quality, schema)
        if stage.splitting or stage.keeps_one:
            screened = _screened(ctx, begun, stage)
        words = [f"{count_text(stage.checks, 'check')} validated"]
        if screened.rows:
            words.append(f"{count_text(screened.quarantined, 'row')} quarantined")
            words += [f"{screened.dropped:,} dropped"] if screened.dropped else []
            words.append(f"{count_text(len(screened.gone), 'file')} to be written in full")
        report.summary = ", ".join(words)
    return screened


def with_gone(ranges: Iterable[WorkRange], gone: Mapping[int, ExcludedRows]) -> Iterator[WorkRange]:
    """Yield the ranges; each file that loses rows becomes a range of its own, written in full."""
    losing = sorted(gone)
    for each in ranges:
        start = each.start
        for number in losing:
            if not start <= number < each.stop:
                continue
            if start < number:
                yield replace(each, start=start, stop=number)
            yield replace(
                each,
                start=number,
                stop=number + 1,
                mode=BootstrapMode.FULL_RECORD,
                gone=gone[number].path,
            )
            start = number + 1
        if start < each.stop:
            yield replace(each, start=start)


def _screened(ctx: RunContext, begun: Begun, stage: Screen) -> Screened:
    checker, intent, plan = needed_checker(ctx), begun.intent, ctx.plan
    numbers, paths, partitions = _files(plan, begun)
    rule = plan.target.key_rule
    schema, _ = table_schemas(plan)
    rows = InputRows(
        numbers=numbers,
        paths=[f"{plan.source}/{path}" for path in paths],
        partition_paths=partitions,
        schema=schema,
        partition=rule.partition,
        layout=rule.layout,
    )
    place = ScreenPlace(
        storage=ctx.storage,
        folder=join(intent.staging.root, "screen"),
        quarantine=quarantine_place(ctx, intent),
        run_id=intent.write_id,
        instant=intent.requested_time,
        total=plan.taken.rows,
        origins=dict(zip(numbers, paths, strict=True)),
    )
    duplicates = partial(_losers, ctx, begun) if stage.keeps_one else None
    return screen(checker, rows, stage.quality, place, duplicates)


def _losers(ctx: RunContext, begun: Begun, gone: Mapping[int, ExcludedRows]) -> pa.Table:
    """Return the rows that lose to others with their key."""
    plan = ctx.plan
    ordering = plan.target.ordering
    files = KeyedFiles(
        source=begun.job.keys,
        ranges=work_ranges(plan.partitions),
        schema=plan.schema,
        ordering=ordering[0] if ordering else None,
    )
    folder = join(begun.intent.staging.root, "screen", "keys")
    return losers(ctx.tasks, files, ctx.storage, folder, gone)


def _files(plan: Plan, begun: Begun) -> tuple[Sequence[int], Sequence[str], Sequence[str]]:
    """Return number, path and partition path of each adopted file."""
    numbers: list[int] = []
    paths: list[str] = []
    partitions: list[str] = []
    for each in work_ranges(plan.partitions):
        for file in read_files(begun.job.keys.inventory, each.start, each.stop):
            numbers.append(file.number)
            paths.append(file.fingerprint.path)
            partitions.append(file.partition_path)
    return numbers, paths, partitions


_REMEMBERED = 1 << 20
_FILES_PER_TASK = 500
_FOUND = pa.schema(
    [
        pa.field("scope", pa.string()),
        pa.field("key", pa.string()),
        pa.field("number", pa.int64()),
        pa.field("row", pa.int64()),
    ]
)
_ORDER = "order"


@dataclass(frozen=True, slots=True, kw_only=True)
class LosersTask:
    """Some files to search.

    Attributes:
        table: location of the storage that tasks write to.
        folder: path in it for the findings of the task.
        keys: how keys are computed; its schema includes the ordering column.
        hashes: path of the sorted hashes that occur more than once.
        ordering: the ordering column; None if the first row wins.
        gone: path of the places of rows already excluded, by file number.
        numbers: the files.
    """

    table: str
    folder: str
    keys: KeySource
    hashes: str
    ordering: str | None
    gone: dict[int, str]
    numbers: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class RepeatedRows:
    """The Arrow file of the rows with a repeated hash that a task found; "" if none."""

    path: str


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyedFiles:
    """The files to search: how their keys are computed, and which row wins.

    Attributes:
        source: how keys are computed.
        ranges: the files.
        schema: the columns of the files.
        ordering: the ordering column, of files or folders; None if the first row of a key wins.
    """

    source: KeySource
    ranges: Sequence[WorkRange]
    schema: pa.Schema
    ordering: str | None = None


def losers(
    tasks: Tasks, files: KeyedFiles, storage: Storage, folder: str, gone: Mapping[int, ExcludedRows]
) -> pa.Table:
    """Return `number` and `row` of rows that lose to another row with their key, sorted.

    Excluded rows are ignored, and rows without a key are left to the gate. Reads the key columns
    of all files, and those of files with equal hashes again; holds the rows of the latter that
    have such a hash.
    """
    work = f"{storage.location}/{folder}"
    spills = hash_texts(tasks, files.source, files.ranges, work)
    most = _REMEMBERED
    while True:
        found = compare_buckets(tasks, work, spills, "audit", most)
        if found.hashes.size == found.groups:
            break
        most *= 16
    empty = _FOUND.empty_table().select(["number", "row"])
    if not found.groups:
        return empty
    path = join(folder, "repeated.hashes")
    with storage.create(path, durable=False) as out:
        out.write(found.hashes.tobytes())
    template = LosersTask(
        table=storage.location,
        folder=folder,
        keys=_with_ordering(files),
        hashes=path,
        ordering=files.ordering,
        gone={number: each.path for number, each in gone.items()},
        numbers=(),
    )
    parts = [template_of(template, part) for part in _parts(found.numbers, tasks.parallelism)]
    tables = [_read(storage, status) for status in tasks.run(losers_task, parts)]
    return _losing(pa.concat_tables(tables))


def losers_task(descriptor: str) -> str:
    """Write the rows of a `LosersTask` that have a repeated hash; return `RepeatedRows` as JSON.

    Raises:
        SourceDriftError: a source file is not the one in the inventory.
    """
    task = decode(LosersTask, descriptor)
    storage = open_storage(task.table)
    with storage.open_input(task.hashes) as stream:
        wanted = np.frombuffer(stream.read_buffer(), np.uint64)
    found = [rows for number in task.numbers for rows in _repeated(storage, task, wanted, number)]
    path = join(task.folder, f"{uuid4().hex}.repeated")
    if not found:
        return encode(RepeatedRows(path=""))
    table = pa.concat_tables(found)
    with (
        storage.create(path, durable=False) as out,
        pa.ipc.new_file(out, table.schema) as writer,
    ):
        writer.write_table(table)
    return encode(RepeatedRows(path=path))


def template_of(template: LosersTask, numbers: Sequence[int]) -> str:
    """Return the task for some files."""
    gone = {number: template.gone[number] for number in numbers if number in template.gone}
    return encode(replace(template, numbers=tuple(numbers), gone=gone))


def _with_ordering(files: KeyedFiles) -> KeySource:
    """Return how keys are computed, with the ordering column read too."""
    schema = source_schema.decode_schema(files.source.key_schema)
    name = files.ordering
    if name is not None and name not in schema.names:
        known = source_schema.with_partition_columns(files.schema, files.source.rule.partition)
        schema = schema.append(known.field(name))
    return replace(files.source, key_schema=source_schema.encode_schema(schema))


def _parts(numbers: np.ndarray, parallelism: int) -> Iterator[list[int]]:
    """Yield file numbers in a few parts per core."""
    size = max(1, min(_FILES_PER_TASK, -(-numbers.size // (parallelism * 2))))
    return (numbers[at : at + size].tolist() for at in range(0, numbers.size, size))


def _repeated(
    storage: Storage, task: LosersTask, wanted: np.ndarray, number: int
) -> Iterator[pa.Table]:
    """Yield the rows of one file with a repeated hash, as `_FOUND`, plus the ordering value."""
    keys, rule = task.keys, task.keys.rule
    partition = next(read_files(keys.inventory, number, number + 1)).partition_path
    scope = partition if rule.scope is KeyScope.PARTITION else ""
    mix = scope_mix(scope, by_partition=rule.scope is KeyScope.PARTITION)
    gone = excluded_rows(storage, task.gone.get(number, ""))
    before = 0
    for batch, values in key_batches(keys, number):
        texts = record_keys(rule, batch, values)
        texts = texts.combine_chunks() if isinstance(texts, pa.ChunkedArray) else texts
        hits = np.isin(key_hashes(texts.fill_null("")), wanted ^ mix)
        places = np.flatnonzero(hits & pc.is_valid(texts).to_numpy(zero_copy_only=False))
        places = places[~np.isin(places + before, gone)]
        chosen = pa.array(places)
        columns = {
            "scope": pa.repeat(pa.scalar(scope, pa.string()), places.size),
            "key": texts.take(chosen).cast(pa.string()),
            "number": pa.repeat(pa.scalar(number, pa.int64()), places.size),
            "row": pa.array(places + before, pa.int64()),
        }
        if task.ordering is not None:
            field = source_schema.decode_schema(keys.key_schema).field(task.ordering)
            columns[_ORDER] = _ordering_values(field, batch, values).take(chosen)
        yield pa.table(columns)
        before += batch.num_rows


def _ordering_values(
    field: pa.Field, batch: pa.RecordBatch, values: Mapping[str, PartitionValue]
) -> pa.Array:
    """Return the ordering value of each row, from the folder if the file lacks it."""
    if field.name in batch.schema.names:
        return batch.column(field.name)
    return pa.repeat(pa.scalar(values[field.name], field.type), batch.num_rows)


def _read(storage: Storage, status: str) -> pa.Table:
    """Return the rows that a task found."""
    path = decode(RepeatedRows, status).path
    if not path:
        return _FOUND.empty_table()
    with storage.open_input(path) as stream:
        return pa.ipc.open_file(stream).read_all()


def _losing(rows: pa.Table) -> pa.Table:
    """Return the rows that lose: all of one scope and key but the best."""
    order = [(_ORDER, "descending")] if _ORDER in rows.schema.names else []
    keys = [("scope", "ascending"), ("key", "ascending")]
    rows = rows.sort_by([*keys, *order, ("number", "ascending"), ("row", "ascending")])
    same = np.zeros(rows.num_rows, dtype=bool)
    if rows.num_rows > 1:
        equal = [pc.equal(rows[name][1:], rows[name][:-1]).to_numpy() for name in ("scope", "key")]
        same[1:] = equal[0] & equal[1]
    chosen = rows.select(["number", "row"]).filter(pa.array(same))
    return chosen.sort_by([("number", "ascending"), ("row", "ascending")])
