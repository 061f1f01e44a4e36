"""The end of processes that tests have started."""

from __future__ import annotations

import subprocess

__all__ = ["stop"]


def stop(process: subprocess.Popen[bytes], *, patience_s: float) -> None:
    """Ask a process to end, and kill it if it does not in this time."""
    process.terminate()
    try:
        process.wait(patience_s)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
