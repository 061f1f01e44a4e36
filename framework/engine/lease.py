"""The lease of a table for work that makes no instant."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from framework.hudi.commit.lease import Owner, acquire, keep, release
from framework.hudi.commit.staging import new_write_id

if TYPE_CHECKING:
    from collections.abc import Iterator

    from framework.hudi.storage.port import Storage
    from framework.hudi.timeline.clock import Clock

__all__ = ["leased"]


@contextmanager
def leased(storage: Storage, clock: Clock) -> Iterator[None]:
    """Hold the lease of a table while the context lasts; no run of ours writes meanwhile.

    Raises:
        LeaseHeldError: `commit/lease-held`.
    """
    lease = acquire(storage, Owner.here(new_write_id()), clock)
    try:
        with keep(storage, lease, clock):
            yield
    finally:
        release(storage, lease)
