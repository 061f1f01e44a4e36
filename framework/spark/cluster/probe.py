"""What an executor's Python says about itself. Run as a program, by any Python from 3.7 on.

It needs the standard library only, until all packages are there: then it looks for the locations
of the run with this package itself. It reads one JSON object from each line of its input, and
answers each by one line.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import sys
import tempfile
from importlib import import_module
from pathlib import Path
from typing import Any

try:
    from importlib.metadata import version
except ImportError:  # Python 3.7
    version = None  # type: ignore[assignment]

__all__ = ["answer", "main"]

_MIB = 2**20


def main() -> None:
    """Answer each line of the input."""
    for line in sys.stdin:
        sys.stdout.write(json.dumps(answer(json.loads(line))) + "\n")


def answer(asked: dict[str, Any]) -> dict[str, Any]:
    """Return the facts of this process.

    Args:
        asked: `python`, two numbers; `packages`, module to distribution; `paths`, what Spark adds
            to a worker's path; `task`, the name of a function, with its `descriptor`; `limit_s`,
            seconds that it may take.

    Returns:
        `host`, `executor` (its process), `python`, `packages` (distribution to version, or to null
        and a reason in `faults`), `free_mib` under `scratch`, and the task's `status`; null if it
        was not run, with its reason in `fault` if it failed.
    """
    scratch = tempfile.gettempdir()
    found: dict[str, Any] = {
        "host": socket.gethostname(),
        "executor": os.environ.get("LAKESTRAP_EXECUTOR", ""),
        "python": list(sys.version_info[:2]),
        "program": sys.executable,
        "scratch": scratch,
        "free_mib": shutil.disk_usage(scratch).free // _MIB,
        "packages": {},
        "faults": {},
        "status": None,
        "fault": "",
    }
    if found["python"] != list(asked["python"]):
        return found
    sys.path[:0] = [str(Path(each).absolute()) for each in asked["paths"]]
    for module, distribution in asked["packages"].items():
        found["packages"][distribution] = _version(module, distribution, found["faults"])
    if not found["faults"] and asked["descriptor"]:
        found["status"], found["fault"] = _run(asked)
    return found


def _version(module: str, distribution: str, faults: dict[str, str]) -> str | None:
    """Return a package's version once it is imported; else None, and note the reason."""
    try:
        import_module(module)
        return str(version(distribution))
    except Exception as error:  # noqa: BLE001 - a broken package raises anything
        faults[distribution] = f"{type(error).__name__}: {error}"
        return None


def _run(asked: dict[str, Any]) -> tuple[str | None, str]:
    """Return the task's status, or None and the reason."""
    module, _, function = asked["task"].partition(":")
    signal.signal(signal.SIGALRM, _too_late)
    signal.alarm(asked["limit_s"])
    try:
        return getattr(import_module(module), function)(asked["descriptor"]), ""
    except Exception as error:  # noqa: BLE001 - whatever it is, the driver reports it
        return None, f"{type(error).__name__}: {error}"
    finally:
        signal.alarm(0)


def _too_late(*_: object) -> None:
    raise TimeoutError("no answer in time")


if __name__ == "__main__":
    main()
