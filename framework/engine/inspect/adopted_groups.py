"""The file groups that a bootstrap wrote, from its commit, active or archived."""

from __future__ import annotations

from collections.abc import Callable

from framework.hudi.storage.port import Storage
from framework.hudi.table.properties import read_properties
from framework.hudi.timeline.archive import archived_file_ids
from framework.hudi.timeline.archive_writer import newest_first
from framework.hudi.timeline.commit_body import read_commit_body
from framework.hudi.timeline.timeline import Timeline

__all__ = ["AdoptedGroups"]


class AdoptedGroups:
    """The file groups of a bootstrap; its commit is read at the first question.

    Args:
        storage: the table.
        timeline: of the table.
        instant: of the bootstrap.
    """

    def __init__(self, storage: Storage, timeline: Timeline, instant: str) -> None:
        self._storage = storage
        self._timeline = timeline
        self._instant = instant
        self._ids: Callable[[str], frozenset[str]] | None = None

    def of(self, partition_path: str) -> frozenset[str]:
        """Return the ids of a partition's groups; empty if the bootstrap did not write to it.

        Costs a read of the bootstrap's commit once, or of the whole archive if that is archived.

        Raises:
            CorruptFileError, UnsupportedTableError: commit or archive is not readable.
        """
        if self._ids is None:
            self._ids = self._read()
        return self._ids(partition_path)

    def _read(self) -> Callable[[str], frozenset[str]]:
        active = next((e for e in self._timeline.find(self._instant) if e.is_completed), None)
        if active is not None:
            body = read_commit_body(self._storage, active.path)
            return lambda path: frozenset(each.file_id for each in body.stats(path))
        properties = read_properties(self._storage)
        paths = newest_first(self._storage, properties.raw if properties else {})
        found = archived_file_ids(self._storage, [*paths][::-1], self._instant) or {}
        return lambda path: found.get(path, frozenset())
