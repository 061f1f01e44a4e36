"""Heads of requests: read in one way, within limits, and refused where they have two meanings."""

from __future__ import annotations

from contextlib import suppress

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from framework.timeline_service.access import Limits
from framework.timeline_service.heads import HeadReader
from framework.timeline_service.messages import RequestRefusedError

READER = HeadReader(Limits(headers=8, header_line_bytes=100))
GOOD = b"GET /v1/hoodie/view/slices/all?a=b HTTP/1.1\r\nHost: localhost:80\r\nX-A: b c"
REFUSED = {
    b"": 400,
    b"GET": 400,
    b"GET /": 400,
    b"GET / HTTP/1.1\nHost: localhost": 400,
    b"get / HTTP/1.1\r\nHost: localhost": 400,
    b"GET  / HTTP/1.1\r\nHost: localhost": 400,
    b"GET / HTTP/1.1 \r\nHost: localhost": 400,
    b" GET / HTTP/1.1\r\nHost: localhost": 400,
    b"GET /\t HTTP/1.1\r\nHost: localhost": 400,
    b"GET /\0 HTTP/1.1\r\nHost: localhost": 400,
    b"GET /\xff HTTP/1.1\r\nHost: localhost": 400,
    b"GET /#a HTTP/1.1\r\nHost: localhost": 400,
    b"GET /a b HTTP/1.1\r\nHost: localhost": 400,
    b"GET a HTTP/1.1\r\nHost: localhost": 400,
    b"OPTIONS * HTTP/1.1\r\nHost: localhost": 400,
    b"GET https://localhost/ HTTP/1.1\r\nHost: localhost": 400,
    b"GET file:///etc/passwd HTTP/1.1\r\nHost: localhost": 400,
    b"GET http://evil.com/ HTTP/1.1\r\nHost: localhost": 421,
    b"GET http://localhost@evil.com/ HTTP/1.1\r\nHost: localhost": 421,
    b"GET http://localhost:81/ HTTP/1.1\r\nHost: localhost:80": 421,
    b"GET http:///x HTTP/1.1\r\nHost: localhost": 421,
    b"CONNECT localhost:80 HTTP/1.1\r\nHost: localhost": 501,
    b"TRACE / HTTP/1.1\r\nHost: localhost": 501,
    b"GET / HTTP/2.0\r\nHost: localhost": 505,
    b"PRI * HTTP/2.0": 505,
    b"GET / HTTP/0.9": 505,
    b"GET / HTTP/1.1": 400,
    b"GET / HTTP/1.1\r\nHost:": 400,
    b"GET / HTTP/1.1\r\nHost: a, b": 400,
    b"GET / HTTP/1.1\r\nHost: [::1].evil.com": 400,
    b"GET / HTTP/1.1\r\nHost: localhost:99999": 400,
    b"GET / HTTP/1.1\r\nHost: localhost\r\nHost: localhost": 400,
    b"GET / HTTP/1.1\r\nHost: localhost\r\nhOST: evil.com": 400,
    b"GET / HTTP/1.1\r\nHost: localhost\r\n folded": 400,
    b"GET / HTTP/1.1\r\nHost: localhost\r\n\tfolded: x": 400,
    b"GET / HTTP/1.1\r\n Host: localhost": 400,
    b"GET / HTTP/1.1\r\nHost : localhost": 400,
    b"GET / HTTP/1.1\r\nHost localhost": 400,
    b"GET / HTTP/1.1\r\n: localhost": 400,
    b"GET / HTTP/1.1\r\nHost: localhost\r\nX-A: b\nContent-Length: 5": 400,
    b"GET / HTTP/1.1\r\nHost: localhost\r\nX-A: b\rContent-Length: 5": 400,
    b"GET / HTTP/1.1\r\nHost: localhost\r\nX-A: b\0": 400,
    b"GET / HTTP/1.1\r\nHost: localhost\r\nX\xc4: b": 400,
    b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1\r\nContent-Length: 1": 400,
    b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1, 1": 400,
    b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: -1": 400,
    b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: +1": 400,
    b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0x1": 400,
    b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1_0": 400,
    b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: \xb2": 400,
    b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length:": 400,
    b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: " + b"9" * 40: 400,
    b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1\r\nTransfer-Encoding: chunked": 400,
    b"POST / HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked": 411,
    b"POST / HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: xchunked": 411,
    b"GET / HTTP/1.1\r\nHost: localhost\r\nAuthorization: a\r\nAuthorization: b": 400,
    b"POST / HTTP/1.1\r\nHost: localhost\r\nExpect: 200-ok": 417,
    b"GET / HTTP/1.1\r\nHost: localhost\r\nX: " + b"y" * 100: 431,
    b"GET / HTTP/1.1\r\nHost: localhost" + b"\r\nX: y" * 8: 431,
}
"""By status. A head goes without the empty line at its end."""
_PIECES = st.sampled_from(
    [
        *(b" ", b"\t", b"\r\n", b"\n", b"\r", b"\0", b":", b",", b"/", b"//", b"?", b"#", b"%00"),
        *(b"GET", b"POST", b"HTTP/1.1", b"HTTP/1.0", b"http://localhost", b"http://evil.com"),
        *(b"Host: localhost", b"Host: evil.com", b"Content-Length: 5", b"Content-Length"),
        *(b"Transfer-Encoding: chunked", b"Connection: close", b"Upgrade: h2c", b"[::1]"),
    ]
)


@pytest.mark.parametrize(("data", "status"), REFUSED.items())
def test_head_that_is_none_or_two_is_refused(data: bytes, status: int) -> None:
    """With the status that RFC 9110 has for it."""
    with pytest.raises(RequestRefusedError) as caught:
        READER.read(data)
    assert caught.value.status == status


def test_head_is_read_as_it_was_sent() -> None:
    """Names in lower case, values without the space around them."""
    head = READER.read(GOOD)
    request = head.request()
    assert (request.method, request.path, request.query) == (
        "GET",
        "/v1/hoodie/view/slices/all",
        "a=b",
    )
    assert head.headers == {b"host": b"localhost:80", b"x-a": b"b c"}
    assert (head.length, head.ends, head.expects, head.is_plain) == (0, False, False, True)


def test_absolute_target_of_the_host_that_is_asked_is_a_path() -> None:
    """As RFC 9112 wants it, section 3.2.2."""
    for target, path in ((b"http://LocalHost:80/a?b", "/a?b"), (b"HTTP://localhost:80", "/")):
        head = READER.read(b"GET " + target + b" HTTP/1.1\r\nHost: localhost:80")
        assert head.target == path


def test_head_that_says_how_to_talk_is_not_plain() -> None:
    """It goes the long way, without the headers that are of the connection."""
    said = b"GET / HTTP/1.1\r\nHost: a\r\n"
    for more in (b"Connection: Upgrade, close", b"Content-Length: 5"):
        assert not READER.read(said + more).is_plain
    assert not READER.read(b"GET / HTTP/1.0\r\nHost: a\r\nConnection: keep-alive").is_plain
    head = READER.read(said + b"Connection: Upgrade\r\nUpgrade: h2c\r\nExpect: 100-continue")
    assert head.expects
    assert head.as_sent() == b"GET / HTTP/1.1\r\nhost: a\r\n\r\n"


@pytest.mark.property
@settings(max_examples=300, deadline=None)
@given(
    st.lists(_PIECES | st.binary(max_size=8), max_size=12).map(b"".join)
    | st.tuples(st.integers(0, len(GOOD)), _PIECES | st.binary(max_size=4)).map(
        lambda put: GOOD[: put[0]] + put[1] + GOOD[put[0] :]
    )
)
def test_any_bytes_are_one_head_or_are_refused(data: bytes) -> None:
    """What is read is read again as the same from its plainest form, and has one host."""
    head = None
    with suppress(RequestRefusedError):
        head = READER.read(data)
    if head is None:
        return
    assert head.target.startswith("/")
    plain = head.as_sent().removesuffix(b"\r\n\r\n")
    again = READER.read(plain)
    assert (again.method, again.target, again.length) == (head.method, head.target, head.length)
    assert plain.lower().count(b"\r\nhost:") == 1
    assert not {0, 10, 13} & set(plain.replace(b"\r\n", b""))
