"""Proving a source's keys without writing a table: the audit of a bootstrap that stays on paper."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

from framework.engine.audit.gate import AuditPlace, prove
from framework.engine.audit.spill import bucket_bits
from framework.engine.bootstrap.job import BootstrapJob, WorkRange
from framework.engine.bootstrap.writing import Ledger, write_files
from framework.engine.events import silent
from framework.hudi.bootstrap.key_pass import BloomChoice
from framework.hudi.bootstrap.source_schema import (
    decode_schema,
    encode_schema,
    with_partition_columns,
)
from framework.hudi.table.layout import BOOTSTRAP_INSTANT
from framework.vocabulary import BloomKind

if TYPE_CHECKING:
    from collections.abc import Sequence

    from framework.engine.audit.keys import KeySource
    from framework.engine.events import Events
    from framework.engine.tasks import Tasks
    from framework.hudi.commit.files import WrittenFiles

__all__ = ["HashedKeys", "hash_keys", "prove_keys"]


def prove_keys(
    tasks: Tasks,
    keys: KeySource,
    ranges: Sequence[WorkRange],
    work: str,
    *,
    events: Events = silent,
) -> dict[str, object]:
    """Return the proof that the keys of these files are unique in their scope and not null.

    Reads the key columns once; writes statuses and hashes (8 bytes a row), and no base file.

    Args:
        tasks: carries the reading.
        keys: how keys are made, and from what.
        ranges: which files.
        work: location of a fresh folder that tasks can write to; the caller deletes it.
        events: hears of progress, as of `write_files`.

    Raises:
        AuditFailedError: `audit/duplicate-keys`, `audit/null-keys`.
        SourceDriftError: a source file is not the one in the inventory.
    """
    hashed = hash_keys(tasks, keys, ranges, work, events=events)
    return prove(
        tasks, hashed.written, AuditPlace(table=work, folder="audit", keys=keys), events=events
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class HashedKeys:
    """Statuses of files whose keys were hashed, and where the hashes are, below the same folder."""

    written: WrittenFiles

    @property
    def spills(self) -> list[str]:
        """Paths of the hashes."""
        return [f"{segment.path}.spill" for segment in self.written.segments]


def hash_keys(
    tasks: Tasks,
    keys: KeySource,
    ranges: Sequence[WorkRange],
    work: str,
    *,
    events: Events = silent,
) -> HashedKeys:
    """Hash the keys of some files into a fresh folder; arguments and errors as of `prove_keys`."""
    schema = with_partition_columns(decode_schema(keys.key_schema), keys.key_rule.partition)
    job = BootstrapJob(
        keys=asdict(keys),
        table=work,
        attempts="attempts",
        segments="segments",
        instant=BOOTSTRAP_INSTANT,
        bloom=asdict(BloomChoice(kind=BloomKind.NONE.value)),
        schema=encode_schema(schema),
        avro_schema="",
        bits=bucket_bits(keys.handle.rows),
        write=False,
    )
    ledger = Ledger(journal=lambda _: None)
    return HashedKeys(written=write_files(tasks, job, ranges, ledger, events=events))
