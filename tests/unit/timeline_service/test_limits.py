"""What one caller may cost: slow, half-open, huge and too many connections; others are served."""

from __future__ import annotations

import socket
import time
from typing import TYPE_CHECKING

import pytest

from framework.timeline_service.access import Limits
from tests.support.served import ServedScene

if TYPE_CHECKING:
    from collections.abc import Iterator

QUICK = Limits(
    header_bytes=4_096,
    body_bytes=10_000,
    header_seconds=0.6,
    body_seconds=0.6,
    connections=8,
)
TARGET = b"/v1/lakestrap/tables/x/select"


@pytest.fixture
def scene() -> Iterator[ServedScene]:
    """A service with little patience."""
    with ServedScene(limits=QUICK) as found:
        yield found


@pytest.fixture
def caller(scene: ServedScene) -> Iterator[socket.socket]:
    """A connection to it."""
    with socket.create_connection((scene.server.host, scene.server.port), timeout=10) as found:
        yield found


def served(scene: ServedScene) -> None:
    """Others are answered."""
    assert scene.call("GET", "/health").status == 200
    assert scene.hudi("slices/partition/latest/", partition="p=1").status == 200


def until_closed(caller: socket.socket) -> bytes:
    """Return what comes until the server closes the connection."""
    found = b""
    try:
        while part := caller.recv(65_536):
            found += part
    except ConnectionResetError:
        pass
    return found


def drip(caller: socket.socket, data: bytes) -> None:
    """Send a byte at a time."""
    for byte in data:
        caller.sendall(bytes([byte]))
        time.sleep(0.05)


def send_many_headers(caller: socket.socket) -> None:
    """Begin a request that has no end."""
    caller.sendall(b"GET /health HTTP/1.1\r\n")
    for number in range(100_000):
        caller.sendall(b"x-%d: %s\r\n" % (number, b"y" * 100))


def test_connection_that_says_nothing_is_closed(scene: ServedScene, caller: socket.socket) -> None:
    """A half-open caller holds no place for long."""
    begun = time.monotonic()
    assert until_closed(caller) == b""
    assert 0.3 < time.monotonic() - begun < 5
    served(scene)


def test_headers_that_come_a_byte_at_a_time_are_cut_off(
    scene: ServedScene, caller: socket.socket
) -> None:
    """However long the caller goes on; others are answered meanwhile."""
    begun = time.monotonic()
    with pytest.raises(OSError):  # noqa: PT011 - reset or broken pipe, as the system pleases
        drip(caller, b"GET /v1/hoodie/view/slices/all?partition=p HTTP/1.1\r\nhost: localhost" * 9)
    served(scene)
    assert time.monotonic() - begun < 5


def test_second_request_of_a_connection_has_its_time_too(
    scene: ServedScene, caller: socket.socket
) -> None:
    """A connection that was good once is not trusted for ever."""
    caller.sendall(b"GET /health HTTP/1.1\r\nhost: localhost\r\n\r\n")
    assert caller.recv(65_536).startswith(b"HTTP/1.1 200")
    time.sleep(1)
    caller.sendall(b"GET /health HTTP/1.1\r\nhost: localhost\r\n\r\n")
    assert caller.recv(65_536).startswith(b"HTTP/1.1 200")
    caller.sendall(b"GET /hea")
    assert until_closed(caller) == b""
    served(scene)


def test_body_that_does_not_come_is_told_and_given_up(
    scene: ServedScene, caller: socket.socket
) -> None:
    """With 408."""
    caller.sendall(
        b"POST " + TARGET + b" HTTP/1.1\r\nhost: localhost\r\ncontent-length: 9\r\n\r\n{"
    )
    assert until_closed(caller).startswith(b"HTTP/1.1 408")
    served(scene)


def test_body_that_is_too_long_is_refused(scene: ServedScene) -> None:
    """By its length, before it comes, and by what comes where no length is told."""
    assert scene.call("POST", TARGET.decode(), b"x" * 10_001).status == 413
    chunked = {"transfer-encoding": "chunked"}
    data = b"2711\r\n" + b"x" * 10_001 + b"\r\n0\r\n\r\n"
    assert scene.call("POST", TARGET.decode(), data, chunked).status == 413
    served(scene)


def test_length_that_is_no_number_is_refused(scene: ServedScene, caller: socket.socket) -> None:
    """It takes nobody down."""
    caller.sendall(b"POST " + TARGET + b" HTTP/1.1\r\nhost: a\r\ncontent-length: x\r\n\r\n")
    assert until_closed(caller).startswith(b"HTTP/1.1 4")
    served(scene)


def test_headers_that_are_too_long_end_the_connection(
    scene: ServedScene, caller: socket.socket
) -> None:
    """Whether one is long or there are many."""
    with pytest.raises(OSError):  # noqa: PT011 - reset or broken pipe
        send_many_headers(caller)
    served(scene)


def test_connections_beyond_the_limit_are_closed_and_others_go_on(scene: ServedScene) -> None:
    """A place becomes free when one of them ends."""
    address = (scene.server.host, scene.server.port)
    callers = [socket.create_connection(address, timeout=10) for _ in range(QUICK.connections)]
    try:
        time.sleep(0.1)
        with socket.create_connection(address, timeout=10) as one_more:
            assert until_closed(one_more) == b""
        callers[0].sendall(b"GET /health HTTP/1.1\r\nhost: localhost\r\n\r\n")
        assert callers[0].recv(65_536).startswith(b"HTTP/1.1 200")
    finally:
        for each in callers:
            each.close()
    time.sleep(0.1)
    served(scene)


@pytest.mark.parametrize(
    "data",
    [
        b"GET /v1/hoodie/view/slices/all HTTP/1.0\r\nhost: localhost\r\n\r\n",
        b"GET /v1/hoodie/view/slices/all HTTP/1.1\r\nhost: localhost\r\nhost: b\r\n\r\n",
        b"GET /v1/hoodie/view/slices/all HTTP/1.1\r\n host: localhost\r\n\r\n",
        b"GET /v1/hoodie/view/slices/all HTTP/1.1\r\nhost localhost\r\n\r\n",
        b"GET  /v1/hoodie/view/slices/all HTTP/1.1\r\nhost: localhost\r\n\r\n",
        b"GET /v1/hoodie/view/slices/all?p=\xff HTTP/1.1\r\nhost: localhost\r\n\r\n",
        b"GET /v1/hoodie/view/slices/all HTTP/1.1\r\nhost: a\r\nexpect: 100-continue\r\n\r\n",
        b"GET /v1/hoodie/view/ HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
    ],
)
def test_odd_request_is_refused_and_harms_nobody(
    data: bytes, scene: ServedScene, caller: socket.socket
) -> None:
    """None of them is answered with a table."""
    caller.sendall(data)
    told = caller.recv(65_536)
    assert told == b"" or told.startswith((b"HTTP/1.1 4", b"HTTP/1.0 4"))
    served(scene)


def test_requests_in_one_piece_are_all_answered(scene: ServedScene, caller: socket.socket) -> None:
    """Pipelined look-ups, of which the short way would see only the first."""
    claims = "&".join(f"{name}={value}" for name, value in scene.claims().items())
    target = f"/v1/hoodie/view/slices/partition/latest/?partition=p%3D1&{claims}".encode()
    one = b"GET " + target + b" HTTP/1.1\r\nhost: localhost\r\n\r\n"
    scene.hudi("slices/partition/latest/", partition="p=1")
    caller.sendall(one * 3)
    found = b""
    while found.count(b"HTTP/1.1 200") < 3:
        found += caller.recv(65_536)
    assert found.count(b"HTTP/1.1 200") == 3
