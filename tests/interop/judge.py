"""The test's side of the judge: starts the process of one Hudi release and asks it."""

from __future__ import annotations

import json
import os
import selectors
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

__all__ = ["KEEP_VERSION_6", "Judge", "JudgeError", "judge_jar"]

ROOT = Path(__file__).resolve().parents[2]
JUDGE_ENVIRONMENT = ROOT / ".venv-judge"

KEEP_VERSION_6: Mapping[str, str] = {
    "hoodie.write.table.version": "6",
    "hoodie.write.auto.upgrade": "false",
    "hoodie.metadata.enable": "false",
    "hoodie.embed.timeline.server": "false",
    "hoodie.upsert.shuffle.parallelism": "2",
    "hoodie.insert.shuffle.parallelism": "2",
    "hoodie.bulkinsert.shuffle.parallelism": "2",
    "hoodie.bloom.index.parallelism": "2",
    "hoodie.simple.index.parallelism": "2",
    "hoodie.global.simple.index.parallelism": "2",
}
"""Options under which a Hudi job leaves a table at version 6, and small jobs stay quick."""


class JudgeError(Exception):
    """Apache Hudi refused or failed; `kind` is the Python class, `text` says all it said."""

    def __init__(self, kind: str, text: str) -> None:
        super().__init__(f"{kind}: {text}")
        self.kind = kind
        self.text = text


def judge_jar(version: str) -> Path:
    """Return where `fetch_judge.py` puts the bundle of a release."""
    name = f"org.apache.hudi_hudi-spark3.5-bundle_2.12-{version}.jar"
    return JUDGE_ENVIRONMENT / "ivy" / "jars" / name


class Judge:
    """One Hudi release in its own process; used as a context manager.

    Args:
        version: of Apache Hudi.
        work_dir: for its log and its warehouse.
        timeout_s: how long one operation may take.
        conf: further settings of its session.
    """

    def __init__(
        self,
        version: str,
        work_dir: Path,
        *,
        timeout_s: float = 240,
        conf: Mapping[str, str] | None = None,
    ) -> None:
        self.version = version
        self.log = work_dir / f"judge-{version}.log"
        self._work_dir = work_dir
        self._timeout_s = timeout_s
        self._environment = {"JUDGE_CONF": json.dumps(dict(conf or {}))}
        self._process = self._start()

    def __enter__(self) -> Self:
        """Wait until the session is up."""
        self._receive()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """End the process; it stops when its input ends."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        try:
            self._process.wait(timeout=30)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._process.stdout.close()

    def ask(self, op: str, **args: object) -> Any:
        """Return the value of one operation of `judge_ops`.

        Raises:
            JudgeError: Apache Hudi failed, or the process ended or went silent.
        """
        assert self._process.stdin is not None
        line = json.dumps({"op": op, "args": args}) + "\n"
        self._process.stdin.write(line.encode())
        self._process.stdin.flush()
        return self._receive()

    def upsert(self, location: Path | str, batch: Path, options: Mapping[str, str]) -> None:
        """Upsert the Parquet file `batch`, leaving the table at version 6."""
        every = {"hoodie.datasource.write.operation": "upsert", **KEEP_VERSION_6, **options}
        self.ask("write", location=str(location), batch=str(batch), options=every)

    def rows(
        self, location: Path | str, columns: Sequence[str] | None = None, where: str | None = None
    ) -> list[list[object]]:
        """Return canonical rows of a snapshot query."""
        answer = self.ask("read", location=str(location), columns=columns, where=where)
        rows: list[list[object]] = answer["rows"]
        return rows

    def _start(self) -> subprocess.Popen[bytes]:
        """Start the process; its error output is a log beside the tests' files."""
        self._work_dir.mkdir(parents=True, exist_ok=True)
        python = str(JUDGE_ENVIRONMENT / "bin" / "python")
        command = [python, "-m", "tests.interop.judge_process"]
        with self.log.open("wb") as log:
            return subprocess.Popen(
                [*command, str(judge_jar(self.version)), str(self._work_dir)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                cwd=ROOT,
                env={
                    **os.environ,
                    **self._environment,
                    "PYSPARK_PYTHON": python,
                    "SPARK_LOCAL_IP": "127.0.0.1",
                },
            )

    def _receive(self) -> Any:
        """Return the next answer's value."""
        assert self._process.stdout is not None
        with selectors.DefaultSelector() as selector:
            selector.register(self._process.stdout, selectors.EVENT_READ)
            if not selector.select(self._timeout_s):
                self._process.kill()
                raise JudgeError("Timeout", f"no answer in {self._timeout_s} s, see {self.log}")
        line = self._process.stdout.readline()
        if not line:
            raise JudgeError("Ended", f"the process of {self.version} ended, see {self.log}")
        answer = json.loads(line)
        if "error" in answer:
            raise JudgeError(answer["error"]["kind"], answer["error"]["text"])
        return answer["value"]
