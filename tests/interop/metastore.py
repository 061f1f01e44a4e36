"""A metastore for tests, started by `metastore_process` and ended by its id."""

from __future__ import annotations

import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.interop.judge import JUDGE_ENVIRONMENT, ROOT

__all__ = ["metastore", "metastore_conf"]


def metastore_conf(uri: str) -> dict[str, str]:
    """Return the settings of a session whose catalog is a metastore."""
    return {"spark.sql.catalogImplementation": "hive", "spark.hadoop.hive.metastore.uris": uri}


@contextmanager
def metastore(folder: Path) -> Iterator[str]:
    """Yield the address of an empty metastore; skips the test where none can be started."""
    jars = next(JUDGE_ENVIRONMENT.glob("lib/python3*/site-packages/pyspark/jars"), None)
    if jars is None:
        pytest.fail(f"no judge's environment at {JUDGE_ENVIRONMENT}: run `make interop`")
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "tests.interop.metastore_process"]
    with subprocess.Popen(
        [*command, str(port), str(folder), str(jars)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=ROOT,
        text=True,
    ) as process:
        assert process.stdout is not None
        try:
            if process.stdout.readline() != "ready\n":
                assert process.stderr is not None
                said = process.stderr.read().strip().splitlines()[-1:]
                pytest.skip(f"no metastore in a network namespace (Linux and root): {said}")
            yield f"thrift://127.0.0.1:{port}"
        finally:
            process.terminate()
