"""Access control: hosts that are this machine, spelled as in RFC 9110, and the token."""

from __future__ import annotations

import pytest

from framework.timeline_service.access import Access
from framework.timeline_service.messages import RequestRefusedError
from framework.vocabulary import ServiceAuth

OWN = frozenset({"driver.local", "10.0.0.7", "[fd00::7]", "fd00::8"})
GOOD = (
    "localhost",
    "LocalHost:80",
    "127.0.0.1",
    "127.8.9.1:26754",
    "[::1]",
    "[::1]:65535",
    "driver.local:1",
    "Driver.Local",
    "10.0.0.7",
    "[fd00::7]:26754",
    "[FD00::7]",
    "[fd00::8]:1",
)
BAD = (
    "",
    " localhost",
    "[::1].evil.com",
    "[::1]evil.com:80",
    "[::1]:80.evil.com",
    "[::1",
    "::1",
    "[::1%25lo]",
    "[localhost]",
    "evil.com",
    "localhost.evil.com",
    "localhost:80:90",
    "localhost:",
    "localhost:x",
    "localhost:65536",
    "localhost:999999",
    "localhost,evil.com",
    "localhost evil.com",
    "localhost/evil.com",
    "evil.com@localhost",
    "localhost@evil.com",
    "localhost#",
    "127.0.0.1.evil.com",
    "127.0.0.1\0",
    "2130706433",
    "0x7f.1",
    "localhost\n",
    "\u00b9\u00b2\u2077",
)


@pytest.mark.parametrize("host", GOOD)
def test_host_of_this_machine_is_let_in(host: str) -> None:
    """By name or address, with or without a port, in any case of letters."""
    Access(auth=ServiceAuth.LOOPBACK, hosts=OWN).check({b"host": host.encode()})


@pytest.mark.parametrize("host", BAD)
def test_host_that_is_not_this_machine_alone_is_refused(host: str) -> None:
    """The whole header is compared, so nothing may precede or follow the name."""
    access = Access(auth=ServiceAuth.LOOPBACK, hosts=OWN)
    with pytest.raises(RequestRefusedError) as caught:
        access.check({b"host": host.encode()})
    assert caught.value.status == 421


def test_call_without_the_token_is_refused() -> None:
    """Whatever it shows instead."""
    access = Access(hosts=OWN)
    good = {b"host": b"localhost", b"authorization": f"Bearer {access.token}".encode()}
    access.check(good)
    for shown in (b"", b"Bearer ", b"Bearer \xff", good[b"authorization"] + b"x", b"Basic eDp5"):
        with pytest.raises(RequestRefusedError) as caught:
            access.check({**good, b"authorization": shown})
        assert caught.value.status == 401
