"""The bench's handle of a side: starts its worker, measures its process tree from outside."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import process_tree

__all__ = ["Measured", "Side", "SideError"]

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent


class SideError(Exception):
    """A side failed or exited; the text is its traceback."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """Cost of one action: wall seconds, CPU seconds of the tree, peak resident MB.

    `driver_mb` and `jvm_mb` are the peaks of the Python driver and of the JVM alone, `task_mb` is
    that of the largest of Spark's Python workers, each of which runs one task at a time.
    """

    value: Any
    wall_s: float
    cpu_s: float
    peak_mb: float
    driver_mb: float
    jvm_mb: float
    task_mb: float


class Side:
    """One warm worker process; used as a context manager."""

    def __init__(self, name: str, environment: Path, settings: Mapping[str, str]) -> None:
        self.log = Path(settings["work_dir"]) / f"{name}.log"
        self.log.parent.mkdir(parents=True, exist_ok=True)
        python = str(environment / "bin" / "python")
        given = {
            "PYTHONPATH": str(ROOT),
            "PYSPARK_PYTHON": python,
            "SPARK_LOCAL_IP": "127.0.0.1",
            "POLARS_MAX_THREADS": settings["cores"],
        }
        with self.log.open("wb") as log:
            self._process = subprocess.Popen(
                [python, str(HERE / "worker.py"), name, json.dumps(settings)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                cwd=settings["work_dir"],
                env={**os.environ, **given},
            )

    def __enter__(self) -> Self:
        """Wait until the session is ready."""
        self._receive()
        return self

    def __exit__(self, *_: object) -> None:
        """Stop the worker by closing its input."""
        if self._process.stdin:
            self._process.stdin.close()
        try:
            self._process.wait(timeout=30)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def run(self, action: str, **args: object) -> Measured:
        """Run one action and return its value and cost.

        Raises:
            SideError: the action failed, or the worker exited.
        """
        if not self._process.stdin:
            raise SideError(self.log)
        process_tree.reset_peaks(self._process.pid)
        before = process_tree.cpu_s(self._process.pid)
        self._process.stdin.write((json.dumps({"action": action, "args": args}) + "\n").encode())
        self._process.stdin.flush()
        answer = self._receive()
        driver_mb, jvm_mb = process_tree.driver_peaks_mb(self._process.pid)
        return Measured(
            value=answer["value"],
            wall_s=answer["wall_s"],
            cpu_s=process_tree.cpu_s(self._process.pid) - before,
            peak_mb=process_tree.peak_mb(self._process.pid),
            driver_mb=driver_mb,
            jvm_mb=jvm_mb,
            task_mb=process_tree.task_peak_mb(self._process.pid),
        )

    def _receive(self) -> Any:
        """Return the worker's next answer."""
        line = self._process.stdout.readline() if self._process.stdout else b""
        if not line:
            raise SideError(f"the worker exited, see {self.log}")
        answer = json.loads(line)
        if "error" in answer:
            raise SideError(answer["error"])
        return answer
