"""A standalone Spark on loopback whose workers share no disk with the driver.

Each worker has a mount namespace of its own: what tests and this checkout keep on disk is hidden
there, and so are all installed packages. What is left is a bare Python, Java, and Spark itself.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import sysconfig
import tempfile
import time
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from importlib.metadata import distribution, requires
from pathlib import Path
from socket import socket
from typing import Final
from zipfile import ZipFile

import pyspark

from tests.support.processes import stop

__all__ = ["BARE_PYTHON", "StandaloneSpark", "missing_right", "packages_zip", "running_spark"]

BARE_PYTHON: Final = f"{sys.base_prefix}/bin/python{sys.version_info[0]}.{sys.version_info[1]}"
"""The Python of this environment; in a worker it has no package."""

_ROOT: Final = Path(__file__).parents[2]
_SPARK: Final = Path(pyspark.__file__).resolve().parent
_SCALA: Final = next(_SPARK.glob("jars/spark-core_*")).name.split("_")[1].split("-")[0]
_INSIDE: Final = "/mnt/lakestrap"
_JVM: Final = ("-Xmx256m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC")
_NO_REST: Final = "-Dspark.master.rest.enabled=false"
_START_S: Final = 240.0
_NAMESPACE: Final = f"""
set -e
mount -t tmpfs tmpfs /mnt
mkdir -p {_INSIDE}/spark {_INSIDE}/work
mount --bind "$1" {_INSIDE}/spark
shift
while [ "$1" != -- ]; do mount -t tmpfs tmpfs "$1"; shift; done
shift
cd {_INSIDE}
exec "$@"
"""
"""Mounts Spark (`$1`), hides the folders up to `--`, and runs the rest."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StandaloneSpark:
    """A running cluster.

    Attributes:
        url: of its master.
        workers: the processes of its workers.
    """

    url: str
    workers: tuple[subprocess.Popen[bytes], ...]


def missing_right() -> str | None:
    """Return what a cluster of such workers needs and is missing here, or None."""
    command = ["unshare", "-m", "mount", "-t", "tmpfs", "tmpfs", "/mnt"]
    try:
        done = subprocess.run(command, capture_output=True, check=False)
    except FileNotFoundError:
        return "`unshare` (util-linux)"
    return None if done.returncode == 0 else "the right to mount (root)"


def packages_zip(names: Iterable[str], target: Path) -> Path:
    """Write installed distributions, with all they require, as `pip install --target` lays out."""
    with ZipFile(target, "w") as out:
        for name in sorted(_required(names)):
            for file in distribution(name).files or ():
                path, parts = Path(str(file.locate())), file.parts
                if ".." not in parts and not _UNUSED & set(parts) and path.is_file():
                    out.write(path, str(file))
    return target


_UNUSED: Final = frozenset({"tests", "include", "__pycache__"})
_NAME: Final = re.compile(r"[A-Za-z0-9._-]+")


def _required(names: Iterable[str]) -> set[str]:
    """Return distributions and all that they require, without extras."""
    found: set[str] = set()
    rest = list(names)
    while rest:
        name = rest.pop()
        if name not in found:
            found.add(name)
            wanted = (each for each in requires(name) or () if ";" not in each)
            rest += [match[0] for each in wanted if (match := _NAME.match(each))]
    return found


@contextmanager
def running_spark(folder: Path, *, workers: int = 2) -> Iterator[StandaloneSpark]:
    """Run a master and workers of one core and 1 GiB; their logs are in `folder`."""
    with ExitStack() as stack:
        port = _free_port()
        address = ("--host", "127.0.0.1", "--port", str(port), "--webui-port", "0")
        master = [
            "java",
            *_JVM,
            _NO_REST,
            "-cp",
            f"{_SPARK}/jars/*",
            f"{_DEPLOY}.master.Master",
            *address,
        ]
        log = folder / "master.log"
        stack.enter_context(_running(master, log))
        _await(log, "I have been elected leader", 1)
        url = f"spark://127.0.0.1:{port}"
        started = [
            stack.enter_context(_running(_worker(url), folder / f"worker-{each}.log"))
            for each in range(workers)
        ]
        _await(log, "Registering worker", workers)
        yield StandaloneSpark(url=url, workers=tuple(started))


_DEPLOY: Final = "org.apache.spark.deploy"


def _worker(url: str) -> list[str]:
    """Return the command of a worker in a namespace of its own."""
    packages = sysconfig.get_path("purelib", vars={"base": sys.base_prefix})
    hidden = (str(_ROOT), str(_SPARK.parent), packages, tempfile.gettempdir())
    size = ("--host", "127.0.0.1", "--cores", "1", "--memory", "1g", "--webui-port", "0")
    jvm = ["java", *_JVM, "-cp", f"{_INSIDE}/spark/jars/*", f"{_DEPLOY}.worker.Worker"]
    inside = ["unshare", "-m", "sh", "-c", _NAMESPACE, "sh", str(_SPARK), *hidden, "--"]
    return [*inside, *jvm, *size, "-d", f"{_INSIDE}/work", url]


@contextmanager
def _running(command: list[str], log: Path) -> Iterator[subprocess.Popen[bytes]]:
    """Run a daemon of Spark for the time of the context."""
    hidden = ("PYTHONPATH", "PYSPARK_PYTHON", "TMPDIR", "SPARK_SUBMIT_OPTS")
    environment = {name: value for name, value in os.environ.items() if name not in hidden}
    environment |= {
        "SPARK_HOME": f"{_INSIDE}/spark",
        "SPARK_LOCAL_IP": "127.0.0.1",
        "SPARK_SCALA_VERSION": _SCALA,
    }
    if tempfile.gettempdir() != "/tmp":  # noqa: S108 - the folder that is hidden in workers
        environment["TMPDIR"] = tempfile.gettempdir()
    with log.open("wb") as out:
        process = subprocess.Popen(command, env=environment, stdout=out, stderr=out, cwd="/")
    try:
        yield process
    finally:
        stop(process, patience_s=20)


def _await(log: Path, text: str, times: int) -> None:
    """Return once a log has a text so often."""
    end = time.monotonic() + _START_S
    while log.read_text().count(text) < times:
        if time.monotonic() > end:
            raise RuntimeError(f"Spark did not start:\n{log.read_text()[-2000:]}")
        time.sleep(0.2)


def _free_port() -> int:
    with socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
