"""Proof of a source's keys without writing a table: the audit of a bootstrap as a dry run.

The keys' texts are not needed, so none are made: order is determined from typed values, and so are
hashes if equal texts surely have equal values (`framework.hudi.keygen.value_hash`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import groupby, pairwise
from typing import Any, Final

import numpy as np

from framework.engine.audit.gate import AuditPlace, compare, proof_of, surveyed
from framework.engine.audit.keys import KeySource
from framework.engine.audit.spill import bucket_bits
from framework.engine.bootstrap import proof_task
from framework.engine.bootstrap.job import WorkRange, pack_scans
from framework.engine.events import Events, Note, Progress, silent
from framework.engine.tasks import Tasks, decode, encode
from framework.hudi.bootstrap import source_schema
from framework.hudi.bootstrap.inventory import InventoryFile, read_files
from framework.hudi.bootstrap.source_file import SourceReader, open_source
from framework.hudi.commit.statuses import WrittenFiles, written_files
from framework.hudi.keygen.value_hash import has_value_hashes
from framework.hudi.storage.locations import open_storage
from framework.hudi.table.layout import join
from framework.vocabulary import BootstrapMode, KeyScope

__all__ = ["hash_texts", "may_be_ordered", "prove_keys"]

_PLACES: Final = 8
_NEIGHBOURS: Final = 2

_FOLDER = "keys"


def may_be_ordered(keys: KeySource, ranges: Sequence[WorkRange]) -> bool:
    """Return whether a few files' statistics of the first key column have disjoint ranges.

    Opens at most sixteen files: two adjacent ones in each of eight places.

    Raises:
        SourceDriftError: a source file is not the one in the inventory.
    """
    rule = keys.rule
    files = _sampled(keys, ranges)
    if rule.scope is KeyScope.TABLE:
        return _are_apart(keys, files)
    scopes = groupby(files, key=lambda file: file.partition_path)
    return all(_are_apart(keys, list(each)) for _, each in scopes)


def _sampled(keys: KeySource, ranges: Sequence[WorkRange]) -> list[InventoryFile]:
    """Return some files, evenly spread, in order."""
    sizes = np.array([each.stop - each.start for each in ranges], np.int64)
    total = int(sizes.sum())
    if not total:
        return []
    ends = np.cumsum(sizes)
    spread = np.linspace(0, max(0, total - _NEIGHBOURS), _PLACES).astype(np.int64)
    places = np.unique(np.add.outer(spread, np.arange(_NEIGHBOURS)).clip(max=total - 1))
    at = np.searchsorted(ends, places, side="right")
    starts = np.array([each.start for each in ranges], np.int64)
    numbers = starts[at] + places - (ends - sizes)[at]
    return [file for n in numbers.tolist() for file in read_files(keys.inventory, n, n + 1)]


def _are_apart(keys: KeySource, files: Sequence[InventoryFile]) -> bool:
    """Return whether the files' ranges overlap in no more than an end."""
    found: list[tuple[Any, Any]] = []
    for file in files:
        if file.fingerprint.rows:
            with open_source(open_storage(keys.source), file.fingerprint) as reader:
                found.append(_bounds(reader, keys.rule.record_key))
    if any(low is None for low, _ in found) or len({type(low) for low, _ in found}) > 1:
        return False
    return all(last <= first for (_, last), (first, _) in pairwise(sorted(found)))


def _bounds(reader: SourceReader, names: Sequence[str]) -> tuple[Any, Any]:
    """Return the least and greatest value of the first key column that the file has."""
    name = next((name for name in names if not reader.lacks(name)), None)
    return (None, None) if name is None else reader.bounds(name)


def prove_keys(
    tasks: Tasks,
    keys: KeySource,
    ranges: Sequence[WorkRange],
    work: str,
    *,
    events: Events = silent,
) -> dict[str, object]:
    """Return the proof that the keys of these files are unique in their scope and not null.

    Reads the key columns once. If footers suggest order but the keys do not confirm it, files
    whose keys increase are read a second time; if texts turn out to be ambiguous, all files are.
    Writes statuses and, of files that order does not prove, hashes (8 bytes a row).

    Args:
        tasks: read the files.
        keys: how keys are computed, and from what.
        ranges: the files.
        work: location of a fresh folder that tasks can write to; the caller deletes it.
        events: receives progress, as stage `audit`.

    Raises:
        AuditFailedError: `audit/duplicate-keys`, `audit/null-keys`.
        SourceDriftError: a source file is not the one in the inventory.
    """
    proving = _Proving(tasks, keys, work, events)
    job = proving.job(hash_ordered=not may_be_ordered(keys, ranges))
    looked = proving.look(job, ranges)
    place = AuditPlace(table=work, folder="audit", keys=keys, by_value=job.by_value)
    found = surveyed(looked.written, place)
    compared = None
    if not found.disjoint:
        if looked.left and not looked.ambiguous:
            looked = looked.with_more(proving.look(replace(job, hash_ordered=True), looked.left))
        if looked.ambiguous:
            place = replace(place, by_value=False)
            looked = proving.look(replace(job, hash_ordered=True, by_value=False), ranges)
        events(Note(level="info", message=f"audit: {found.rows:,} keys by hash-buckets"))
        compared = compare(tasks, looked.written, place, looked.spills)
    return proof_of(place, found, compared, None)


def hash_texts(
    tasks: Tasks, keys: KeySource, ranges: Sequence[WorkRange], work: str
) -> tuple[str, ...]:
    """Return the paths, below a fresh folder `work`, of the hashes of all keys' texts.

    Arguments and errors are those of `prove_keys`; rows without a key have a hash too.
    """
    proving = _Proving(tasks, keys, work, silent)
    job = replace(proving.job(hash_ordered=True), by_value=False)
    return proving.look(job, ranges).spills


@dataclass(frozen=True, slots=True, kw_only=True)
class _Looked:
    """The findings of tasks.

    Attributes:
        written: statuses of the files that were read; nothing else is written.
        spills: paths of the hashes.
        left: files that were not hashed.
        ambiguous: whether hashes of values prove nothing.
    """

    written: WrittenFiles
    spills: tuple[str, ...]
    left: tuple[WorkRange, ...]
    ambiguous: bool

    def with_more(self, other: _Looked) -> _Looked:
        """Return the same files with the hashes of the remaining ones added."""
        return replace(
            self,
            spills=(*self.spills, *other.spills),
            left=other.left,
            ambiguous=self.ambiguous or other.ambiguous,
        )


class _Proving:
    """Runs the tasks that read the keys."""

    def __init__(self, tasks: Tasks, keys: KeySource, work: str, events: Events) -> None:
        self._tasks = tasks
        self._keys = keys
        self._work = work
        self._events = events

    def job(self, *, hash_ordered: bool) -> proof_task.ProofJob:
        """Return the tasks' first job, and create the folder that they write to."""
        key_schema = source_schema.decode_schema(self._keys.key_schema)
        rule = self._keys.rule
        with open_storage(self._work).create(join(_FOLDER, "begun"), durable=False):
            pass
        return proof_task.ProofJob(
            keys=self._keys,
            work=self._work,
            folder=_FOLDER,
            schema=source_schema.encode_schema(
                source_schema.with_partition_columns(key_schema, rule.partition)
            ),
            bits=bucket_bits(self._keys.inventory.rows),
            by_value=has_value_hashes(rule, key_schema),
            hash_ordered=hash_ordered,
        )

    def look(self, job: proof_task.ProofJob, ranges: Sequence[WorkRange]) -> _Looked:
        """Read the keys of the files of some ranges.

        Raises:
            SourceDriftError, CorruptFileError, StorageError: see `prove_files_task`.
        """
        work = [
            encode(proof_task.ProofTask(job=job, ranges=tuple(share)))
            for share in pack_scans(self._keys.inventory, ranges, self._tasks.parallelism)
        ]
        shares: list[proof_task.ProofShare] = []
        for status in self._tasks.run(proof_task.prove_files_task, work):
            share = decode(proof_task.ProofShare, status)
            shares.append(share)
            found = share.segment
            self._events(Progress(stage="audit", files=found.files, rows=found.rows))
        return _Looked(
            written=written_files(share.segment for share in shares),
            spills=tuple(share.spill for share in shares if share.spill),
            left=tuple(
                WorkRange(start=start, stop=stop, mode=BootstrapMode.METADATA_ONLY)
                for start, stop in sorted(pair for share in shares for pair in share.left)
            ),
            ambiguous=any(share.ambiguous for share in shares),
        )
