"""Shared limits of a server's connections: slots, received bytes and unsent bytes."""

from __future__ import annotations

import asyncio

from framework.timeline_service.access import Limits

__all__ = ["Room"]


class Room:
    """The connections of one server and their memory; used only by its event loop.

    Args:
        limits: the server's limits.

    Attributes:
        received: bytes of unanswered requests.
    """

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._stalled: dict[asyncio.Transport, None] = {}
        self._silent: dict[asyncio.Transport, None] = {}
        self.received = 0

    @property
    def is_full(self) -> bool:
        """Whether the received bytes exceed the limit."""
        return self.received > self._limits.received_bytes

    def enter(self, transport: asyncio.Transport, connections: int) -> None:
        """Add a caller; if there are too many, close one that has sent no request yet.

        Args:
            transport: the caller's transport.
            connections: open connections, including the new one.
        """
        self._silent[transport] = None
        if connections > self._limits.connections:
            first = next(iter(self._silent))
            del self._silent[first]
            first.abort()

    def ask(self, transport: asyncio.Transport) -> None:
        """Record a caller's request."""
        self._silent.pop(transport, None)

    def leave(self, transport: asyncio.Transport) -> None:
        """Remove a caller."""
        self.ask(transport)
        self.forget(transport)

    def stall(self, transport: asyncio.Transport) -> None:
        """Record that a caller does not read its responses.

        While all such callers together have too many unsent bytes, the one that stalled first is
        closed. The response of the last one may exceed the bound.
        """
        self._stalled[transport] = None
        while len(self._stalled) > 1 and self._unsent() > self._limits.unsent_bytes:
            first = next(iter(self._stalled))
            self.forget(first)
            first.abort()

    def forget(self, transport: asyncio.Transport) -> None:
        """Record that a caller reads again."""
        self._stalled.pop(transport, None)

    def _unsent(self) -> int:
        """Return the unsent bytes of stalled callers."""
        return sum(each.get_write_buffer_size() for each in self._stalled)
