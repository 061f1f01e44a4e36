"""The inventory of a source: its files, their contents, and whether they fit together."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any, Final

import pyarrow as pa

from framework.engine.bootstrap import footers
from framework.engine.bootstrap.job import footer_shares
from framework.engine.events import Events, Progress, silent
from framework.engine.tasks import Tasks, decode, encode
from framework.errors import FrameworkError
from framework.hudi.bootstrap import skeleton
from framework.hudi.bootstrap.discovery import Ignored, discover
from framework.hudi.bootstrap.inventory import InventoryHandle, InventoryWriter, read_files
from framework.hudi.bootstrap.key_pass import BloomChoice, key_columns
from framework.hudi.bootstrap.sample import Sample, fastest, sample_file
from framework.hudi.bootstrap.source_file import open_source
from framework.hudi.bootstrap.source_schema import decode_schema
from framework.hudi.keygen.rule import KeyRule, key_faults
from framework.hudi.storage.locations import open_storage
from framework.hudi.storage.port import Storage
from framework.hudi.table.layout import BOOTSTRAP_INSTANT
from framework.hudi.table.partition_path import partition_values
from framework.hudi.table.schema import unify
from framework.plan import observation
from framework.vocabulary import SourceTrait

__all__ = ["sample_source", "take_inventory"]

_TURNS: Final = 3
"""Each file is sampled several times: the first time, caches are cold and modules not loaded."""
_PLACES: Final = (1 / 6, 3 / 6, 5 / 6)

_LISTING = "listing.arrow"
_INVENTORY = "inventory.arrow"


def sample_source(
    source: observation.SourceInventory, rule: KeyRule, bloom: BloomChoice
) -> Sample | None:
    """Return the sample of a source; None if it has no rows or the rule does not fit it.

    Costs reading at most `SAMPLE_ROWS` rows of at most three files: their key columns, of one file
    all columns. Only estimates depend on it, so errors in a file or the rule are left to the steps
    that report them.
    """
    files = source.handle.files
    if source.schema is None or key_faults(rule, source.schema):
        return None
    found = Sample()
    for at, number in enumerate(dict.fromkeys(int(files * place) for place in _PLACES)):
        with suppress(FrameworkError, pa.ArrowException):
            found += _sample(source, rule, bloom, (number, at == 0))
    return found if found.rows else None


def _sample(
    source: observation.SourceInventory, rule: KeyRule, bloom: BloomChoice, chosen: tuple[int, bool]
) -> Sample:
    """Return the sample of the file with a number; with all columns or only those of the key."""
    number, rewrites = chosen
    (file,) = read_files(source.handle, number, number + 1)
    target = skeleton.BaseFileTarget(
        instant=BOOTSTRAP_INSTANT,
        number=number,
        partition_path=file.partition_path,
        file_id="",
        name="",
        rule=rule,
        values=partition_values(file.partition_path, rule.partition, rule.layout),
        key_schema=key_columns(source.schema, rule),
        bloom=bloom,
    )
    storage = open_storage(source.location)
    turns = []
    for turn in range(_TURNS):
        begun = time.thread_time_ns()
        with open_source(storage, file.fingerprint) as reader:
            opened = Sample(file_ns=time.thread_time_ns() - begun)
            made = sample_file(reader, target, source.schema, rewrites=rewrites and turn > 0)
        turns.append(opened + made if made.files else made)
    return fastest(turns)


def take_inventory(
    tasks: Tasks, source: str, levels: int, work: str, *, events: Events = silent
) -> observation.SourceInventory:
    """Return the inventory of a source; its file is `inventory.arrow` in the folder `work`.

    Lists each folder once, reads each footer once, in tasks. The driver holds one partition's names
    and one summary per partition.

    Args:
        tasks: read the footers.
        source: location of the source root, canonical.
        levels: folder levels of a partition; 0 if all files are one.
        work: location of a fresh folder, readable and writable by tasks.
        events: receives progress, as stage `source`.

    Raises:
        PlanError: see `discover`.
        CorruptFileError: see `read_footer`.
        StorageError: a folder or file cannot be read.
    """
    ignored = Ignored()
    found = discover(open_storage(source), levels, ignored)
    files = footers.write_listing(open_storage(work), _LISTING, found)
    shares = _read_footers(tasks, (source, work), files, events)
    schemas = _merged_schemas(shares)
    schema, conflicts = _unified(schemas)
    places = {digest: place for place, digest in enumerate(schemas)}
    totals = _Totals(places, _merged_examples(shares))
    handle, partitions = _write(work, shares, _incomplete(schemas, schema), totals)
    return observation.SourceInventory(
        handle=handle,
        location=source,
        partitions=partitions,
        schema=schema,
        conflicts=conflicts,
        schemas=tuple(
            observation.SourceSchema(schema=decode_schema(seen.schema), example=seen.example)
            for seen in schemas.values()
        ),
        ignored_files=ignored.count,
    )


def _read_footers(
    tasks: Tasks, places: tuple[str, str], files: int, events: Events
) -> list[footers.FooterShare]:
    """Return the results of all footer tasks, in the order of the files."""
    source, work = places
    descriptors = [
        encode(
            footers.FooterTask(source=source, work=work, listing=_LISTING, start=start, stop=stop)
        )
        for start, stop in footer_shares(files, tasks.parallelism)
    ]
    shares = []
    for status in tasks.run(footers.footers_task, descriptors):
        share = decode(footers.FooterShare, status)
        shares.append(share)
        events(Progress(stage="source", files=sum(s.files for s in share.schemas.values())))
    return sorted(shares, key=lambda share: share.start)


def _merged_schemas(shares: Sequence[footers.FooterShare]) -> dict[str, footers.SeenSchema]:
    """Return each distinct schema with its first example and its count of files."""
    merged: dict[str, footers.SeenSchema] = {}
    for share in shares:
        for digest, seen in share.schemas.items():
            merged.setdefault(digest, replace(seen, files=0)).files += seen.files
    return merged


def _merged_examples(shares: Sequence[footers.FooterShare]) -> footers.Examples:
    """Return partition path to trait to the first file and column; a partition may be split."""
    merged: footers.Examples = {}
    for share in shares:
        for partition, examples in share.examples.items():
            known = merged.setdefault(partition, {})
            for trait, (file, column) in examples.items():
                known.setdefault(trait, (file, column))
    return merged


def _unified(
    schemas: Mapping[str, footers.SeenSchema],
) -> tuple[Any, tuple[observation.SchemaConflict, ...]]:
    """Return the schema of all files, None without files, and each column without a common type."""
    if not schemas:
        return None, ()
    examples = [seen.example for seen in schemas.values()]
    union = unify([decode_schema(seen.schema) for seen in schemas.values()])
    types: dict[str, dict[str, str]] = {}
    for conflict in union.conflicts:
        known = types.setdefault(conflict.column, {conflict.left: examples[conflict.left_index]})
        known.setdefault(conflict.right, examples[conflict.right_index])
    found = (observation.SchemaConflict(column=c, types=tuple(t.items())) for c, t in types.items())
    return union.schema, tuple(found)


def _incomplete(schemas: Mapping[str, footers.SeenSchema], unified: Any) -> frozenset[str]:
    """Return the hashes of schemas that lack a column of the unified one."""
    names = set(unified.names) if unified is not None else set()
    found = {h for h, seen in schemas.items() if names - set(decode_schema(seen.schema).names)}
    return frozenset(found)


def _write(
    work: str,
    shares: Sequence[footers.FooterShare],
    incomplete: frozenset[str],
    totals: _Totals,
) -> tuple[InventoryHandle, tuple[observation.PartitionSummary, ...]]:
    """Write the inventory from the tasks' results, and add it up by partition."""
    storage = open_storage(work)
    with storage.create(_INVENTORY) as out:
        writer = InventoryWriter(out)
        for share in shares:
            for batch in _read_stream(storage, share.path):
                totals.add(writer.add(_with_missing(batch, incomplete)))
        handle = writer.finish(f"{work}/{_INVENTORY}")
    storage.delete("footers", _LISTING)
    return handle, totals.finish()


def _read_stream(storage: Storage, path: str) -> Iterator[Any]:
    """Yield the tables of a task's result."""
    with storage.open_input(path) as stream:
        for batch in pa.ipc.open_stream(stream):
            yield pa.Table.from_batches([batch])


def _with_missing(files: Any, incomplete: frozenset[str]) -> Any:
    """Return the files, with the trait added to those that lack a column."""
    if not incomplete:
        return files
    traits = [
        sorted({*traits, SourceTrait.MISSING_COLUMNS}) if digest in incomplete else traits
        for traits, digest in zip(
            files["traits"].to_pylist(), files["schema_hash"].to_pylist(), strict=True
        )
    ]
    at = files.schema.get_field_index("traits")
    return files.set_column(at, files.schema.field(at), pa.array(traits, pa.list_(pa.string())))


@dataclass(slots=True)
class _Open:
    """The partition that is being added up."""

    path: str
    first: int
    files: int = 0
    rows: int = 0
    bytes: int = 0
    schemas: set[int] = field(default_factory=set)
    traits: Counter[str] = field(default_factory=Counter)


class _Totals:
    """Adds up files by partition, in order."""

    def __init__(self, places: Mapping[str, int], examples: footers.Examples) -> None:
        self._places = places
        self._examples = examples
        self._done: list[observation.PartitionSummary] = []
        self._open: _Open | None = None

    def add(self, files: Any) -> None:
        """Add some rows of the inventory."""
        names = ("number", "partition_path", "rows", "size", "schema_hash", "traits")
        columns = [files[name].to_pylist() for name in names]
        for number, partition, rows, size, digest, traits in zip(*columns, strict=True):
            if self._open is None or self._open.path != partition:
                self._close()
                self._open = _Open(path=partition, first=number)
            self._open.files += 1
            self._open.rows += rows
            self._open.bytes += size
            self._open.schemas.add(self._places[digest])
            self._open.traits.update(traits)

    def finish(self) -> tuple[observation.PartitionSummary, ...]:
        """Return all partitions."""
        self._close()
        return tuple(self._done)

    def _close(self) -> None:
        """Finish the current partition."""
        if self._open is None:
            return
        self._done.append(
            observation.PartitionSummary(
                partition_path=self._open.path,
                files=self._open.files,
                rows=self._open.rows,
                bytes=self._open.bytes,
                first=self._open.first,
                schemas=tuple(sorted(self._open.schemas)),
                traits=dict(self._open.traits),
                examples=self._examples.get(self._open.path, {}),
            )
        )
        self._open = None
