"""An object store whose only client dies before its k-th change."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from framework.hudi.storage.memory_objects import (
    MemoryObjects,
    MemoryObjectStorage,
    StoredObject,
)
from tests.support.fault_storage import Killed

__all__ = ["DyingObjects", "dies_on_objects"]


@dataclass
class DyingObjects(MemoryObjects):
    """The service, and the fate of the process that uses it.

    Attributes:
        steps: changes that were requested so far.
        kill_at: number of the change, from 1, before which the process dies; 0: never.
        dead: whether it is; then it does nothing more, not even in `finally`.
    """

    steps: int = 0
    kill_at: int = 0
    dead: bool = False

    def revive(self) -> None:
        """Start another process, which does not die."""
        self.dead, self.kill_at = False, 0

    def _change(self) -> None:
        self._look()
        self.steps += 1
        if self.steps == self.kill_at:
            self.dead = True
            raise Killed

    def _look(self) -> None:
        if self.dead:
            raise Killed

    def list(self, prefix: str) -> list[tuple[str, StoredObject]]:
        """List, if alive."""
        self._look()
        return super().list(prefix)

    def get(self, key: str) -> StoredObject | None:
        """Get, if alive."""
        self._look()
        return super().get(key)

    def put(self, key: str, data: bytes, tag: str) -> bool:
        """Put, as a step."""
        self._change()
        return super().put(key, data, tag)

    def delete(self, key: str) -> None:
        """Delete, as a step."""
        self._change()
        super().delete(key)

    def begin(self, key: str, data: bytes, upload: str) -> None:
        """Begin an upload, as a step."""
        self._change()
        super().begin(key, data, upload)

    def complete(self, key: str, upload: str) -> bool | None:
        """Complete an upload, as a step."""
        self._change()
        return super().complete(key, upload)

    def abort(self, upload: str) -> None:
        """Abort an upload, as a step."""
        self._change()
        super().abort(upload)


def dies_on_objects(
    storage: MemoryObjectStorage, step: int, attempt: Callable[[MemoryObjectStorage], object]
) -> bool:
    """Return whether an attempt died at a change of the storage's service; revive it."""
    service = storage.service
    assert isinstance(service, DyingObjects)
    service.steps, service.kill_at = 0, step
    try:
        attempt(storage)
    except Killed:
        assert service.dead
    died = service.dead
    service.revive()
    return died
