"""A server of S3 in a process of its own, on a free port of the loopback."""

from __future__ import annotations

import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from socket import socket
from typing import Any
from uuid import uuid4

import boto3

from framework.hudi.storage.store_settings import STORAGE_VARIABLE, StoreSettings, settings_text

__all__ = ["ACCESS_KEY", "SECRET_KEY", "S3Server", "free_port", "running_s3"]

ACCESS_KEY = "test"
SECRET_KEY = "testtest"  # noqa: S105 - accepted by servers of tests only

_START_S = 60.0


@dataclass(frozen=True, slots=True, kw_only=True)
class S3Server:
    """A running server.

    Attributes:
        port: on 127.0.0.1.
        settings: those that reach it.
    """

    port: int
    settings: StoreSettings = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(
            self,
            "settings",
            StoreSettings(
                endpoint=self.endpoint,
                region="us-east-1",
                path_style=True,
                allow_http=True,
                access_key_id=ACCESS_KEY,
                secret_access_key=SECRET_KEY,
                max_retries=2,
            ),
        )

    @property
    def endpoint(self) -> str:
        """The server's URL."""
        return f"http://127.0.0.1:{self.port}"

    @property
    def environment(self) -> Mapping[str, str]:
        """The variable that makes a process use this server for `s3://`."""
        return {STORAGE_VARIABLE: settings_text({"s3": self.settings})}

    def new_bucket(self) -> str:
        """Create an empty bucket and return its name."""
        name = f"b{uuid4().hex}"
        self.client().create_bucket(Bucket=name)
        return name

    def client(self) -> Any:
        """Return a client that shares no code with the storage under test."""
        return boto3.client(
            "s3",
            endpoint_url=self.endpoint,
            region_name="us-east-1",
            aws_access_key_id=ACCESS_KEY,
            aws_secret_access_key=SECRET_KEY,
        )

    def put(self, bucket: str, key: str, data: bytes = b"") -> None:
        """Write an object, replacing any."""
        self.client().put_object(Bucket=bucket, Key=key, Body=data)

    def keys(self, bucket: str) -> list[str]:
        """Return all keys of a bucket."""
        found = self.client().list_objects_v2(Bucket=bucket)
        return [each["Key"] for each in found.get("Contents", ())]


@contextmanager
def running_s3() -> Iterator[S3Server]:
    """Run moto's server for the time of the context."""
    port = free_port()
    command = [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        _await(port, process)
        yield S3Server(port=port)
    finally:
        process.terminate()
        process.wait(10)


def free_port() -> int:
    """Return a port of the loopback that is free now."""
    with socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def _await(port: int, process: subprocess.Popen[bytes]) -> None:
    """Return once the server answers."""
    end = time.monotonic() + _START_S
    while time.monotonic() < end and process.poll() is None:
        try:
            urllib.request.urlopen(f"http://127.0.0.1:{port}/moto-api/", timeout=5).close()
        except urllib.error.HTTPError:
            return
        except OSError:
            time.sleep(0.1)
        else:
            return
    message = "moto's server did not start"
    raise RuntimeError(message)
