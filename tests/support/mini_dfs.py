"""An HDFS cluster on loopback for tests: Hadoop's MiniDFSCluster, from Maven Central."""

from __future__ import annotations

import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from tests.support.tool_cache import cached

__all__ = ["MiniDfs", "missing_tool", "start"]

_HADOOP = "3.4.2"
_JARS = (
    *(f"org.apache.hadoop:hadoop-client-{part}:{_HADOOP}" for part in ("api", "runtime")),
    f"org.apache.hadoop:hadoop-client-minicluster:{_HADOOP}",
    "commons-logging:commons-logging:1.2",
    "org.mockito:mockito-core:4.11.0",
    "org.slf4j:slf4j-api:1.7.36",
    "org.slf4j:slf4j-simple:1.7.36",
)
_PLUGIN = "org.apache.maven.plugins:maven-dependency-plugin:3.6.1:copy-dependencies"
_JVM = ("-Xmx384m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")
_QUIET = "-Dorg.slf4j.simpleLogger.defaultLogLevel=error"
_MAIN = Path(__file__).parents[1] / "lake" / "Mini.java"


@dataclass(frozen=True, slots=True)
class MiniDfs:
    """A running cluster.

    Attributes:
        url: of its root, without a slash at its end.
        process: of its JVM.
    """

    url: str
    process: subprocess.Popen[str]

    def stop(self) -> None:
        """End the cluster and wait for it."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        try:
            self.process.wait(60)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        assert self.process.stdout is not None
        self.process.stdout.close()


def missing_tool() -> str | None:
    """Return the tool that a cluster needs and that is not installed, or None."""
    return next((tool for tool in ("java", "mvn") if shutil.which(tool) is None), None)


def start(folder: Path) -> MiniDfs:
    """Start a cluster that keeps its files in `folder`; takes 10 s, the first time minutes."""
    command = ["java", *_JVM, _QUIET, "-cp", f"{_jars()}/*", str(_MAIN), str(folder / "data")]
    with (folder / "log").open("w") as log:
        process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, text=True
        )
    assert process.stdout is not None
    port = _ready(process.stdout)
    if port is None:
        process.kill()
        process.wait()
        raise RuntimeError(f"the cluster did not start:\n{(folder / 'log').read_text()[-2000:]}")
    return MiniDfs(f"hdfs://127.0.0.1:{port}", process)


def _ready(output: IO[str]) -> str | None:
    """Return the NameNode's port once it is active, None if the process has ended."""
    words = (line.split() for line in output)
    return next((each[1] for each in words if each[:1] == ["READY"]), None)


def _jars() -> Path:
    """Return the folder with the jars; they are fetched once."""
    return cached(f"minidfs-{_HADOOP}", _pom(), _fetch)


def _fetch(folder: Path) -> None:
    """Have Maven copy the jars into the folder."""
    pom = folder / "pom.xml"
    pom.write_text(_pom())
    command = ["mvn", "-q", "-B", "-f", str(pom), _PLUGIN, f"-DoutputDirectory={folder}"]
    subprocess.run(command, check=True, stdin=subprocess.DEVNULL, stdout=sys.stderr)


def _pom() -> str:
    """Return a project of Maven that depends on the jars."""
    parts = (jar.split(":") for jar in _JARS)
    each = (
        "<dependency><groupId>{}</groupId><artifactId>{}</artifactId><version>{}</version>"
        "<exclusions><exclusion><groupId>*</groupId><artifactId>*</artifactId></exclusion>"
        "</exclusions></dependency>"
    )
    wanted = "".join(each.format(*part) for part in parts)
    return (
        "<project><modelVersion>4.0.0</modelVersion><groupId>lakestrap</groupId>"
        f"<artifactId>minidfs</artifactId><version>1</version><dependencies>{wanted}</dependencies>"
        "</project>"
    )
