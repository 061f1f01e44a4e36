"""What the connections of a server take together: places, bytes that came, and bytes to send."""

from __future__ import annotations

import asyncio

from framework.timeline_service.access import Limits

__all__ = ["Room"]


class Room:
    """The connections of one server and their memory; used by its event loop alone.

    Args:
        limits: of the server.

    Attributes:
        received: bytes of requests that are not answered yet.
    """

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._stalled: dict[asyncio.Transport, None] = {}
        self._silent: dict[asyncio.Transport, None] = {}
        self.received = 0

    @property
    def is_full(self) -> bool:
        """Whether more was received than may be held."""
        return self.received > self._limits.received_bytes

    def enter(self, transport: asyncio.Transport, connections: int) -> None:
        """Note a new caller; where there are too many, one that has asked nothing yet is cut off.

        Args:
            transport: of the caller.
            connections: open ones, the new one included.
        """
        self._silent[transport] = None
        if connections > self._limits.connections:
            first = next(iter(self._silent))
            del self._silent[first]
            first.abort()

    def ask(self, transport: asyncio.Transport) -> None:
        """Note that a caller asked something."""
        self._silent.pop(transport, None)

    def leave(self, transport: asyncio.Transport) -> None:
        """Note that a caller is gone."""
        self.ask(transport)
        self.forget(transport)

    def stall(self, transport: asyncio.Transport) -> None:
        """Note that a caller does not read its answers.

        While all such callers together are owed too much, the one that stalled first is cut off.
        The answer to the last of them may be larger than the bound.
        """
        self._stalled[transport] = None
        while len(self._stalled) > 1 and self._unsent() > self._limits.unsent_bytes:
            first = next(iter(self._stalled))
            self.forget(first)
            first.abort()

    def forget(self, transport: asyncio.Transport) -> None:
        """Note that a caller reads again."""
        self._stalled.pop(transport, None)

    def _unsent(self) -> int:
        """Return the bytes that stalled callers are owed."""
        return sum(each.get_write_buffer_size() for each in self._stalled)
