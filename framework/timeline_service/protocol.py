"""The HTTP protocol of one connection: uvicorn's, with limits, back-pressure and a fast path.

A connection has some seconds from its start, or from the first byte of a further request, until
that request's head is complete, and some more until its body is. So a half-open caller, or one that
sends a byte a second, does not hold a slot for long. A connection idle for minutes is closed.

Requests of a connection are answered one at a time, one per turn of the event loop, so a caller
that sends thousands at once waits behind all others. Later requests are queued up to a bound.
Beyond it, or while responses are not read, reading pauses. A malformed or unauthorized request gets
one response, and its connection ends.

A lookup is answered where it was read: the path through ASGI would cost three times the lookup.
Other requests, and those that must wait, take the slow path; uvicorn gets one whole request at a
time, in normalized form.
"""

from __future__ import annotations

import asyncio
import os
import select
import time
from functools import lru_cache
from http import HTTPStatus
from typing import Final

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle

from framework.timeline_service.access import Limits
from framework.timeline_service.heads import Head, HeadReader
from framework.timeline_service.messages import CLOSE, Answer, Headers, RequestRefusedError
from framework.timeline_service.room import Room
from framework.timeline_service.service import Service

__all__ = ["limited_protocol"]

_PLAIN: Final = "/v1/hoodie/view/"
_END: Final = b"\r\n\r\n"
_CONTINUE: Final = b"HTTP/1.1 100 Continue\r\n\r\n"
_IDLE_SECONDS: Final = 300.0
_LINGER_SECONDS: Final = 1.0
"""A refused caller that is still sending gets its response only if its data is read to the end."""
_LEAST_TAKEN: Final = 64 << 10
_AWAKE_SECONDS: Final = 0.0003
"""Three times the cost of waking an idle core, which bounds the cost of busy waiting."""
_STATUS_LINES: Final = {
    each.value: f"HTTP/1.1 {each.value} {each.phrase}\r\n".encode() for each in HTTPStatus
}


def limited_protocol(service: Service, limits: Limits) -> type[HttpToolsProtocol]:
    """Return the protocol class of a server's connections."""

    class Protocol(_LimitedProtocol):
        """The protocol with the service and limits of this server."""

        served = service
        bounds = limits
        heads = HeadReader(limits)
        room = Room(limits)

    return Protocol


class _LimitedProtocol(HttpToolsProtocol):
    """One connection."""

    served: Service
    bounds: Limits
    heads: HeadReader
    room: Room

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Start the connection."""
        super().connection_made(transport)
        self._bytes = select.poll()
        self._bytes.register(transport.get_extra_info("socket"), select.POLLIN)
        self._received = bytearray()
        self._head: Head | None = None
        self._in_work = self._counted = self._left_to_discard = 0
        self._has_turn = self._is_ending = False
        self._deadline: asyncio.TimerHandle | None = None
        self._stall: asyncio.TimerHandle | None = None
        self._heard = self.loop.time()
        self._idle = self.loop.call_later(_IDLE_SECONDS, self._close_if_idle)
        self._wait(self.bounds.header_seconds)
        self.room.enter(transport, len(self.connections))

    def data_received(self, data: bytes) -> None:
        """Receive bytes."""
        if self._is_ending:
            self._discard(len(data))
            return
        looked_at = max(0, len(self._received) - len(_END) + 1)
        self._received += data
        if self._has_turn:
            self._regulate()
        else:
            self._take_turn(looked_at)

    def on_response_complete(self) -> None:
        """Continue after a slow-path response."""
        super().on_response_complete()
        self._in_work = 0
        self._regulate()
        self._ask_for_turn()

    def pause_writing(self) -> None:
        """Pause reading while the caller does not read its responses."""
        super().pause_writing()
        self.room.stall(self.transport)
        self._watch_stalled()
        self._regulate()

    def resume_writing(self) -> None:
        """Resume once the caller has read nearly all of its responses."""
        super().resume_writing()
        self._stop_watching()
        self._regulate()
        self._ask_for_turn()

    def connection_lost(self, exc: Exception | None) -> None:
        """Clean up after the connection."""
        self._stop_waiting()
        self._stop_watching()
        self.room.leave(self.transport)
        self._idle.cancel()
        self._is_ending = True
        self._received.clear()
        self._in_work = 0
        self._count()
        super().connection_lost(exc)

    def _take_turn(self, looked_at: int = 0) -> None:
        """Answer one request if it is complete; the first `looked_at` bytes have no end of a head.

        Further requests wait for their own turn.
        """
        self._has_turn = False
        if self._is_ending or self.transport.is_closing():
            return
        if not self._is_busy():
            try:
                if self._took_request(looked_at):
                    self._ask_for_turn()
            except RequestRefusedError as refusal:
                self._refuse(refusal)
        if self._received or self._in_work or self._counted or self.flow.read_paused:
            self._regulate()

    def _took_request(self, looked_at: int) -> bool:
        """Answer the next request, or start to; return False if it is not complete."""
        head = self._head or self._next_head(looked_at)
        if head is None or len(self._received) < head.length:
            return False
        body = bytes(self._received[: head.length])
        del self._received[: head.length]
        self._head = None
        self._stop_waiting()
        self._unset_keepalive_if_required()
        self._heard = self.loop.time()
        if not (head.is_plain and head.target.startswith(_PLAIN) and self._answered(head)):
            self._in_work = len(body)
            super().data_received(head.as_sent())
            if body:
                super().data_received(body)
        return True

    def _next_head(self, looked_at: int) -> Head | None:
        """Return the received head, None if it is not complete.

        Raises:
            RequestRefusedError: it cannot be answered, or its body is refused.
        """
        end = self._received.find(_END, looked_at)
        if (len(self._received) if end < 0 else end) > self.bounds.header_bytes:
            raise RequestRefusedError(431, f"a head has at most {self.bounds.header_bytes} bytes")
        if end < 0:
            if self._received and not 0x41 <= self._received[0] <= 0x5A:  # noqa: PLR2004 - A to Z
                raise RequestRefusedError(400, "this is not HTTP")
            if self._deadline is None and self._received:
                self._wait(self.bounds.header_seconds)
            return None
        head = self.heads.read(bytes(self._received[:end]))
        self.room.ask(self.transport)
        del self._received[: end + len(_END)]
        if head.length:
            self._expect_body(head)
        return head

    def _expect_body(self, head: Head) -> None:
        """Wait for a body.

        Raises:
            RequestRefusedError: the sender has no access, or the body is too long.
        """
        self._left_to_discard = min(head.length, self.bounds.body_bytes)
        self.served.access.check(head.headers)
        if head.length > self.bounds.body_bytes:
            raise RequestRefusedError(413, f"a body has at most {self.bounds.body_bytes} bytes")
        if head.expects and len(self._received) < head.length:
            self.transport.write(_CONTINUE)
        self._head = head
        self._wait(self.bounds.body_seconds)

    def _answered(self, head: Head) -> bool:
        """Answer a lookup that need not wait; return False for the slow path."""
        answer = self.served.quick(head.request())
        if answer is None:
            return False
        self.transport.write(_bytes_of(answer))
        if CLOSE in answer.headers:
            self._end()
        elif len(self.connections) == 1 and not self._received:
            self._stay_awake()
        return True

    def _refuse(self, refusal: RequestRefusedError) -> None:
        """Send a refusal and end the connection without reading further."""
        answer = refusal.answer(ends=True)
        self.served.metrics.count("refused", answer.status)
        self.transport.write(_bytes_of(answer))
        self._end()

    def _end(self) -> None:
        """Send pending output and stop answering; drop further input for a moment."""
        self._is_ending = True
        self._stop_waiting()
        self._left_to_discard = max(self._left_to_discard, self.bounds.queued_bytes)
        self._discard(len(self._received))
        self._received.clear()
        self._head = None
        if not self.transport.is_closing():
            self.transport.write_eof()
            self._deadline = self.loop.call_later(_LINGER_SECONDS, self.transport.abort)

    def _discard(self, many: int) -> None:
        """Drop bytes; close the connection if the caller keeps sending."""
        self._left_to_discard -= many
        if self._left_to_discard < 0:
            self.transport.close()

    def _ask_for_turn(self) -> None:
        """Schedule a queued request after those of all other connections."""
        if self._received and not (self._has_turn or self._is_busy()):
            self._has_turn = True
            self.loop.call_soon(self._take_turn)

    def _is_busy(self) -> bool:
        """Whether the next request must wait for the previous response or for the caller."""
        return self._is_ending or not self._is_between() or self.flow.write_paused

    def _is_between(self) -> bool:
        """Whether no slow-path request is in progress."""
        cycle: RequestResponseCycle | None = self.cycle
        return cycle is None or cycle.response_complete

    def _regulate(self) -> None:
        """Pause or resume reading; close the connection if all callers together sent too much."""
        self._count()
        if self.transport.is_closing():
            return
        is_full = self._head is None and len(self._received) > self.bounds.queued_bytes
        if not self._is_ending and (is_full or self.flow.write_paused):
            self.flow.pause_reading()
        else:
            self.flow.resume_reading()
        if self._received and self.room.is_full:
            self._cut_off()

    def _count(self) -> None:
        """Update the total of received bytes by this connection's share."""
        held = len(self._received) + self._in_work
        self.room.received += held - self._counted
        self._counted = held

    def _cut_off(self) -> None:
        """End the connection, since all callers together sent too much."""
        if self._is_busy():
            self.transport.abort()
        else:
            self._refuse(RequestRefusedError(503, "this service is receiving too much data"))
            self._count()

    def _stay_awake(self) -> None:
        """Busy-wait briefly for the next lookup.

        A single connection calls again right after its response, and waking a core takes longer
        than answering. The core is yielded to other threads, and the time is bounded.
        """
        until = time.monotonic() + _AWAKE_SECONDS
        while not self._bytes.poll(0) and time.monotonic() < until:
            os.sched_yield()

    def _wait(self, seconds: float) -> None:
        """Start the deadline of the next request's head or body."""
        self._stop_waiting()
        self._deadline = self.loop.call_later(seconds, self._come_too_late)

    def _come_too_late(self) -> None:
        """End the connection after a missed deadline."""
        self._deadline = None
        if self._head is None:
            self.transport.abort()
        else:
            self._refuse(RequestRefusedError(408, "the body arrived too slowly"))
            self._count()

    def _stop_waiting(self) -> None:
        """Cancel the deadline."""
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def _watch_stalled(self, unsent: int | None = None) -> None:
        """Check periodically whether the caller reads; close the connection if it does not.

        Args:
            unsent: unsent bytes at the previous check; None the first time.
        """
        now = self.transport.get_write_buffer_size()
        if unsent is not None and now > unsent - _LEAST_TAKEN:
            self.transport.abort()
            return
        self._stall = self.loop.call_later(self.bounds.send_seconds, self._watch_stalled, now)

    def _stop_watching(self) -> None:
        """Stop checking: the caller reads."""
        self.room.forget(self.transport)
        if self._stall is not None:
            self._stall.cancel()
            self._stall = None

    def _close_if_idle(self) -> None:
        """Close a connection that was idle for long, else check again later."""
        left = self._heard + _IDLE_SECONDS - self.loop.time()
        if self.transport.is_closing():
            self.transport.abort()
            return
        if left <= 0 and self._is_between():
            self._end()
            return
        self._idle = self.loop.call_later(max(left, 1.0), self._close_if_idle)


def _bytes_of(answer: Answer) -> bytes:
    """Return a response as bytes."""
    status, body, headers = answer
    return b"%b%d%b%b" % (_head_of(status, headers), len(body), _END, body)


@lru_cache(maxsize=64)
def _head_of(status: int, headers: Headers) -> bytes:
    """Return the part before a response's length, shared by responses of one view version."""
    lines = b"".join(b"%b: %b\r\n" % each for each in headers)
    return b"%b%bcontent-length: " % (_STATUS_LINES[status], lines)
