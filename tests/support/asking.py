"""One request to a server of this machine, over a connection of its own."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from http.client import HTTPConnection
from typing import Any

from framework.timeline_service.server import EmbeddedServer

__all__ = ["Response", "ask_server"]


@dataclass(frozen=True)
class Response:
    """What a server answered; names of headers in lower case."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def value(self) -> Any:
        """The body as JSON."""
        return json.loads(self.body)


def ask_server(
    server: EmbeddedServer,
    method: str,
    target: str,
    body: bytes | None = None,
    headers: Mapping[str, str] | None = None,
) -> Response:
    """Return what a server answers; waits for it twenty seconds at most."""
    connection = HTTPConnection(server.host, server.port, timeout=20)
    try:
        connection.request(method, target, body, dict(headers or {}))
        response = connection.getresponse()
        said = {name.lower(): value for name, value in response.getheaders()}
        return Response(response.status, said, response.read())
    finally:
        connection.close()
