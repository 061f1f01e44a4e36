"""The gate: record keys are proven unique in their scope and not null, or nothing is published.

Statuses prove it if every file's keys increase and no two files' ranges overlap. Else the hashes
spilled by the writing tasks are compared by buckets; equal ones are compared exactly, as text.
Only this module makes `AuditedFiles` of loads and bootstraps, and `rewritten` those of services.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import pyarrow as pa

from framework.engine.audit import report
from framework.engine.audit.account import Account, check_account
from framework.engine.audit.candidates import (
    Candidates,
    CandidateTask,
    DuplicateKey,
    SuspectFile,
    compare_buckets,
    duplicate_keys,
)
from framework.engine.audit.keys import KeySource, source_null_rows
from framework.engine.audit.ranges import Survey, survey
from framework.engine.audit.stored import ReadBack, read_back
from framework.engine.audit.verdicts import UNCHECKED, Inspection
from framework.engine.events import Events, Note, silent
from framework.engine.tasks import Tasks
from framework.hudi.bootstrap.inventory import read_files
from framework.hudi.commit.segments import merge_segments
from framework.hudi.commit.statuses import AuditedFiles, WrittenFiles
from framework.hudi.keygen.rule import KeyRule
from framework.hudi.storage.locations import open_storage
from framework.vocabulary import AuditDepth, KeyScope

__all__ = [
    "AuditPlace",
    "Comparison",
    "LoadPlace",
    "audit",
    "audit_load",
    "compare",
    "proof_of",
    "surveyed",
]

_REMEMBERED: Final = 10_000
"""Equal hashes that a task keeps: 80 kB. Unique keys have few or none, and among others this many
already include a real duplicate, so one comparison decides."""
_GROWTH: Final = 16
"""Each comparison reads all spills. If all kept hashes belonged to different keys, which takes
deliberate collisions, two or three more comparisons see every one."""
PROOF_VERSION: Final = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditPlace:
    """The locations and keys of an audit.

    Attributes:
        table: location of the storage that holds segments, spills and staged files.
        folder: path in it for the audit's own files.
        keys: how keys are computed, and from what.
        by_value: whether the spilled hashes are of typed values; else they are of texts.
        depth: which stored files are opened again.
    """

    table: str
    folder: str
    keys: KeySource
    by_value: bool = False
    depth: AuditDepth = AuditDepth.SAMPLE


def audit(
    tasks: Tasks,
    written: WrittenFiles,
    place: AuditPlace,
    *,
    inspection: Inspection = UNCHECKED,
    events: Events = silent,
) -> AuditedFiles:
    """Return the files with the proof that their keys are unique and not null.

    Raises:
        AuditFailedError: `audit/duplicate-keys`, `audit/null-keys`, `audit/checks-failed`; `report`
            has the places.
        CorruptFileError: see `read_back`.
    """
    with inspection.beside():
        found = surveyed(written, place)
        events(Note(level="info", message=f"audit: {found.rows:,} keys by {_method(found)}"))
        spills = [f"{segment.path}.spill" for segment in written.segments]
        compared = None if found.disjoint else compare(tasks, written, place, spills)
        stored = read_back(tasks, written, place.table, place.depth)
        proof = proof_of(place, found, compared, stored)
        inspection.require()
    return AuditedFiles(written=written, proof={**proof, **inspection.committed})


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadPlace:
    """The locations of a load's audit; others as in `AuditPlace`, and the key rule."""

    table: str
    folder: str
    rule: KeyRule
    depth: AuditDepth = AuditDepth.SAMPLE


def audit_load(
    tasks: Tasks,
    written: WrittenFiles,
    place: LoadPlace,
    account: Account,
    inspection: Inspection = UNCHECKED,
) -> AuditedFiles:
    """Return the files of a load with the proof that its keys are unique and no row was lost.

    Existing keys have been matched, each with its row; new keys were looked up in every slice of
    their scope. What remains to prove on the written files is that the new keys differ from each
    other, and that the rows add up.

    Raises:
        AuditFailedError: `audit/duplicate-keys`, `audit/checks-failed`.
        CorruptFileError: `audit/rows-differ`, or see `read_back`.
    """
    storage = open_storage(place.table)
    with inspection.beside():
        found = check_account(storage, written, account)
        spills = [f"{segment.path}.spill" for segment in written.segments]
        candidates = compare_buckets(tasks, place.table, spills, place.folder, _REMEMBERED)
        repeated = _repeated(tasks, written, place, candidates) if candidates.groups else 0
        stored = read_back(tasks, written, place.table, place.depth)
        inspection.require()
    proof: dict[str, object] = {
        "version": PROOF_VERSION,
        "columns": list(place.rule.record_key),
        "scope": place.rule.scope.value,
        "unique": repeated + stored.repeated_keys == 0,
        "not_null": found.null_keys + stored.null_keys == 0,
        "method": "matched-and-hash-buckets",
        "files": written.files,
        "rows": found.rows,
        "checksum": found.checksum,
        "equal_hashes_compared": candidates.groups,
        "read_back": stored.as_json(),
        "account": account.as_json(),
        **inspection.committed,
    }
    return AuditedFiles(written=written, proof=proof)


def _repeated(tasks: Tasks, written: WrittenFiles, place: LoadPlace, candidates: Candidates) -> int:
    """Return how many new keys with equal hashes are equal, which is none.

    Raises:
        AuditFailedError: `audit/duplicate-keys`.
    """
    template = CandidateTask(
        table=place.table,
        keys=None,
        folder=place.folder,
        hashes="",
        by_partition=place.rule.scope is KeyScope.PARTITION,
        files=(),
    )
    files = list(_suspects(written, place.table, candidates.numbers))
    duplicates = duplicate_keys(tasks, template, files, candidates.hashes)
    complete = candidates.hashes.size == candidates.groups
    if duplicates or not complete:
        raise report.new_duplicates_error(place.rule, place.table, duplicates, candidates.rows)
    return len(duplicates)


def surveyed(written: WrittenFiles, place: AuditPlace) -> Survey:
    """Return the survey of the statuses, in which no key is null.

    Raises:
        AuditFailedError: `audit/null-keys`.
    """
    scope = place.keys.rule.scope
    found = survey(open_storage(place.table), written.segments, scope, report.SAMPLES)
    if found.null_keys:
        raise report.nulls_error(place.keys, found.null_keys, _null_places(place, found))
    return found


def proof_of(
    place: AuditPlace, found: Survey, compared: Comparison | None, stored: ReadBack | None
) -> dict[str, object]:
    """Return the proof of keys.

    Args:
        place: as of `audit`.
        found: the survey of the statuses.
        compared: of the hashes; None if the survey proves that no key occurs twice.
        stored: of the files; None if nothing was written.
    """
    rule = place.keys.rule
    repeated = sum(each.repeated_keys for each in (compared, stored) if each)
    nulls = found.null_keys + (stored.null_keys if stored else 0)
    return {
        "version": PROOF_VERSION,
        "columns": list(rule.record_key),
        "scope": rule.scope.value,
        "unique": (found.disjoint or compared is not None) and repeated == 0,
        "not_null": nulls == 0,
        "method": _method(found),
        "files": found.files,
        "rows": found.rows,
        "checksum": found.checksum,
        "equal_hashes_compared": compared.groups if compared else 0,
        **({"read_back": stored.as_json()} if stored else {}),
    }


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """Equal hashes.

    Attributes:
        groups: those of more than one row.
        repeated_keys: keys that occurred more than once among them.
    """

    groups: int = 0
    repeated_keys: int = 0


def compare(
    tasks: Tasks,
    written: WrittenFiles,
    place: AuditPlace,
    spills: Sequence[str],
) -> Comparison:
    """Compare all hashes of some spills; return the equal ones, which belonged to different keys.

    Raises:
        AuditFailedError: `audit/duplicate-keys`.
    """
    most = _REMEMBERED
    while True:
        candidates = compare_buckets(tasks, place.table, spills, place.folder, most)
        if not candidates.groups:
            return Comparison()
        duplicates = _exactly(tasks, written, place, candidates)
        complete = candidates.hashes.size == candidates.groups
        if duplicates:
            counted = None if complete else (candidates.groups, candidates.rows)
            raise report.duplicates_error(place.keys, duplicates, counted=counted)
        if complete:
            return Comparison(groups=candidates.groups, repeated_keys=len(duplicates))
        most *= _GROWTH


def _method(found: Survey) -> str:
    """Return the name of the proof."""
    return "ordered-ranges" if found.disjoint else "hash-buckets"


def _exactly(
    tasks: Tasks, written: WrittenFiles, place: AuditPlace, candidates: Candidates
) -> list[DuplicateKey]:
    """Return the keys that really occur twice among those with the kept hashes."""
    template = CandidateTask(
        table=place.table,
        keys=place.keys,
        folder=place.folder,
        hashes="",
        by_partition=place.keys.rule.scope is KeyScope.PARTITION,
        by_value=place.by_value,
        files=(),
    )
    files = list(_suspects(written, place.table, candidates.numbers))
    return duplicate_keys(tasks, template, files, candidates.hashes)


def _suspects(written: WrittenFiles, table: str, numbers: np.ndarray) -> Iterator[SuspectFile]:
    """Yield the written files with these numbers."""
    wanted = pa.array(numbers)
    for batch in merge_segments(open_storage(table), written.segments):
        chosen = batch.filter(pa.compute.is_in(batch["number"], wanted))
        names = ("number", "staged", "partition_path", "name")
        for row in chosen.select(names).to_pylist():
            yield SuspectFile(**row)


def _null_places(place: AuditPlace, found: Survey) -> Iterator[tuple[str, str, int]]:
    """Yield (file, partition, row) of the first rows without a key."""
    left = report.SAMPLES
    for number, _ in found.null_files:
        file = next(read_files(place.keys.inventory, number, number + 1))
        for before, rows in source_null_rows(place.keys, number):
            shown = rows[:left].tolist()
            left -= len(shown)
            for row in shown:
                yield file.fingerprint.path, file.partition_path, before + row
        if not left:
            return
