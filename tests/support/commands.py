"""The command line in a process of its own, under another user or other limits where asked."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

__all__ = ["AS_NOBODY", "WITH_SIGNALS", "Outcome", "run_pipeline"]

AS_NOBODY = ("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups")
"""Puts a command under a user whom permission bits bind; needs root."""

_RESET = (
    "import os, signal, sys; "
    "[signal.signal(n, signal.SIG_DFL) for n in (signal.SIGHUP, signal.SIGINT, signal.SIGTERM)]; "
    "os.execvp(sys.argv[1], sys.argv[1:])"
)
WITH_SIGNALS = (sys.executable, "-c", _RESET)
"""Restores default signals for a command: background processes ignore some of them."""

_REPOSITORY = Path(__file__).parents[2]


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """How a command ended."""

    code: int
    out: str
    err: str

    @property
    def error(self) -> dict[str, Any]:
        """The error that it printed as JSON."""
        found = json.loads(self.out)["error"]
        assert isinstance(found, dict)
        return found


def run_pipeline(
    *words: str | Path, prefix: Sequence[str] = (), folder: Path | None = None
) -> Outcome:
    """Run the command with these words and return how it ended.

    Args:
        *words: the command line.
        prefix: a command that starts it, such as `AS_NOBODY`.
        folder: working directory; by default the root, which everybody may enter.
    """
    command = [*prefix, sys.executable, "-m", "framework", *map(str, words)]
    path = os.pathsep.join([str(_REPOSITORY), *filter(None, [os.environ.get("PYTHONPATH")])])
    done = subprocess.run(
        command,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
        cwd=folder or "/",
        env={**os.environ, "PYTHONPATH": path, "NO_COLOR": "1", "PYTHONDONTWRITEBYTECODE": "1"},
    )
    return Outcome(code=done.returncode, out=done.stdout, err=done.stderr)
