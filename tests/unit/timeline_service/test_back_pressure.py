"""Callers that send and never read: others are answered as before, and memory stays bounded."""

from __future__ import annotations

import socket
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from http.client import HTTPConnection
from typing import Any

import pytest

from framework.hudi.view.http import ServiceConnection
from framework.timeline_service.access import Limits
from framework.vocabulary import ServiceAuth
from tests.support.served import ServedScene, a_table

pytestmark = pytest.mark.long

CALLERS = 40
PLAIN = b"GET /v1/hoodie/view/slices/partition/latest/?%b HTTP/1.1\r\nhost: localhost\r\n\r\n"


@pytest.fixture
def scene() -> Iterator[ServedScene]:
    """A loopback service without a token; its partitions are too large for the fast path."""
    with ServedScene(a_table(groups=300)) as found:
        found.hudi("slices/partition/latest/", partition="p=1")
        yield found


def query(scene: ServedScene, **more: str) -> bytes:
    """Return a look-up's query; with a timeline hash its response is cached."""
    said = {**scene.claims(), "partition": "p%3D1", **more}
    return "&".join(f"{name}={value}" for name, value in said.items()).encode()


@contextmanager
def callers(scene: ServedScene, many: int) -> Iterator[Sequence[socket.socket]]:
    """Connections that do not wait, and read nothing of themselves."""
    with ExitStack() as stack:
        address = (scene.server.host, scene.server.port)
        found = [socket.create_connection(address, timeout=10) for _ in range(many)]
        for each in found:
            stack.callback(each.close)
            each.setblocking(False)
        yield found


def flood(found: Sequence[socket.socket], data: bytes, seconds: float) -> list[int]:
    """Send over and over on all connections, as much as they take; return how much each took."""
    sent = [0] * len(found)
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        for number, each in enumerate(found):
            try:
                rest = data[sent[number] % len(data) :]
                sent[number] += each.send(rest)
            except BlockingIOError:
                continue
            except OSError:  # it was closed
                continue
    return sent


def slowest_answer(scene: ServedScene, seconds: float) -> float:
    """Return the most seconds that another caller waits for an answer."""
    most = 0.0
    with closing(HTTPConnection(scene.server.host, scene.server.port, timeout=20)) as other:
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            begun = time.monotonic()
            other.request("GET", "/health")
            assert other.getresponse().read()
            most = max(most, time.monotonic() - begun)
    return most


@pytest.mark.parametrize("more", [{}, {"timelinehash": ""}], ids=["short way", "long way"])
def test_caller_that_never_reads_is_not_read_from(scene: ServedScene, more: dict[str, str]) -> None:
    """Nor does the service answer what it cannot send; others are answered at once."""
    data = (PLAIN % query(scene, **more)) * 500
    with callers(scene, 4) as found:
        sent, took = flood(found, data, 0.3), 1
        for _ in range(30):
            if not took:
                break
            took = sum(flood(found, data, 0.3))
        assert took == 0, "it reads on and on"
        held = [held_by(each) for each in scene.connections()]
        assert slowest_answer(scene, 0.3) < 1
    assert max(sent) > 64 << 10
    assert len(held) == 4
    assert max(held) < 1 << 20


def held_by(connection: Any) -> int:
    """Return the bytes that the service holds of a connection, of both directions."""
    size: int = connection.transport.get_write_buffer_size()
    return len(connection._received) + size  # noqa: SLF001 - nothing else shows them


def test_caller_that_reads_again_gets_all_of_its_answers(scene: ServedScene) -> None:
    """None is lost, whatever was held back."""
    one = PLAIN % query(scene)
    asked = 500
    with callers(scene, 1) as (caller,):
        sent = found = 0
        data = one * asked
        caller.settimeout(0.05)
        while sent < len(data):
            try:
                sent += caller.send(data[sent : sent + 65_536])
            except TimeoutError:
                found += caller.recv(1 << 20).count(b"HTTP/1.1 200")
        caller.settimeout(5)
        while found < asked:
            part = caller.recv(1 << 20)
            assert part
            found += part.count(b"HTTP/1.1 200")
    assert found >= asked - 20, "a status line may be cut in two by reads"


def test_forty_callers_without_a_token_are_answered_once_and_closed() -> None:
    """They sent megabytes each before; others waited for seconds."""
    with ServedScene(auth=ServiceAuth.TOKEN) as scene, callers(scene, CALLERS) as found:
        data = (PLAIN % query(scene)) * 500
        sent = flood(found, data, 0.5)
        assert slowest_answer(scene, 0.3) < 1
        until_none_is_open(scene)
        responses = [read_all(each) for each in found]
    assert max(sent) < 8 << 20
    assert all(each.count(b"HTTP/1.1") <= 1 for each in responses)
    assert any(each.startswith(b"HTTP/1.1 401") for each in responses)


def test_body_without_a_token_is_answered_before_it_came() -> None:
    """With 401, which its sender can read although it is still sending."""
    with ServedScene(auth=ServiceAuth.TOKEN) as scene, callers(scene, 1) as (caller,):
        caller.settimeout(5)
        head = b"POST /v1/lakestrap/tables/x/select HTTP/1.1\r\nhost: localhost\r\n"
        caller.sendall(head + b"content-length: 1000000\r\n\r\n")
        assert caller.recv(65_536).startswith(b"HTTP/1.1 401")
        caller.sendall(b"x" * 100_000)
        assert caller.recv(65_536) == b""


def test_unread_responses_are_bounded_by_closing_the_oldest() -> None:
    """The caller that asked last is served."""
    storage = a_table(groups=2_000)
    limits = Limits(unsent_bytes=2 << 20)
    with ServedScene(storage, limits=limits) as scene, callers(scene, 8) as found:
        target = f"/v1/hoodie/view/slices/partition/latest/?{query(scene).decode()}"
        scene.call("GET", target)
        for each in found:
            each.send(f"GET {target} HTTP/1.1\r\nhost: localhost\r\n\r\n".encode() * 20)
            time.sleep(0.1)
        assert scene.call("GET", target).status == 200
        unsent = [each.transport.get_write_buffer_size() for each in scene.connections()]
        assert 0 < sum(unsent) < 8 << 20
        assert len(unsent) < 8


def test_caller_that_takes_nothing_for_long_is_closed() -> None:
    """It holds its place and its answers no longer than that."""
    with ServedScene(limits=Limits(send_seconds=1)) as scene, callers(scene, 1) as (caller,):
        flood([caller], (PLAIN % query(scene)) * 500, 0.3)
        assert len(list(scene.connections())) == 1
        until_none_is_open(scene)


def test_bodies_that_do_not_end_are_bounded_together() -> None:
    """One more body is refused; look-ups are answered."""
    limits = Limits(received_bytes=1 << 20, body_seconds=5)
    head = b"POST /v1/lakestrap/tables/x/select HTTP/1.1\r\nhost: localhost\r\n"
    body = head + b"content-length: 900000\r\n\r\n" + b"x" * 800_000
    with ServedScene(limits=limits) as scene, callers(scene, 3) as found:
        for each in found:
            each.settimeout(5)
            each.sendall(body)
        time.sleep(0.3)
        assert scene.hudi("slices/partition/latest/", partition="p=1").status == 200
        assert sum(each._counted for each in scene.connections()) < 2 << 20  # noqa: SLF001
        assert any(b" 503 " in read_all(each) for each in found)


def until_none_is_open(scene: ServedScene) -> None:
    """Wait for all connections to be closed, for some seconds at most."""
    until = time.monotonic() + 5
    while time.monotonic() < until and any(scene.connections()):
        time.sleep(0.02)
    assert not any(scene.connections())


def read_all(caller: socket.socket) -> bytes:
    """Return what was sent to a caller so far."""
    caller.setblocking(False)
    found = b""
    try:
        while part := caller.recv(1 << 20):
            found += part
    except OSError:
        pass
    return found


def test_client_of_ours_that_was_refused_can_ask_again() -> None:
    """The service ended the connection; the next call opens another."""
    with ServedScene(auth=ServiceAuth.TOKEN) as scene:
        connection = ServiceConnection(scene.server.host, scene.server.port)
        target = f"/v1/lakestrap/tables/{scene.table.id}/partitions"
        shown = {"authorization": f"Bearer {scene.access.token}"}
        said = [connection.post(target, b"{}", each, 5).status for each in ({}, shown, {}, shown)]
        connection.close()
    assert said == [401, 200, 401, 200]
