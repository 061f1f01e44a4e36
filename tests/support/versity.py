"""A server of S3 that keeps its objects on a disk, and that survives being killed: versitygw."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.support.s3_server import ACCESS_KEY, SECRET_KEY, S3Server, free_port
from tests.support.tool_cache import cached

__all__ = ["Versity", "missing_go", "running_versity"]

_PROGRAM = "github.com/versity/versitygw/cmd/versitygw@v1.8.0"
_ELSEWHERE = ("/usr/local/go/bin/go", "/usr/lib/go/bin/go")
_START_S = 60.0


@dataclass(slots=True, kw_only=True)
class Versity:
    """A server that can be killed and started again over the same folder.

    Attributes:
        server: how to reach it; its port stays the same.
        folder: where its objects are.
        kills: how often it was killed.
    """

    server: S3Server
    folder: Path
    kills: int = 0
    _process: subprocess.Popen[bytes] = field(init=False)

    def __post_init__(self) -> None:
        self.start()

    def start(self) -> None:
        """Start over what is in the folder; return once it listens."""
        data = self.folder / "data"
        data.mkdir(exist_ok=True)
        with (self.folder / "log").open("ab") as log:
            self._process = subprocess.Popen(
                [
                    *(str(_program()), "--port", f"127.0.0.1:{self.server.port}", "--quiet"),
                    *("posix", str(data)),
                ],
                stdout=log,
                stderr=subprocess.STDOUT,
                env={**os.environ, "ROOT_ACCESS_KEY": ACCESS_KEY, "ROOT_SECRET_KEY": SECRET_KEY},
            )
        self._await()

    def kill(self) -> None:
        """Kill the server in whatever it does."""
        self._process.kill()
        assert self._process.wait() == -signal.SIGKILL
        self.kills += 1

    def files(self, location: str) -> set[str]:
        """Return the files below `s3a://bucket/folder`, relative to it, as they are on the disk.

        Also while the server is dead.
        """
        folder = self.folder / "data" / location.removeprefix("s3a://")
        return {str(p.relative_to(folder)) for p in folder.rglob("*") if p.is_file()}

    def stop(self) -> None:
        """End the server."""
        self._process.terminate()
        self._process.wait(10)

    def _await(self) -> None:
        end = time.monotonic() + _START_S
        while time.monotonic() < end and self._process.poll() is None:
            try:
                socket.create_connection(("127.0.0.1", self.server.port), timeout=5).close()
            except OSError:
                time.sleep(0.02)
            else:
                return
        raise RuntimeError(f"versitygw did not start:\n{(self.folder / 'log').read_text()[-2000:]}")


def missing_go() -> str | None:
    """Return why the server cannot be had here, or None."""
    return None if _go() else "a server of S3 on a disk needs go, which is not installed"


@contextmanager
def running_versity() -> Iterator[Versity]:
    """Run a server over an empty folder for the time of the context."""
    with TemporaryDirectory() as folder:
        found = Versity(server=S3Server(port=free_port()), folder=Path(folder))
        try:
            yield found
        finally:
            found.stop()


def _go() -> str | None:
    """Return Go's command."""
    return shutil.which("go") or next((each for each in _ELSEWHERE if Path(each).exists()), None)


def _program() -> Path:
    """Return the server's program; it is built once, which takes minutes."""
    return cached("versitygw", _PROGRAM, _build) / "versitygw"


def _build(folder: Path) -> None:
    """Have Go build the program into the folder."""
    subprocess.run(
        [str(_go()), "install", _PROGRAM],
        check=True,
        stdin=subprocess.DEVNULL,
        stdout=sys.stderr,
        env={**os.environ, "CGO_ENABLED": "0", "GOBIN": str(folder)},
    )
