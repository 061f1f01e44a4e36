"""What the driver has received, one small file per record, in order.

A record appears whole or not at all, and is durable before the driver continues.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, Final

from framework.errors import CorruptFileError, StorageError, Where
from framework.hudi.commit.staging import Staging
from framework.hudi.storage.port import Move, Storage
from framework.hudi.table.layout import join

__all__ = ["Journal"]

_DIGITS: Final = 6


class Journal:
    """The records of one run; one writer at a time, which the lease sees to."""

    def __init__(self, storage: Storage, staging: Staging) -> None:
        self._storage = storage
        self._staging = staging
        self._next: int | None = None

    def append(self, record: Mapping[str, object]) -> None:
        """Add a JSON-able record.

        Raises:
            StorageError: among others `storage/exists`, where another writer is at work.
        """
        number = self._next_number()
        temporary = self._staging.new_publish()
        with self._storage.create(temporary) as out:
            out.write(json.dumps(record).encode())
        target = join(self._staging.journal, f"{number:0{_DIGITS}}.json")
        try:
            self._storage.move([Move(source=temporary, target=target)])
        except StorageError:
            self._storage.delete(temporary)
            raise
        self._next = number + 1

    def records(self) -> Iterator[dict[str, Any]]:
        """Yield all records in order; costs one listing and one read each.

        Raises:
            CorruptFileError: `commit/corrupt-journal` where a record is missing or damaged.
        """
        for place, entry in enumerate(self._storage.list(self._staging.journal), start=1):
            with self._storage.open_input(entry.path) as source:
                text = source.read()
            try:
                record = json.loads(text)
            except ValueError as error:
                raise _corrupt(entry.path) from error
            if entry.name != f"{place:0{_DIGITS}}.json" or not isinstance(record, dict):
                raise _corrupt(entry.path)
            yield record

    def _next_number(self) -> int:
        """Return the first free number; lists once per journal."""
        if self._next is None:
            self._next = 1 + sum(1 for _ in self._storage.list(self._staging.journal))
        return self._next


def _corrupt(path: str) -> CorruptFileError:
    """Return the error for one record."""
    return CorruptFileError(
        "commit/corrupt-journal",
        "the journal of the earlier run is damaged",
        where=Where(file=path),
        remedy="Run again with --fresh; nothing was published.",
    )
