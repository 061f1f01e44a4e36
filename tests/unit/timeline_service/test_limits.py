"""What one caller may cost: slow, half-open, huge and too many connections; others are served."""

from __future__ import annotations

import socket
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from framework.timeline_service.access import Limits
from tests.support.served import ServedScene

pytestmark = pytest.mark.long

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
    """However long the client continues; others are answered meanwhile."""
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


def test_body_that_does_not_arrive_times_out_with_a_response(
    scene: ServedScene, caller: socket.socket
) -> None:
    """With 408."""
    caller.sendall(
        b"POST " + TARGET + b" HTTP/1.1\r\nhost: localhost\r\ncontent-length: 9\r\n\r\n{"
    )
    assert until_closed(caller).startswith(b"HTTP/1.1 408")
    served(scene)


def test_body_that_is_too_long_is_refused(scene: ServedScene) -> None:
    """By its length, before it comes; one without a length is not read at all."""
    assert scene.call("POST", TARGET.decode(), b"x" * 10_001).status == 413
    chunked = {"transfer-encoding": "chunked"}
    data = b"2711\r\n" + b"x" * 10_001 + b"\r\n0\r\n\r\n"
    assert scene.call("POST", TARGET.decode(), data, chunked).status == 411
    served(scene)


def test_length_that_is_no_number_is_refused(scene: ServedScene, caller: socket.socket) -> None:
    """No other request is affected."""
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


@pytest.mark.parametrize("path", ["/health", "/v1/hoodie/view/slices/all", "/v1/hoodie/marker/all"])
@pytest.mark.parametrize(
    "more",
    [b"x: y\r\n" * 64, b"x: " + b"y" * 8_192 + b"\r\n", (b"x: " + b"y" * 1_000 + b"\r\n") * 5],
    ids=["many", "long", "long together"],
)
def test_headers_have_the_same_limits_on_every_way(
    scene: ServedScene, caller: socket.socket, path: str, more: bytes
) -> None:
    """A look-up by the short way is not the only one that has them."""
    caller.sendall(b"GET %b HTTP/1.1\r\nhost: localhost\r\n%b\r\n" % (path.encode(), more))
    assert until_closed(caller).startswith(b"HTTP/1.1 431")
    served(scene)


@pytest.mark.parametrize(
    "data",
    [
        b"GET /health HTTP/1.1\r\nhost: localhost\r\nhost: evil.com\r\n\r\n",
        b"GET /health HTTP/1.1\r\nhost: [::1].evil.com\r\n\r\n",
        b"GET http://evil.com/health HTTP/1.1\r\nhost: localhost\r\n\r\n",
        b"GET /health HTTP/1.1\r\nhost: localhost\r\nx: y\r\n folded\r\n\r\n",
        (
            b"POST /health HTTP/1.1\r\nhost: localhost\r\ncontent-length: 5\r\n"
            b"transfer-encoding: chunked\r\n\r\n0\r\n\r\n"
        ),
        (
            b"POST /health HTTP/1.1\r\nhost: localhost\r\ncontent-length: 5\r\n"
            b"content-length: 6\r\n\r\nabcdef"
        ),
        (
            b"POST /health HTTP/1.1\r\nhost: localhost\r\ntransfer-encoding: chunked\r\n\r\n"
            b"ffffffffffffffff\r\n"
        ),
    ],
)
def test_request_with_two_meanings_is_refused_and_what_follows_is_not_read(
    scene: ServedScene, caller: socket.socket, data: bytes
) -> None:
    """A request hidden in another's body is never answered."""
    caller.sendall(data + b"GET /health HTTP/1.1\r\nhost: localhost\r\n\r\n")
    response = until_closed(caller)
    assert response.startswith(b"HTTP/1.1 4")
    assert response.count(b"HTTP/1.1") == 1
    served(scene)


def test_body_that_is_waited_for_is_asked_for(scene: ServedScene, caller: socket.socket) -> None:
    """By `100 Continue`, once, where its sender expects that."""
    target = f"/v1/lakestrap/tables/{scene.table.id}/partitions".encode()
    head = b"POST " + target + b" HTTP/1.1\r\nhost: localhost\r\ncontent-length: 2\r\n"
    caller.sendall(head + b"expect: 100-continue\r\nconnection: close\r\n\r\n")
    assert caller.recv(65_536) == b"HTTP/1.1 100 Continue\r\n\r\n"
    caller.sendall(b"{}")
    response = until_closed(caller)
    assert response.startswith(b"HTTP/1.1 200")
    assert response.endswith(b'["p=1","p=2"]')


def test_offer_of_another_protocol_is_passed_over(caller: socket.socket) -> None:
    """The next request of the connection is answered, too."""
    data = b"GET /health HTTP/1.1\r\nhost: localhost\r\nconnection: upgrade\r\nupgrade: h2c\r\n\r\n"
    caller.sendall(data * 2)
    found = b""
    while found.count(b'"status":"ok"') < 2:
        part = caller.recv(65_536)
        assert part
        found += part


_PIECES = st.sampled_from(
    [
        *(b" ", b"\r\n", b"\n", b"\0", b":", b"//", b"?", b"%00", b"%ff", b"%d8%00", b"[", b"\xff"),
        *(b"GET ", b"HEAD ", b"POST ", b"OPTIONS ", b"HTTP/1.0", b"Content-Length: 3\r\n"),
        *(
            b"/health",
            b"/metrics",
            b"/page/",
            b"/v1/hoodie/view/slices/all",
            b"/v1/hoodie/marker/all",
        ),
        *(
            b"/v1/lakestrap/page/tables?offset=",
            b"9" * 30,
            b"Upgrade: x\r\n",
            b"Host: localhost\r\n",
        ),
    ]
)
_REQUEST = b"GET /v1/hoodie/view/slices/all?basepath=/x&partition=p HTTP/1.1\r\nHost: localhost\r\n"
_SENT = st.lists(st.tuples(st.integers(0, len(_REQUEST) - 1), _PIECES), max_size=4)
"""Not behind the last line, where a piece would become part of the name of `connection: close`."""


@pytest.mark.property
@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(puts=_SENT)
def test_any_bytes_are_answered_or_refused_and_harm_no_caller(
    scene: ServedScene, caplog: pytest.LogCaptureFixture, puts: list[tuple[int, bytes]]
) -> None:
    """No answer says that the service failed, and nothing is logged."""
    data = _REQUEST
    for place, piece in puts:
        data = data[:place] + piece + data[place:]
    with socket.create_connection((scene.server.host, scene.server.port), timeout=10) as caller:
        caller.sendall(data + b"connection: close\r\n\r\n")
        response = until_closed(caller)
    assert response == b"" or response[9:12] != b"500"
    assert not caplog.records
    assert scene.call("GET", "/health").status == 200


def test_connection_beyond_the_limit_takes_the_place_of_the_one_that_said_nothing_longest(
    scene: ServedScene,
) -> None:
    """So a client with many silent connections blocks no other."""
    with some_callers(scene) as callers:
        asked(callers[0])
        served(scene)
        assert until_closed(callers[1]) == b""
        for each in (callers[0], *callers[4:]):
            asked(each)


def test_connection_beyond_the_limit_is_closed_where_all_have_asked(scene: ServedScene) -> None:
    """A place becomes free when one of them ends."""
    with some_callers(scene) as callers:
        for each in callers:
            asked(each)
        address = (scene.server.host, scene.server.port)
        with socket.create_connection(address, timeout=10) as one_more:
            assert until_closed(one_more) == b""
        for each in callers:
            asked(each)
    time.sleep(0.1)
    served(scene)


@contextmanager
def some_callers(scene: ServedScene) -> Iterator[list[socket.socket]]:
    """As many connections as there may be."""
    address = (scene.server.host, scene.server.port)
    with ExitStack() as stack:
        found = []
        for _ in range(QUICK.connections):
            found.append(stack.enter_context(socket.create_connection(address, timeout=10)))
            time.sleep(0.01)
        time.sleep(0.05)
        yield found


def asked(caller: socket.socket) -> None:
    """It is answered."""
    caller.sendall(b"GET /health HTTP/1.1\r\nhost: localhost\r\n\r\n")
    response = b""
    while b"}" not in response:
        part = caller.recv(65_536)
        assert part
        response += part


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
def test_odd_request_is_refused_and_harms_no_other(
    data: bytes, scene: ServedScene, caller: socket.socket
) -> None:
    """None of them is answered with a table."""
    caller.sendall(data)
    response = caller.recv(65_536)
    assert response == b"" or response.startswith((b"HTTP/1.1 4", b"HTTP/1.0 4"))
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
