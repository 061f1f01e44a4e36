"""What every writing task of one bootstrap gets: frozen values that travel as JSON."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from framework.engine.audit.keys import KeySource
from framework.hudi.bootstrap.key_pass import BloomChoice, key_columns
from framework.hudi.bootstrap.source_schema import encode_schema
from framework.vocabulary import BootstrapMode  # noqa: TC001  the codec reads the types of fields

if TYPE_CHECKING:
    from framework.hudi.bootstrap.inventory import InventoryHandle
    from framework.hudi.keygen.rule import KeyRule

__all__ = ["BootstrapJob", "WorkRange", "WriteTask", "key_source"]


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkRange:
    """Neighbouring files of an inventory that are written alike.

    Attributes:
        start: number of the first file.
        stop: the number after the last.
        mode: how.
        gone: path in the table of the places of rows that are not written, of a range of one file;
            "" where all are.
    """

    start: int
    stop: int
    mode: BootstrapMode
    gone: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class BootstrapJob:
    """One bootstrap.

    Attributes:
        keys: how keys are made, and from what.
        table: location of the storage that is written to.
        attempts: folder in it where each attempt of a task makes its own.
        segments: folder in it for statuses and spills.
        instant: requested time of the commit.
        bloom: the filter that each file gets.
        schema: encoded Arrow schema of the table without meta columns; full records are cast to it.
        avro_schema: the table's Avro schema with meta columns, for footers of full records.
        bits: how many bits of a hash choose its bucket.
        fence: file in it without which the run is over, and no task writes any more; "" for none.
    """

    keys: KeySource
    table: str
    attempts: str
    segments: str
    instant: str
    bloom: BloomChoice
    schema: str
    avro_schema: str
    bits: int
    fence: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class WriteTask:
    """One task's share of a job; `ranges` ascend."""

    job: BootstrapJob
    ranges: tuple[WorkRange, ...]


def key_source(source: str, handle: InventoryHandle, rule: KeyRule, schema: Any) -> KeySource:
    """Return how the keys of a source are made; `schema` is the one of its files, unified."""
    return KeySource(
        source=source,
        inventory=handle,
        rule=rule,
        key_schema=encode_schema(key_columns(schema, rule)),
    )
