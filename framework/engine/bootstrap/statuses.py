"""Statuses of source files as tasks gather them, row by row, into the columns of a segment."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa

from framework.hudi.commit.segments import SEGMENT_SCHEMA

if TYPE_CHECKING:
    from collections.abc import Mapping

    from framework.hudi.bootstrap.inventory import InventoryFile
    from framework.hudi.bootstrap.key_pass import KeyFacts

__all__ = ["Statuses", "status_of"]

_GATHERED: Final = 1024


class Statuses:
    """Gathers statuses; turns them into Arrow now and then, which takes a tenth of the room."""

    def __init__(self) -> None:
        self._rows: list[tuple[Any, ...]] = []
        self._tables: list[pa.Table] = []

    def add(self, status: Mapping[str, Any]) -> None:
        """Take in a status with every column of `SEGMENT_SCHEMA`."""
        self._rows.append(tuple(status[name] for name in SEGMENT_SCHEMA.names))
        if len(self._rows) >= _GATHERED:
            self._gather()

    def table(self) -> pa.Table:
        """Return all statuses, in the order in which they came."""
        self._gather()
        return pa.concat_tables([SEGMENT_SCHEMA.empty_table(), *self._tables])

    def _gather(self) -> None:
        """Turn the newest statuses into Arrow."""
        columns = list(zip(*self._rows, strict=True)) or [()] * len(SEGMENT_SCHEMA)
        arrays = [pa.array(c, f.type) for c, f in zip(columns, SEGMENT_SCHEMA, strict=True)]
        self._tables.append(pa.Table.from_arrays(arrays, schema=SEGMENT_SCHEMA))
        self._rows = []


def status_of(file: InventoryFile, kind: str, facts: KeyFacts) -> dict[str, Any]:
    """Return the status of a source file for which nothing is written; each of its rows is new."""
    return {
        "number": file.number,
        "kind": kind,
        "file_id": "",
        "name": "",
        "partition_path": file.partition_path,
        "staged": "",
        "size": 0,
        "crc32c": 0,
        "source_path": file.fingerprint.path,
        "source_size": file.fingerprint.size,
        "source_mtime_ns": file.fingerprint.mtime_ns,
        "rows": facts.rows,
        "min_key": facts.min_key,
        "max_key": facts.max_key,
        "order_first": facts.order_first,
        "order_last": facts.order_last,
        "increasing": facts.increasing,
        "injective": facts.injective,
        "null_keys": facts.null_keys,
        "previous": None,
        "inserts": facts.rows,
        "updates": 0,
        "deletes": 0,
        "base_name": None,
    }
